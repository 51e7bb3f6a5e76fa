"""All that is written: the result to stdout, the conversation about it to stderr.

A result goes to a file or a pipe as it is. On its way to a terminal its control characters are made
visible: only what is Visible, or Raw on purpose, can be written, and mypy holds that. Nothing here
takes ``[b]`` or ``:smile:`` for more than the letters they are.

Standard input, output and error made fit for use, whatever the caller left of them.

stdout carries the result: UTF-8 with plain newlines in every locale, and a write that fails is
an error. stderr carries the conversation: what cannot be said there is left out, and work goes on.

How the program ends.

0    done                          2    wrong usage, or a value out of range
1    a known failure               130  Ctrl-C       143  SIGTERM       129  SIGHUP
3    something is above --above
141  the reader of stdout left (128 + SIGPIPE, as cat and grep end)"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO, cast

from charrnn import __version__
from charrnn.errors import CharrnnError
from charrnn.text import Raw, Visible, encodable, visible, visible_json, visible_line

if TYPE_CHECKING:
    from tqdm import tqdm


BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"
NARROW, WIDE = 20, 100  # columns that a text is set to at least, and at most
WIDEST = 1000  # columns of a terminal that are used, however many there are said to be
IN_A_FILE = 80  # which must not depend on the size of somebody's window
DOTS_AND_BLOCKS = "⣿█"


class Output:
    """stdout or stderr, and what can be shown there."""

    def __init__(self, stream: Callable[[], TextIO]) -> None:
        self._stream = stream

    @property
    def stream(self) -> TextIO:
        """The stream, which may be another one by and by."""
        return self._stream()

    def write(self, *texts: Visible | Raw) -> None:
        """Write it at once: text appears as it is drawn, and a reader who left is noticed."""
        self.stream.write(encodable("".join(texts)))
        self.stream.flush()

    def write_lines(self, lines: Iterable[Visible]) -> None:
        """Write these lines."""
        self.write(*(Visible(line + "\n") for line in lines))

    @property
    def is_terminal(self) -> bool:
        return self.stream.isatty()

    @property
    def takes_colour(self) -> bool:
        """Whether colour belongs there: a terminal that has some, of a user who wants it."""
        if not self.is_terminal or os.environ.get("NO_COLOR") or _is_dumb():
            return False
        return os.name != "nt" or "WT_SESSION" in os.environ or "ANSICON" in os.environ

    def paint(self, text: Visible, style: str) -> Visible:
        """The text in a style, where colours are taken."""
        return Visible(f"\x1b[{style}m{text}\x1b[0m") if self.takes_colour else text

    @property
    def window(self) -> int:
        """The columns of the terminal; those of a file are always the same."""
        if not self.is_terminal:
            return IN_A_FILE
        asked = columns = 0
        with suppress(ValueError):
            asked = int(os.environ.get("COLUMNS", ""))
        with suppress(ValueError, OSError):
            columns = os.get_terminal_size(self.stream.fileno()).columns
        size = asked if asked > 0 else columns  # of which some pseudo-terminals have none
        return min(size, WIDEST) if size > 0 else IN_A_FILE

    @property
    def width(self) -> int:
        """The columns to set a text in: no line is too long to read."""
        return max(NARROW, min(self.window - 1, WIDE))

    @property
    def is_plain(self) -> bool:
        """Whether pictures are to be made of ASCII: by the encoding, the locale, TERM."""
        locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
        if locale in ("C", "POSIX") or os.environ.get("TERM", "") in ("dumb", "unknown", "linux"):
            return True
        return self.fitting(Visible(DOTS_AND_BLOCKS)) != DOTS_AND_BLOCKS

    def fitting(self, text: Visible) -> Visible:
        """The text with a ? for each character that the stream's encoding has not."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        return Visible(text.encode(encoding, "replace").decode(encoding))


class Console:
    """Where a command writes; with --quiet, nothing but results and errors."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.out = Output(lambda: sys.stdout)
        self.err = Output(lambda: sys.stderr)

    def result(self, text: str) -> None:
        """Write text to stdout as it is, but visibly if that is a terminal."""
        self.out.write(visible(text) if self.out.is_terminal else Raw(text))

    def json(self, name: str, fields: Mapping[str, object]) -> None:
        """Write an object on a line of stdout, led by its schema; NaN and infinity are null."""
        import json

        whole = {"schema": f"charrnn.{name}/1", **fields}
        line = json.dumps(_finite(whole), ensure_ascii=False, allow_nan=False)
        self.out.write_lines([visible_json(line)])

    def note(self, text: str) -> None:
        """Say something on stderr, on a line of its own."""
        self.say(visible_line(text))

    def warn(self, text: str) -> None:
        """Say that something may not be as it was meant."""
        self.say(self.err.paint(visible_line(f"charrnn: warning: {text}"), YELLOW))

    def alarm(self, text: str) -> None:
        """Warn of what matters even to whoever wants to be left in peace."""
        _write_above_bar(self.err.paint(visible_line(f"charrnn: warning: {text}"), YELLOW))

    def error(self, what: str, hint: str = "") -> None:
        """Say what is wrong and what to do about it, whoever wants to be left in peace."""
        _write_above_bar(self.err.paint(visible_line(f"charrnn: error: {what}"), RED))
        if hint:
            _write_above_bar(visible_line(hint))

    def say(self, *lines: Visible) -> None:
        """Write lines to stderr, above the progress bar if there is one."""
        if not self.quiet:
            for line in lines:
                _write_above_bar(line)

    def note_if_waiting(self, sources: Iterable[str]) -> None:
        """Say so where a text is to be typed, lest it look as if nothing happened."""
        if "-" in sources and sys.stdin.isatty():
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            self.note(f"waiting for text from the keyboard; {end} ends it")

    @property
    def is_animated(self) -> bool:
        """Whether a progress bar may be drawn: that takes a terminal which moves its cursor."""
        return not self.quiet and self.err.is_terminal and not _is_dumb()

    def bar(self, **how: Any) -> tqdm[NoReturn]:
        """A progress bar that leaves nothing behind; how is what tqdm takes."""
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread that looks after bars
        blocks = " =" if self.err.is_plain else " ▏▎▍▌▋▊▉█"
        ncols = self.err.window - 1
        return tqdm(file=self.err.stream, leave=False, ascii=blocks, ncols=ncols, **how)


def show_version() -> None:
    """Write the name and the version to stdout."""
    Console().result(f"charrnn {__version__}\n")


def _write_above_bar(line: Visible) -> None:
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(line + "\n", file=sys.stderr, end="")  # at once: others write there as well
    else:
        sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None  # NaN is less than nothing
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _is_dumb() -> bool:
    term = os.environ.get("TERM", "")
    return term in ("dumb", "unknown") or (not term and os.name != "nt")


class Forgiving:
    """A stream that is never a reason to stop: what it cannot take is dropped."""

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


class Reporting:
    """A stream whose failures are known errors; that a reader left is BrokenPipeError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _known():
            return self._stream.write(text)

    def flush(self) -> None:
        with _known():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if os.name == "nt" and error.errno == errno.EINVAL:  # what Windows says of a closed pipe
            raise BrokenPipeError from None
        raise CharrnnError(
            f"cannot write to standard output: {error.strerror}",
            "Make room, or send the output elsewhere.",
        ) from error


def prepare() -> None:
    """Put streams that behave in place of the three, once."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file opened would take its place, and our messages
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not isinstance(sys.stderr, Forgiving):
        sys.stderr = cast(TextIO, Forgiving(sys.stderr))
    if sys.stdout is None:
        raise CharrnnError("standard output is closed", "Send it to a file, or to /dev/null.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    if not isinstance(sys.stdout, Reporting):
        sys.stdout = cast(TextIO, Reporting(sys.stdout))


SOON = 1.0  # seconds until we say what we wait for


def has_text(console: Console) -> bool:
    """Whether it is a pipe or a file with something in it.

    A terminal has nothing, nor has /dev/null, which a job of cron is given. What a pipe holds does
    not depend on when it comes, so there we wait for the first byte or the end.
    """
    try:
        file = sys.stdin.fileno()
        mode = os.fstat(file).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return False
        if os.name != "nt":
            os.set_blocking(file, True)
            if not select.select([file], [], [], SOON)[0]:
                console.note("waiting for text from standard input")
        stream = sys.stdin.buffer
        if isinstance(stream, BufferedReader) and stream.peek(1):
            return True
    except (AttributeError, OSError, ValueError):  # closed, not for reading, or a stand-in
        return False
    console.note("standard input is empty: what was held out in training is read")
    return False


def finish() -> None:
    """Hand over what stdout still holds back: a full disk often shows only here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Let go of a stdout that takes no more, or Python would try it once again at the very end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


FAILURE = 1
USAGE = 2
ABOVE = 3
INTERRUPTED = 130
READER_LEFT = 141


class Fault(NamedTuple):
    """How the program ends: a status, and what to say; nothing is said of an empty one."""

    status: int
    what: str = ""
    hint: str = ""
