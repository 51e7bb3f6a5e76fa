"""Ctrl-C, SIGTERM and SIGHUP: the first requests a stop after the current step, the second stops.

Signals that the parent process ignores (nohup, a shell's ``&``) stay ignored. Outside of watched()
a signal raises Stopped, so that files are closed and removed on the way out. The exception is
delayed where it would be lost or do harm: during an import, inside ``__del__``, and between the
creation of a file and its removal.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from charrnn.errors import CharrnnError

if TYPE_CHECKING:
    from charrnn.cli.console import Console

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows lacks SIGHUP, others SIGBREAK
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
FINALIZERS = {"weakref.py", "_weakrefset.py"}
# Functions that create a file or a connection which only their caller ends.
CREATORS = {("saving.py", "locked"), ("saving.py", "replaced"), ("cluster.py", "_connect")}
HANGUP = getattr(signal, "SIGHUP", None)
_early: list[int] = []
_is_ready = False


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


def keep() -> None:
    """Record signals from now on, until ending() handles them.

    While Python imports, a handler must not raise: some modules take any exception for a missing
    package, others would be left half imported.
    """
    for number in heeded():
        signal.signal(number, _remember)


def _remember(number: int, _frame: FrameType | None) -> None:
    if _is_ready:  # the program has ended by now, and nothing would look
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _early.append(number)


def heeded() -> list[int]:
    """Return the signals that the parent process does not ignore; none outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]


@contextmanager
def watched(console: Console) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second signal raises Stopped."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            if number != HANGUP:  # a closing terminal tends to send it twice
                _stop(number, frame)
            return
        stop.requested = True
        stop.status = 128 + number
        if not console.quiet:
            name = "" if number == signal.SIGINT else f"{signal.Signals(number).name}: "
            line = f"charrnn: {name}saving after this step; Ctrl-C stops at once\n"
            # Not through sys.stderr: the signal may have come while it was being written to.
            with suppress(OSError):  # below the bar and the ^C
                os.write(2, (("\n" if os.isatty(2) else "") + line).encode())

    with _handled(handle):
        yield stop


@contextmanager
def errors_ignored_after_hangup(stop: Stop) -> Iterator[None]:
    """Ignore errors of writing if SIGHUP has ended the run: the terminal is gone."""
    try:
        yield
    except CharrnnError:
        if HANGUP is None or stop.status != 128 + HANGUP:
            raise


@contextmanager
def ending() -> Iterator[None]:
    """Let each signal raise Stopped, also one that came before this."""
    with _handled(_stop):
        global _is_ready
        _is_ready = True
        if _early:
            raise Stopped(_early.pop(0))
        yield


def restore_defaults() -> None:
    """Remove all handlers: from here to the end, Ctrl-C ends the process without a traceback."""
    for number in heeded():
        signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise Stopped, or try again soon if the exception would be lost."""
    if hasattr(signal, "setitimer") and _would_be_lost(frame):
        signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # seconds
    else:
        raise Stopped(number)


def _would_be_lost(frame: FrameType | None) -> bool:
    """Return True if an exception in this frame could be swallowed, or leave a file behind."""
    if frame is not None and os.path.basename(frame.f_code.co_filename) == "contextlib.py":
        return True  # while a `with` is entered or left
    while frame is not None:
        path, function = frame.f_code.co_filename, frame.f_code.co_name
        name = os.path.basename(path)
        if path.startswith("<frozen importlib._bootstrap") or function == "__del__":
            return True
        if name in FINALIZERS or (name, function) in CREATORS:
            return True
        frame = frame.f_back
    return False


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in heeded()}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        if before and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, old in before.items():
            signal.signal(number, old)
