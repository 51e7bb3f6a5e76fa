"""Ctrl-C, SIGTERM and SIGHUP: the first requests a stop after this step, the second stops at once.

Outside of ``watched`` each raises Stopped, so that files are closed and removed on the way out.
Signals that the parent process ignores (nohup, a shell's ``&``) stay ignored. At its end the
program dies of the signal, so that the loop of a shell that started it ends, too.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Stopped(KeyboardInterrupt):
    """A signal that ends the program at once."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Stop:
    """Whether a signal has requested a stop, and the exit status for it."""

    is_watching = False  # whether a block of ``watched`` is entered
    requested, status = False, 0


def raise_stopped(number: int, _frame: FrameType | None) -> NoReturn:
    """Raise Stopped. While that clears up, another signal ends the process."""
    for following in SIGNALS:
        if signal.getsignal(following) not in (signal.SIG_IGN, None):
            is_hangup = following == getattr(signal, "SIGHUP", None)  # a closing terminal sends two
            signal.signal(following, signal.SIG_IGN if is_hangup else signal.SIG_DFL)
    raise Stopped(number)


def die_of(status: int) -> None:
    """Die of the signal that this exit status is for; do nothing for any other status."""
    if status - 128 in SIGNALS and os.name == "posix":
        signal.signal(status - 128, signal.SIG_DFL)
        signal.raise_signal(status - 128)


def die_if_ignored(ignored: Any) -> None:
    """Die of a signal that came where Python ignores what is raised, and show other errors."""
    if isinstance(ignored.exc_value, Stopped):
        die_of(ignored.exc_value.status)
    if ignored.object is not None or not isinstance(ignored.exc_value, OSError):  # of two at once
        sys.__unraisablehook__(ignored)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None] = raise_stopped) -> Iterator[None]:
    """Give the signals to a handler; the handlers from before come back at the end."""
    is_main = threading.current_thread() is threading.main_thread()
    found = {number: signal.getsignal(number) for number in SIGNALS if is_main}
    unchanged = (signal.SIG_IGN, None)  # None: not of Python
    handlers = {number: old for number, old in found.items() if old not in unchanged}
    try:
        for number in handlers:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in handlers.items():
            signal.signal(number, old)


@contextmanager
def blocked() -> Iterator[None]:
    """Block signals. A process that starts in the block never gets them: its parent ends it."""
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


@contextmanager
def delayed() -> Iterator[None]:
    """Delay signals to the end of the block, but for those that ``watched`` only notes."""
    if Stop.is_watching:
        yield
        return
    came: list[int] = []
    try:
        with handled(lambda number, _: came.append(number)):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


@contextmanager
def watched(quiet: bool) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second signal raises Stopped."""
    stop = Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            if number != getattr(signal, "SIGHUP", None):  # as above
                raise_stopped(number, frame)
            return
        stop.requested, stop.status = True, 128 + number
        if not quiet:
            line = b"charrnn: saving after this step; Ctrl-C stops at once\n"
            with suppress(OSError):  # not through sys.stderr, which may be in use; below the bar
                os.write(2, b"\n" + line if os.isatty(2) else line)

    with handled(handle):
        Stop.is_watching = True
        try:
            yield stop
        finally:
            Stop.is_watching = False
