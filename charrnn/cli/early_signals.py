"""Signals that come before the program is ready for them: kept until it is, and obeyed then.

While Python imports, a handler that raises would do harm: some modules take any exception for a
missing part, and some leave theirs half made. So the very first thing is a handler that takes
notes, and `signals.ending` looks at these once there is somebody to tell the end.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has no SIGHUP, others no SIGBREAK
ALL = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
_arrived: list[int] = []
_is_ready = False


def keep() -> None:
    """From here on take a note of each."""
    for number in ours():
        signal.signal(number, _note)


def ours() -> list[int]:
    """Those that the parent had not ignored."""
    return [number for number in ALL if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def first() -> int | None:
    """The first that came, now that it can be obeyed."""
    global _is_ready
    _is_ready = True
    return _arrived.pop(0) if _arrived else None


def _note(number: int, _frame: FrameType | None) -> None:
    if _is_ready:  # and over by now: nothing is left that would look
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _arrived.append(number)
