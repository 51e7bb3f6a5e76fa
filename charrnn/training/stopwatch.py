"""The time that a run takes, without the time in which it was stopped: Ctrl-Z, or a lid closed.

Who computes uses the processor. A lap that was long and hardly used it was slept through.
"""

from __future__ import annotations

import time

LONG = 1.0  # seconds
HARDLY = 20  # times as long as the processor was used


class Stopwatch:
    """Laps, each from the end of the one before."""

    def __init__(self) -> None:
        self._wall, self._used = time.monotonic(), time.process_time()

    def lap(self) -> float:
        """The seconds since the last lap, or since the clock was made."""
        wall, used = time.monotonic(), time.process_time()
        seconds, work = wall - self._wall, used - self._used
        self._wall, self._used = wall, used
        return work if seconds > LONG and seconds > HARDLY * work else seconds
