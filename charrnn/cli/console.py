"""All output: results on stdout, everything else on stderr; and how the program ends.

A result reaches a file or a pipe unchanged, as UTF-8 with plain newlines. On a terminal its control
characters are made visible. An error is one red line, with an exit status. A bug keeps its
traceback; CHARRNN_DEBUG=1 shows the traceback of every error.
"""

import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from charrnn import __version__, errors
from charrnn.errors import CharrnnError, SaveError, SettingError
from charrnn.system.packaged import check_name, model_at
from charrnn.system.signals import handled
from charrnn.system.visible import Visible, encodable, visible, visible_json, visible_line

STYLES = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "blue": "34", "cyan": "36"}
STYLES |= {"bold green": "1;32"}
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # json.dumps would make one a line
INDENT = 11  # columns of the names of entries
TIME_LEFT = "{remaining} left"  # on a bar; tqdm fills it in
Entry = tuple[str, str]
TYPED_AS = {"temperature": "--temp", "max_characters": "--max-chars", "start_from": "--from"}
TYPED_AS |= {"model": "-m", "path": "-m"}  # settings whose option has another name


class Output:
    """stdout or stderr, and its abilities."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.is_terminal = stream, stream.isatty()
        # True on a terminal that can neither draw nor colour
        self.is_dumb = os.environ.get("TERM", "") in ("", "dumb", "unknown") and os.name != "nt"
        self.takes_colour = self.is_terminal and not (self.is_dumb or os.environ.get("NO_COLOR"))

    def write(self, text: Visible) -> None:
        """Write and flush, so that text appears as it is drawn and a closed pipe is noticed."""
        self.stream.write(encodable(text))
        self.stream.flush()

    def write_lines(self, lines: Iterable[Visible]) -> None:
        self.write(Visible("".join(f"{line}\n" for line in lines)))

    @property
    def rich(self) -> Any:
        """Return a console of Rich, for colours and pages; foreign text must be visible."""
        from rich.console import Console as RichConsole

        size = self.width  # for both, or Rich would read COLUMNS itself
        return RichConsole(
            file=self.stream, width=size, height=size, highlight=False, markup=False, emoji=False
        )

    def paint(self, text: Visible, style: str) -> Visible:
        """Return the text in a style; unchanged where colours are off."""
        return Visible(f"\x1b[{STYLES[style]}m{text}\x1b[0m") if self.takes_colour else text

    @property
    def window(self) -> int:
        """Return COLUMNS, or the columns of the terminal; 80 for a file or a pipe."""
        with suppress(ValueError, OSError):
            typed = os.environ.get("COLUMNS") or os.get_terminal_size(self.stream.fileno()).columns
            return int(typed) if 0 < int(typed) <= 1000 else 80
        return 80

    @property
    def width(self) -> int:
        """Return the columns to wrap text at: 20 to 100."""
        return max(20, min(self.window - 1, 100))


class Console:
    """The output of a command; with --quiet, only results and errors."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.out, self.err = Output(sys.stdout), Output(sys.stderr)

    def result(self, text: str) -> None:
        """Write text to stdout; control characters are made visible on a terminal."""
        self.out.write(visible(text) if self.out.is_terminal else Visible(text))

    def json(self, name: str, fields: Mapping[str, object]) -> None:
        """Write an object with its schema as one line."""
        self.out.write_lines([json_line(name, fields)])

    def say(self, *lines: Visible, always: bool = False) -> None:
        """Write lines to stderr, above a progress bar; with --quiet only if ``always``."""
        if self.quiet and not always:
            return
        text = "".join(f"{line}\n" for line in lines)
        with suppress(OSError):  # a terminal that was closed; the run goes on and is saved
            if "tqdm" in sys.modules:
                from tqdm import tqdm

                tqdm.write(text, file=self.err.stream, end="")
            else:
                self.err.stream.write(text)
            self.err.stream.flush()

    def note(self, text: str) -> None:
        self.say(visible_line(text))

    def warn(self, text: str) -> None:
        self.say(self.err.paint(visible_line(f"charrnn: warning: {text}"), "yellow"), always=True)

    def error(self, what: str, hint: str = "") -> None:
        self.say(self.err.paint(visible_line(f"charrnn: error: {what}"), "red"), always=True)
        if hint:
            self.say(visible_line(hint), always=True)

    def note_if_waiting(self, sources: Sequence[str]) -> None:
        """Report that the program waits, if it reads from a terminal."""
        if sources.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")
        if "-" in sources and sys.stdin.isatty():
            self.note("waiting for text from the keyboard; Ctrl-D ends it")

    def piped(self) -> tuple[str, ...]:
        """Return "-" if standard input is a pipe, a file or a socket, and note that it is read."""
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
            return ()  # a terminal, or /dev/null, which cron gives to its jobs
        self.note("reading text from standard input")
        return ("-",)

    def bar(self, **how: Any) -> Any:
        """Return a progress bar that disappears when closed; ``how`` goes to tqdm."""
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # starts no thread
        how |= {"file": self.err.stream, "leave": False, "ncols": self.err.window - 1}
        bar: Any = tqdm(disable=self.quiet or self.err.is_dumb or not self.err.is_terminal, **how)
        bar.dynamic_ncols = lambda _: (self.err.window - 1, None)  # tqdm's own ignores COLUMNS
        return bar


def entries(rows: Iterable[Entry], output: Output) -> Iterator[Visible]:
    """Yield the lines of entries, wrapped. An entry without a name continues the one before."""
    from rich.cells import cell_len
    from rich.text import Text

    rich, columns = output.rich, output.width - INDENT
    for name, text in rows:
        lead = visible_line(name)
        lead = output.paint(Visible(lead + " " * max(1, INDENT - cell_len(lead))), "cyan")
        for line in Text(visible_line(text)).wrap(rich, columns, overflow="fold") or [Text()]:
            yield Visible(lead + line.plain.rstrip())
            lead = Visible(" " * INDENT)


def clock(seconds: float) -> str:
    """Return a duration as text: 1.2 s, 12 s, 3:05 min, 2:03 h."""
    if seconds < 59.5:
        return f"{max(seconds, 0.1):.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, tail = divmod(round(seconds), 60)
    return f"{minutes}:{tail:02} min" if minutes < 60 else f"{minutes // 60:,}:{minutes % 60:02} h"


def show_version() -> None:
    Console().result(f"charrnn {__version__}\n")


def check_output(path: Path, option: str, *inputs: Path | str, force: bool) -> None:
    """Raise an error, before the work, if a file would replace an input or cannot be written."""
    from charrnn.files.safe_writing import check_writable

    check_not_input(path, option, *inputs)
    if not force and os.path.lexists(path):
        hint = "Name another file, or add --force to replace it."
        raise SaveError(f"{path} already exists", hint)
    check_writable(path)


def save(path: Path, content: bytes, option: str, model: Path, *, force: bool) -> None:
    """Write the file of an option, whole or not at all."""
    from charrnn.files.safe_writing import locked, replaced

    check_output(path, option, model, force=force)
    with locked(path), replaced(path) as file:
        file.write(content)


def check_not_input(path: Path, option: str, *inputs: Path | str) -> None:
    """Raise SettingError if a file to write would replace an input, or one of the package."""
    if os.path.realpath(path) in map(os.path.realpath, [*inputs, *map(model_at, inputs)]):
        raise SettingError(f"{option} would overwrite {path}", "Name another file.")
    check_name(path)


def only_one(options: dict[str, Any]) -> None:
    """Raise SettingError if two of these options are typed."""
    typed = [name for name, value in options.items() if value]
    if len(typed) > 1:
        what = f"{typed[0]} and {typed[1]} exclude each other"
        raise SettingError(what, "Leave one of them out.")


def json_line(name: str, fields: Mapping[str, object]) -> Visible:
    """Return an object with its schema as one line; NaN and infinity become null."""
    record = {"schema": f"charrnn.{name}/3", **fields}
    try:
        return visible_json(ENCODER.encode(record))
    except ValueError:  # NaN or infinity
        finite = json.loads(json.dumps(record), parse_constant=lambda _: None)
        return visible_json(ENCODER.encode(finite))


def prepare() -> None:
    """Make stdout UTF-8 with plain newlines, in every locale; a closed stream leads nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")


def finish() -> None:
    """Flush stdout: a full disk often shows only here."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):  # Python would flush it again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


@contextmanager
def report_errors() -> Iterator[None]:
    """Run the program inside; show an error that is not a bug, and raise SystemExit in any case."""
    try:
        try:
            prepare()
            with handled():
                yield
        finally:
            finish()
    except BaseException as error:
        explained = explain(error)
        if explained is None:
            raise
        if os.environ.get("CHARRNN_DEBUG") and not isinstance(error, SystemExit):
            import traceback

            traceback.print_exception(error)
        status, what, hint = explained
        if what:
            Console().error(what, hint)
        elif status == errors.INTERRUPTED and sys.stderr.isatty():
            sys.stderr.write("\n")  # the shell's prompt goes below the ^C
        raise SystemExit(status) from None
    raise SystemExit(0)


def explain(error: BaseException) -> tuple[int, str, str] | None:
    """Return the exit status, the message and the hint for an error; None for a bug."""
    match error:
        case CharrnnError():
            return error.status, *in_words_of_the_command_line(error)
        case SystemExit():
            return int(error.code or 0), "", ""
        case KeyboardInterrupt():
            return getattr(error, "status", errors.INTERRUPTED), "", ""
        case RuntimeError(__cause__=KeyboardInterrupt() as stop):  # as of one in a __set_name__
            return explain(stop)
        case BrokenPipeError():
            return errors.READER_LEFT, "", ""
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return errors.FAILURE, f"{place}{error.strerror or error}", ""
        case MemoryError():
            what = f"not enough memory: {error}".removesuffix(": ")
            return errors.FAILURE, what, "Try a smaller network or batch, or shorter windows."
    return None


def option_for(name: str) -> str:
    """Return the option that is typed for a setting."""
    return TYPED_AS.get(name, "--" + name.replace("_", "-"))


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """Return the message and the hint, with options in place of the names of settings."""
    what, name = error.what, error.setting
    if name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint_with(option_for)
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint.rstrip('.')}. {note}"
    return what, hint
