"""All output: results on stdout, everything else on stderr; and the exit statuses.

A result reaches a file or a pipe unchanged. On a terminal its control characters are made visible.
stdout is UTF-8 with plain newlines in every locale, and a failed write to it is an error. On stderr
a failed write is ignored: the reader of a log may leave.
"""

from __future__ import annotations

import io
import json
import math
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from charrnn import __version__, saving
from charrnn.errors import SaveError, SettingError
from charrnn.system import model_at, path_of
from charrnn.text import Raw, Visible, encodable, joined, visible, visible_json, visible_line

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from tqdm import tqdm

# Exit statuses; 0 is success, and 128 + N a signal: 129 SIGHUP, 143 SIGTERM
FAILURE = 1  # known, such as a missing file
USAGE = 2  # wrong options, or a value out of range
ABOVE = 3  # something is above --above
INTERRUPTED = 130  # Ctrl-C
READER_LEFT = 141  # the reader of stdout has left: 128 + SIGPIPE, as with cat and grep

BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"
INDENT = 11  # columns of the names of entries
Entry = tuple[str, str]
NARROW, WIDE = 20, 100  # the least and the most columns of a text


class Output:
    """stdout or stderr, and its abilities."""

    def __init__(self, stream: Callable[[], TextIO]) -> None:
        self._stream = stream

    @property
    def stream(self) -> TextIO:
        """Return the stream, which may be replaced while the program runs."""
        return self._stream()

    def write(self, *texts: Visible | Raw) -> None:
        """Write and flush, so that text appears as it is drawn and a closed pipe is noticed."""
        self.stream.write(encodable("".join(texts)))
        self.stream.flush()

    def write_lines(self, lines: Iterable[Visible]) -> None:
        self.write(*(Visible(line + "\n") for line in lines))

    @property
    def is_terminal(self) -> bool:
        return self.stream.isatty()

    @property
    def rich(self) -> RichConsole:
        """Return a console of Rich, for tables and colours; foreign text must be visible."""
        from rich.console import Console as RichConsole

        off: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        return RichConsole(file=self.stream, width=self.width, **off)

    @property
    def takes_colour(self) -> bool:
        """Return True on a terminal with colours, unless NO_COLOR is set."""
        return self.is_terminal and not os.environ.get("NO_COLOR") and not is_dumb()

    def paint(self, text: Visible, style: str) -> Visible:
        """Return the text in a style; unchanged where colours are off."""
        return Visible(f"\x1b[{style}m{text}\x1b[0m") if self.takes_colour else text

    @property
    def window(self) -> int:
        """Return the columns of the terminal; 80 for a file. A pipe may lead to a narrow one."""
        if self.is_terminal:
            return columns_of(self.stream)
        with suppress(ValueError, OSError):
            if stat.S_ISFIFO(os.fstat(self.stream.fileno()).st_mode) and sys.stderr.isatty():
                return min(80, columns_of(sys.stderr))
        return 80

    @property
    def width(self) -> int:
        """Return the columns to wrap text at."""
        return max(NARROW, min(self.window - 1, WIDE))

    @property
    def is_plain(self) -> bool:
        """Return True if pictures must be ASCII, by the encoding, the locale or TERM."""
        locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
        if locale in ("C", "POSIX") or os.environ.get("TERM", "") in ("dumb", "unknown", "linux"):
            return True
        return self.fitting(Visible("⣿█")) != "⣿█"

    def fitting(self, text: Visible) -> Visible:
        """Return the text with a ? for each character that the encoding of the stream lacks."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        return Visible(text.encode(encoding, "replace").decode(encoding))


def is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb", "unknown") and os.name != "nt"


def columns_of(terminal: TextIO) -> int:
    """Return COLUMNS, or the columns of a terminal; 80 if they are not known."""
    typed = os.environ.get("COLUMNS", "")
    size = int(typed[:6]) if typed.isdecimal() else 0
    if not size:
        with suppress(ValueError, OSError):
            size = os.get_terminal_size(terminal.fileno()).columns
    return min(size, 1000) or 80  # more than 1000 would be a mistake


class Console:
    """The output of a command; with --quiet, only results and errors."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.out = Output(lambda: sys.stdout)
        self.err = Output(lambda: sys.stderr)

    def result(self, text: str) -> None:
        """Write text to stdout; control characters are made visible on a terminal."""
        self.out.write(visible(text) if self.out.is_terminal else Raw(text))

    def json(self, name: str, fields: Mapping[str, object]) -> None:
        """Write an object with its schema as one line."""
        self.out.write_lines([json_line(name, fields)])

    def note(self, text: str) -> None:
        self.say(visible_line(text))

    def warn(self, text: str) -> None:
        if not self.quiet:
            self.alarm(text)

    def alarm(self, text: str) -> None:
        """Write a warning to stderr, with --quiet too."""
        write_above_bar(self.err.paint(visible_line(f"charrnn: warning: {text}"), YELLOW))

    def error(self, what: str, hint: str = "") -> None:
        """Write an error and a hint to stderr, with --quiet too."""
        write_above_bar(self.err.paint(visible_line(f"charrnn: error: {what}"), RED))
        if hint:
            write_above_bar(visible_line(hint))

    def say(self, *lines: Visible) -> None:
        """Write lines to stderr, above a progress bar."""
        if not self.quiet:
            write_above_bar(*lines)

    def note_if_waiting(self, sources: Sequence[str]) -> None:
        """Report that the program waits, if it reads from a terminal."""
        if sources.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")
        if "-" in sources and sys.stdin.isatty():
            self.note("waiting for text from the keyboard; Ctrl-D ends it")

    @property
    def is_animated(self) -> bool:
        """Return True if a progress bar can be drawn."""
        return not self.quiet and self.err.is_terminal and not is_dumb()

    def bar(self, **how: Any) -> tqdm[NoReturn]:
        """Return a progress bar that disappears when closed; ``how`` goes to tqdm."""
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # starts no thread
        blocks = " =" if self.err.is_plain else " ▏▎▍▌▋▊▉█"
        ncols = self.err.window - 1
        return tqdm(file=self.err.stream, leave=False, ascii=blocks, ncols=ncols, **how)


def wrap(text: str, columns: int) -> list[Visible]:
    """Break the text between words into lines of at most so many columns."""
    from rich.text import Text

    rich = Output(lambda: sys.stdout).rich
    lines = Text(visible_line(text)).wrap(rich, max(8, columns), overflow="fold")
    return [Visible(line.plain.rstrip()) for line in lines] or [Visible("")]


def entries(rows: Iterable[Entry], output: Output) -> Iterator[Visible]:
    """Yield the lines of entries. An entry without a name continues the one before."""
    # In a narrow window each name has its own line.
    indent = INDENT if output.width >= 3 * INDENT else 2
    for name, text in rows:
        lead = Visible(" " * indent)
        if name and indent < INDENT:
            yield output.paint(visible_line(name), CYAN)
        elif name:
            lead = output.paint(visible_line(f"{name:{INDENT}}"), CYAN)
        for line in wrap(text, output.width - indent):
            yield joined([lead, line])
            lead = Visible(" " * indent)


def clock(seconds: float) -> str:
    """Return a duration as text: 1.2 s, 12 s, 3:05 min, 2:03 h, 5 days."""
    if not math.isfinite(seconds):
        return "?"
    whole = round(seconds)
    if whole < 60:
        if seconds < 0.995:  # two digits, to agree with a rate that stands beside it
            return f"{max(seconds, 0.001):.2g} s"
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes}:{whole % 60:02} min"
    return f"{hours}:{minutes % 60:02} h" if days < 3 else f"{days} days"


def bytes_in_words(number: float) -> str:
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if number < size << 10:
            amount = max(number / size, 0.1)
            return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:,.0f} {unit}"
    return f"{number / (1 << 30):,.1f} GiB"


def count(number: float, what: str, are: str = "") -> str:
    """Return a number with its noun: 1 layer, 2,000 layers; with ``are="lines"``, 2 lines."""
    word = are.removesuffix("s") if are not in ("", "mixed") else what
    shown = f"{number:g}" if isinstance(number, float) else f"{number:,}"
    return f"{shown} {word}{'' if number == 1 else 's'}"


def show_version() -> None:
    Console().result(f"charrnn {__version__}\n")


def write_above_bar(*lines: Visible) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr, end="")
    else:
        sys.stderr.write(text)
    sys.stderr.flush()


def check_not_input(path: Path, option: str, *inputs: Path | str) -> None:
    """Raise SettingError if a file that is written would replace an input.

    A str is a text as it is typed, and a Path is a model or another file.
    """
    for source in inputs:
        is_same = False
        with suppress(OSError, ValueError):  # a stranger's model may name a file with "\0"
            file = model_at(source) if isinstance(source, Path) else path_of(source)
            is_same = source != "-" and os.path.realpath(source) == os.path.realpath(path)
            is_same |= os.path.isfile(path) and os.path.samefile(0 if source == "-" else file, path)
        if is_same:
            raise SettingError(f"{option} would overwrite {path}", "Name another file.")


def check_output(path: Path, option: str, *inputs: Path | str, force: bool) -> None:
    """Raise an error, before the work, if a file would replace an input or cannot be written."""
    check_not_input(path, option, *inputs)
    if not force and os.path.lexists(path):
        hint = "Name another file, or add --force to replace it."
        raise SaveError(f"{path} already exists", hint)
    with output_errors():
        saving.check_writable(path)


def write_output(path: Path, content: bytes | memoryview) -> None:
    """Write a file under another name, then rename the complete file."""
    with output_errors(), saving.locked(path), saving.replaced(path) as file:
        file.write(content)


@contextmanager
def output_errors() -> Iterator[None]:
    """Write a file in this block. The hint of an error does not speak of -m, as for a model."""
    try:
        yield
    except SaveError as error:
        pattern = error.hint_pattern.replace("a file elsewhere with [path]", "another file")
        error.hint_pattern = pattern
        raise


def json_line(name: str, fields: Mapping[str, object]) -> Visible:
    """Return an object with its schema as one line; NaN and infinity become null."""
    record = finite({"schema": f"charrnn.{name}/2", **fields})
    return visible_json(json.dumps(record, ensure_ascii=False, allow_nan=False))


def finite(value: object) -> object:
    """Return a value for JSON, with None for each number that is not finite."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None  # not for NaN
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


class Log:
    """stderr, whose failed writes are ignored."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare() -> None:
    """Make the standard streams behave alike everywhere; once."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file would get its number, and messages of others
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not isinstance(sys.stderr, Log):
        sys.stderr = cast(TextIO, Log(sys.stderr))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")


def finish() -> None:
    """Flush stdout: a full disk often shows only here."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError, AttributeError):  # Python would flush it at exit
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise


def has_text(console: Console) -> bool:
    """Return True if standard input is a pipe or a file; wait for its first byte or its end."""
    try:
        file = sys.stdin.fileno()
        mode = os.fstat(file).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return False  # a terminal, or /dev/null, which cron gives to its jobs
        if os.name != "nt":
            os.set_blocking(file, True)
            if not select.select([file], [], [], 1.0)[0]:  # seconds
                console.note("waiting for text from standard input")
        return sys.stdin.readable()
    except (AttributeError, OSError, ValueError):  # closed, not for reading, or a stand-in
        return False
