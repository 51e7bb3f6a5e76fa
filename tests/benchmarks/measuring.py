"""Timing on a busy machine: interleaved rounds, medians, ratios."""

import gc
import statistics
import time
from collections.abc import Callable

Work = Callable[[], object]


LONG_ENOUGH = 1.0  # seconds; shorter measurements vary too much


def in_turn(works: dict[str, Work], rounds: int = 25) -> dict[str, list[float]]:
    """Return the seconds of each piece of work, round by round; a round runs all of them once.

    Short work gets more rounds, until LONG_ENOUGH has passed.
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
                start = time.perf_counter()
                work()
                seconds[name].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return seconds


def median_ratio(ones: list[float], others: list[float]) -> float:
    """Return the median ratio of the others' time to the ones'."""
    return statistics.median(b / a for a, b in zip(ones, others, strict=True))
