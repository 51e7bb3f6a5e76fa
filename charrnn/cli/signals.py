"""Ctrl-C, SIGTERM and SIGHUP: the first asks for a stop after the current step, the second stops.

    with signals.watched(console) as stop:
        for event in train(...):
            ...
            if stop.requested:
                break
    if stop.requested:
        raise SystemExit(stop.status)

Signals that the parent process ignores (nohup, a shell's ``&``) stay ignored. Outside of watched()
a signal raises Stopped, so that files are closed and removed on the way out. The exception is
delayed where it would be lost or do harm: while a module is imported, inside ``__del__``, and
between the creation of a file and the code that removes it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from charrnn.cli import launcher
from charrnn.cli.console import Console
from charrnn.errors import CharrnnError

STDERR = 2
RETRY = 0.01  # seconds
IMPORTS = {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"}
FINALIZERS = {"weakref.py", "_weakrefset.py"}
# Functions of model_file/saving.py that create a file which only their caller removes.
CREATORS = {"locked", "_temporary"}
_MAY_REPEAT = getattr(signal, "SIGHUP", None)

Handler = Callable[[int, FrameType | None], None]


class Stopped(KeyboardInterrupt):
    """A signal that ends the program at once."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Stop:
    """Whether a signal has asked for a stop, and the exit status for it."""

    def __init__(self) -> None:
        self.requested = False
        self.status = 0


@contextmanager
def watched(console: Console) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second signal raises Stopped."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            if number != _MAY_REPEAT:  # a closing terminal tends to send it twice
                _stop(number, frame)
            return
        stop.requested = True
        stop.status = 128 + number
        if not console.quiet:
            # Not through sys.stderr: the signal may have come while it was being written to.
            with suppress(OSError):
                os.write(STDERR, _announcement(number))

    with _handled(handle):
        yield stop


@contextmanager
def errors_ignored_after_hangup(stop: Stop) -> Iterator[None]:
    """Ignore errors of writing if SIGHUP has ended the run: the terminal is gone."""
    try:
        yield
    except CharrnnError:
        if _MAY_REPEAT is None or stop.status != 128 + _MAY_REPEAT:
            raise


@contextmanager
def ending() -> Iterator[None]:
    """Let each signal raise Stopped, also one that came before this."""
    with _handled(_stop):
        early = launcher.early_signal()
        if early is not None:
            raise Stopped(early)
        yield


def restore_defaults() -> None:
    """Remove all handlers: from here to the end, Ctrl-C ends the process without a traceback."""
    for number in _signals():
        signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise Stopped, or try again soon if the exception would be lost."""
    if hasattr(signal, "setitimer") and _would_be_lost(frame):
        signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
        signal.setitimer(signal.ITIMER_REAL, RETRY)
    else:
        raise Stopped(number)


def _would_be_lost(frame: FrameType | None) -> bool:
    """Return True if an exception in this frame could be swallowed, or leave a file behind."""
    if frame is not None and os.path.basename(frame.f_code.co_filename) == "contextlib.py":
        return True  # while a `with` is entered or left
    while frame is not None:
        path, function = frame.f_code.co_filename, frame.f_code.co_name
        name = os.path.basename(path)
        if path in IMPORTS or name in FINALIZERS or function == "__del__":
            return True
        if name == "saving.py" and function in CREATORS:
            return True
        frame = frame.f_back
    return False


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _signals()}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        if before and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, old in before.items():
            signal.signal(number, old)


def _signals() -> list[int]:
    """Return the signals to handle: Python allows handlers in the main thread only."""
    is_main = threading.current_thread() is threading.main_thread()
    return launcher.heeded_signals() if is_main else []


def _announcement(number: int) -> bytes:
    name = "" if number == signal.SIGINT else f"{signal.Signals(number).name}: "
    line = f"charrnn: {name}finishing this step, then saving; Ctrl-C stops at once\n"
    return (("\n" if os.isatty(STDERR) else "") + line).encode()  # below the bar and the ^C
