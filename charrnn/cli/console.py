"""All output: results on stdout, everything else on stderr; and the exit statuses.

A result reaches a file or a pipe unchanged. On a terminal its control characters are made visible.
Only text of the types Visible and Raw can be written. stdout is UTF-8 with plain newlines in every
locale, and a failed write is an error. On stderr a failed write is ignored.
"""

from __future__ import annotations

import errno
import io
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedReader
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from charrnn import __version__
from charrnn.errors import CharrnnError
from charrnn.text import Raw, Visible, encodable, visible, visible_json, visible_line

if TYPE_CHECKING:
    from tqdm import tqdm

# Exit statuses; 0 is success, and 128 + N a signal: 129 SIGHUP, 143 SIGTERM
FAILURE = 1  # known, such as a missing file
USAGE = 2  # wrong options, or a value out of range
ABOVE = 3  # something is above --above
INTERRUPTED = 130  # Ctrl-C
READER_LEFT = 141  # the reader of stdout has left: 128 + SIGPIPE, as with cat and grep

BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"
TOGETHER = "\u00a0"  # a space at which lines do not break
_KEPT = re.compile(r"(?<=\d) (?=[a-z])")  # between a number and its unit
COMMAND = re.compile(r"charrnn [a-z]+ [^.;,:']*?-.*?(?=[.;,:'](?: |$)|$)")  # with an option
_KEPT_COMMAND = f"charrnn{TOGETHER}"  # its beginning, when it is kept together
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
    def takes_colour(self) -> bool:
        """Return True on a terminal with colours, unless NO_COLOR is set."""
        if not self.is_terminal or os.environ.get("NO_COLOR") or _is_dumb():
            return False
        return os.name != "nt" or "WT_SESSION" in os.environ or "ANSICON" in os.environ

    def paint(self, text: Visible, style: str) -> Visible:
        """Return the text in a style; unchanged where colours are off."""
        return Visible(f"\x1b[{style}m{text}\x1b[0m") if self.takes_colour else text

    @property
    def window(self) -> int:
        """Return the columns of the terminal; 80 for a file. A pipe may lead to a narrow one."""
        if self.is_terminal:
            return _columns_of(self.stream)
        with suppress(ValueError, OSError):
            if stat.S_ISFIFO(os.fstat(self.stream.fileno()).st_mode) and sys.stderr.isatty():
                return min(80, _columns_of(sys.stderr))
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
        dots_and_blocks = Visible("⣿█")
        return self.fitting(dots_and_blocks) != dots_and_blocks

    def fitting(self, text: Visible) -> Visible:
        """Return the text with a ? for each character that the encoding of the stream lacks."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        return Visible(text.encode(encoding, "replace").decode(encoding))


def _columns_of(terminal: TextIO) -> int:
    size = 0
    with suppress(ValueError):
        size = int(os.environ.get("COLUMNS", ""))
    if size <= 0:
        with suppress(ValueError, OSError):
            size = os.get_terminal_size(terminal.fileno()).columns  # 0: it is not known
    return min(size, 1000) if size > 0 else 80  # more than 1000 would be a mistake


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
        """Write an object with its schema as one line; NaN and infinity become null."""
        import json

        record = _finite({"schema": f"charrnn.{name}/1", **fields})
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        self.out.write_lines([visible_json(line)])

    def note(self, text: str) -> None:
        self.say(*self._lines(text))

    def warn(self, text: str) -> None:
        if not self.quiet:
            self.alarm(text)

    def alarm(self, text: str) -> None:
        """Write a warning to stderr, with --quiet too."""
        self._write(f"charrnn: warning: {text}", YELLOW)

    def error(self, what: str, hint: str = "") -> None:
        """Write an error and a hint to stderr, with --quiet too."""
        self._write(f"charrnn: error: {what}", RED)
        if hint:
            _write_above_bar(*self._lines(hint))

    def _write(self, text: str, style: str) -> None:
        _write_above_bar(*(self.err.paint(line, style) for line in self._lines(text)))

    def _lines(self, text: str) -> list[Visible]:
        """Return a message in lines that fit a terminal. A command stays whole, to be copied."""
        width = self.err.window
        if not self.err.is_terminal or text.startswith(" ") or 2 * len(text) <= width:
            return [visible_line(text)]
        whole = COMMAND.sub(lambda command: command[0].replace(" ", TOGETHER), text)
        return wrap(whole, width, chop=False)

    def say(self, *lines: Visible) -> None:
        """Write lines to stderr, above a progress bar."""
        if not self.quiet:
            _write_above_bar(*lines)

    def note_if_waiting(self, sources: Iterable[str]) -> None:
        """Report that the program waits, if it reads from a terminal."""
        if "-" in sources and sys.stdin.isatty():
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            self.note(f"waiting for text from the keyboard; {end} ends it")

    @property
    def is_animated(self) -> bool:
        """Return True if a progress bar can be drawn."""
        return not self.quiet and self.err.is_terminal and not _is_dumb()

    def bar(self, **how: Any) -> tqdm[NoReturn]:
        """Return a progress bar that disappears when closed; ``how`` goes to tqdm."""
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # starts no thread
        blocks = " =" if self.err.is_plain else " ▏▎▍▌▋▊▉█"
        ncols = self.err.window - 1
        return tqdm(file=self.err.stream, leave=False, ascii=blocks, ncols=ncols, **how)


def wrap(text: str, columns: int, *, chop: bool = True) -> list[Visible]:
    """Break the text between words into lines of at most ``columns``; a Chinese character takes
    two columns. A command kept together, and any word without ``chop``, may be longer.
    """
    from rich.cells import cell_len, chop_cells

    room, lines = max(8, columns), [""]
    for word in _KEPT.sub(TOGETHER, visible_line(text)).split(" "):
        is_long = chop and _KEPT_COMMAND not in word and cell_len(word) > room
        pieces = chop_cells(word, room) if is_long else [word]
        for piece in pieces:
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cell_len(longer) <= room and piece is pieces[0]:
                lines[-1] = longer
            elif lines[-1]:
                lines.append(piece)
            else:
                lines[-1] = piece
    return [Visible(line.rstrip(" ").replace(TOGETHER, " ")) for line in lines]


def show_version() -> None:
    Console().result(f"charrnn {__version__}\n")


def _write_above_bar(*lines: Visible) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr, end="")
    else:
        sys.stderr.write(text)
    sys.stderr.flush()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None  # not for NaN
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _is_dumb() -> bool:
    term = os.environ.get("TERM", "")
    return term in ("dumb", "unknown") or (not term and os.name != "nt")


class Guarded:
    """A stream that writes within a context for errors."""

    def __init__(self, stream: TextIO, guard: Callable[[], AbstractContextManager[None]]) -> None:
        self._stream, self._guard = stream, guard

    def write(self, text: str) -> int:
        with self._guard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._guard():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _reported() -> Iterator[None]:
    """Raise CharrnnError for a failed write, or BrokenPipeError if the reader has left."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if os.name == "nt" and error.errno == errno.EINVAL:  # a closed pipe on Windows
            raise BrokenPipeError from None
        what = f"cannot write to standard output: {error.strerror}"
        raise CharrnnError(what, "Free some room, or redirect the output.") from error


def prepare() -> None:
    """Replace the three standard streams by streams that behave alike everywhere; once."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file would get its number, and our messages
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not isinstance(sys.stderr, Guarded):
        sys.stderr = cast(TextIO, Guarded(sys.stderr, lambda: suppress(OSError, ValueError)))
    if sys.stdout is None:
        raise CharrnnError("standard output is closed", "Redirect it to a file or to /dev/null.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    if not isinstance(sys.stdout, Guarded):
        sys.stdout = cast(TextIO, Guarded(sys.stdout, _reported))


def has_text(console: Console) -> bool:
    """Return True if standard input is a pipe or a file that is not empty.

    For a pipe, wait for the first byte or the end: the answer must not depend on timing.
    """
    try:
        file = sys.stdin.fileno()
        mode = os.fstat(file).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return False  # a terminal, or /dev/null, which cron gives to its jobs
        if os.name != "nt":
            os.set_blocking(file, True)
            if not select.select([file], [], [], 1.0)[0]:  # seconds
                console.note("waiting for text from standard input")
        stream = sys.stdin.buffer
        if isinstance(stream, BufferedReader) and stream.peek(1):
            return True
    except (AttributeError, OSError, ValueError):  # closed, not for reading, or a stand-in
        return False
    console.note("standard input is empty: reading the held-out text of the training")
    return False


def finish() -> None:
    """Flush stdout: a full disk often shows only here."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (BrokenPipeError, CharrnnError):
        with suppress(OSError, ValueError, AttributeError):  # Python would flush it at exit
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        raise
