"""How the program ends: errors in one red line, signals, and an exit status.

A bug keeps its traceback; CHARRNN_DEBUG=1 shows the traceback of every error. Where the library
names a setting, such as ``max_characters``, the command line shows the option, ``--max-chars``.

The first Ctrl-C, SIGTERM or SIGHUP requests a stop after the current step, the second stops.
Outside of ``watched`` each signal raises Stopped, so that files are closed and removed on the way
out. Signals that the parent process ignores (nohup, a shell's ``&``) stay ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from charrnn.cli import console as streams
from charrnn.cli.console import FAILURE, INTERRUPTED, READER_LEFT, USAGE, Console
from charrnn.errors import CharrnnError, SettingError

OPTIONS = {
    "temperature": "--temp",
    "max_characters": "--max-chars",
    "start_from": "--from",
    "model": "-m",
    "path": "-m",
}


def option_for(name: str) -> str:
    """Return the option that is typed for a setting."""
    return OPTIONS.get(name, "--" + name.replace("_", "-"))


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """Return the message and the hint, with options in place of the names of settings."""
    what, name = error.what, error.setting
    if name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint_with(option_for)
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint[:1].upper()}{hint[1:].rstrip('.')}. {note}"
    return what, hint


@contextmanager
def report_errors() -> Iterator[None]:
    """Run the program inside; show an error that is not a bug, and raise SystemExit in any case."""
    try:
        try:
            streams.prepare()
            with handled():
                yield
        finally:
            streams.finish()
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
        elif status == INTERRUPTED and sys.stderr.isatty():
            sys.stderr.write("\n")  # the shell's prompt goes below the ^C
        raise SystemExit(status) from None
    raise SystemExit(0)


def explain(error: BaseException) -> tuple[int, str, str] | None:
    """Return the exit status, the message and the hint for an error; None for a bug."""
    match error:
        case SettingError():
            return USAGE, *in_words_of_the_command_line(error)
        case CharrnnError():
            return FAILURE, *in_words_of_the_command_line(error)
        case SystemExit():
            return error.code if isinstance(error.code, int) else bool(error.code), "", ""
        case KeyboardInterrupt():
            return getattr(error, "status", INTERRUPTED), "", ""
        case BrokenPipeError():
            return READER_LEFT, "", ""
        case FileNotFoundError(filename=None):  # only the current folder has no name
            return FAILURE, "the current folder is gone", "Change to a folder that exists."
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return FAILURE, f"{place}{error.strerror or error}", ""
        case MemoryError():
            what = f"not enough memory: {error}" if str(error) else "not enough memory"
            return FAILURE, what, "Try a smaller network, a smaller batch or shorter windows."
    return None


SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Stopped(KeyboardInterrupt):
    """A signal that ends the program at once."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Stop:
    """Whether a signal has requested a stop, and the exit status for it."""

    def __init__(self) -> None:
        self.requested = False
        self.status = 0


def raise_stopped(number: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped(number)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None] = raise_stopped) -> Iterator[None]:
    """Give the signals to a handler; the handlers from before come back at the end."""
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        handlers = {number: old for number, old in handlers.items() if old != signal.SIG_IGN}
    try:
        for number in handlers:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in handlers.items():
            signal.signal(number, old)


@contextmanager
def watched(quiet: bool) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second signal raises Stopped."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            if number != getattr(signal, "SIGHUP", None):  # a closing terminal sends it twice
                raise_stopped(number, frame)
            return
        stop.requested, stop.status = True, 128 + number
        if not quiet:
            line = b"charrnn: saving after this step; Ctrl-C stops at once\n"
            with suppress(OSError):  # not through sys.stderr, which may be in use; below the bar
                os.write(2, b"\n" + line if os.isatty(2) else line)

    with handled(handle):
        yield stop
