"""Fair timing on a machine that is not: in turn, several rounds, medians, ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

Work = Callable[[], object]


def seconds_of(work: Work) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


LONG_ENOUGH = 1.0  # seconds: a shorter look at a machine sees only its mood of the moment


def in_turn(works: dict[str, Work], rounds: int = 25) -> dict[str, list[float]]:
    """The seconds of each piece of work, round by round, each round taking all of them in turn.

    Short work gets more rounds, until it was looked at for long enough.
    """
    for work in works.values():
        work()
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    gc.disable()
    try:
        while rounds > 0 or sum(map(sum, seconds.values())) < LONG_ENOUGH:
            rounds -= 1
            for name, work in works.items():
                seconds[name].append(seconds_of(work))
    finally:
        gc.enable()
    return seconds


def median_ratio(ones: list[float], others: list[float]) -> float:
    """How many times as long the others take, round by round, in the middle."""
    return statistics.median(b / a for a, b in zip(ones, others, strict=True))
