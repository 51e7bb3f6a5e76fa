"""How the learning rate rises and falls over a run, and how long a run has taken.

rate
 1 |   ____                 constant ______________
   |  /    ``-._            linear   a straight line down
   | /          `-.         cosine   as drawn
   |/              `-.__
   +--------------------- progress
    warm-up
"""

from __future__ import annotations

import math
import time
from typing import Literal

Schedule = Literal["cosine", "linear", "constant"]

FLOOR = 0.01  # where a schedule ends, as a share of the learning rate
SUSPENDED = 20.0  # a step that takes so many times the usual slept through most of it


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """What becomes of the learning rate at a step, counted from 0, when so much is done."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


class Stopwatch:
    """How long each step took; a stop in between, Ctrl-Z say, is nobody's time."""

    def __init__(self) -> None:
        self._began = 0.0
        self._usual = math.inf

    def begin(self) -> None:
        """A step begins."""
        self._began = time.monotonic()

    def minutes(self) -> float:
        """How long the step has taken that ends here."""
        seconds = min(time.monotonic() - self._began, SUSPENDED * self._usual)
        self._usual = min(self._usual, seconds) if seconds > 0 else self._usual
        return seconds / 60
