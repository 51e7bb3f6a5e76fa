"""How the learning rate rises and falls over a run.

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

from charrnn.settings.training import Schedule

FLOOR = 0.01  # where a schedule ends, as a share of the learning rate


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """What becomes of the learning rate at a step, counted from 0, when so much is done."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)
