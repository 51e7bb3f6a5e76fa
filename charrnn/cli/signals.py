"""Ctrl-C, SIGTERM and SIGHUP: asked once to stop, at a good place; asked twice, at once.

    with signals.watched(console) as stop:
        for event in train(...):
            ...
            if stop.requested:
                break
    if stop.requested:
        raise SystemExit(stop.status)

What the parent process had ignored (nohup, a shell's ``&``) stays ignored. Outside of watched()
each of them ends the program at once, by an exception, so that files are left as they should be.
At once is as soon as an exception comes through and does no harm: a module that is being imported
may take it for a fault of its own, and where Python cleans up it would be lost.
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
SOON = 0.01  # seconds after which a stop that would have been lost is tried again
# Files of Python in which exceptions are lost: imports, and what is called when something goes.
SWALLOWING = {
    *("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"),
    *("weakref.py", "_weakrefset.py"),
}
# Where a file comes to be, and there is nobody yet who would take it away.
IN_ONE_GO = {("lock.py", "locked"), ("replacement.py", "_temporary")}
_MAY_REPEAT = getattr(signal, "SIGHUP", None)

Handler = Callable[[int, FrameType | None], None]


class Stopped(KeyboardInterrupt):
    """A signal ends the program here and now."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Stop:
    """Whether a signal has asked for an end, and the exit status that goes with it."""

    def __init__(self) -> None:
        self.requested = False
        self.status = 0


@contextmanager
def watched(console: Console) -> Iterator[Stop]:
    """A Stop that the first signal sets, saying so; the second one raises Stopped."""
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
def unheard_after_hanging_up(stop: Stop) -> Iterator[None]:
    """What cannot be written in here is no error if it was a terminal going away that said stop."""
    try:
        yield
    except CharrnnError:
        if _MAY_REPEAT is None or stop.status != 128 + _MAY_REPEAT:
            raise


@contextmanager
def ending() -> Iterator[None]:
    """Each signal raises Stopped, so that SIGTERM cleans up as well as Ctrl-C does."""

    with _handled(_stop):
        early = launcher.first()
        if early is not None:
            raise Stopped(early)
        yield


def leave_to_the_system() -> None:
    """No more handlers: from here to the end, Ctrl-C just ends, without a last traceback."""
    for number in _ours():
        signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise Stopped, as soon as that comes through."""
    if hasattr(signal, "setitimer") and _would_be_lost(frame):
        signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
        signal.setitimer(signal.ITIMER_REAL, SOON)
    else:
        raise Stopped(number)


def _would_be_lost(frame: FrameType | None) -> bool:
    """Whether an exception in this frame may never reach us, or would leave a file behind."""
    here = frame
    while frame is not None:
        name, function = os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
        if name in SWALLOWING or (name, function) in IN_ONE_GO or function == "__del__":
            return True
        if name == "contextlib.py" and frame is here:  # on the way into a `with`, or out of it
            return True
        frame = frame.f_back
    return False


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _ours()}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        if before and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, old in before.items():
            signal.signal(number, old)


def _ours() -> list[int]:
    if threading.current_thread() is not threading.main_thread():
        return []  # Python leaves signals to the main thread
    return [
        number for number in launcher.ALL if signal.getsignal(number) not in (signal.SIG_IGN, None)
    ]


def _announcement(number: int) -> bytes:
    who = "" if number == signal.SIGINT else f"{signal.Signals(number).name}: "
    line = f"charrnn: {who}finishing this step, then saving; Ctrl-C stops at once\n"
    return (("\n" if os.isatty(STDERR) else "") + line).encode()  # below the bar and the ^C
