"""The course of a run: its learning rate, its progress, its check-ups, its end, and its clock."""

from __future__ import annotations

import math
import time

from charrnn.settings.training import Ending, Fitted, Schedule, ending
from charrnn.training.state import TrainState

FLOOR = 0.01  # the lowest rate of a schedule, as a share of the learning rate
LONG = 1.0  # seconds
ASLEEP = 20  # times as long as the processor worked: the process was stopped


def is_due(state: TrainState, config: Fitted) -> bool:
    """Return True if a check-up comes next, also in a run that was stopped right before one."""
    if state.step == 0 or (state.history and state.history[-1]["step"] == state.step):
        return False
    return state.step % config.check_every == 0 or find_ending(state, config) is not None


def find_ending(state: TrainState, config: Fitted) -> Ending | None:
    best_step = None if state.best is None else state.best.step
    return ending(config, state.epoch, state.minutes, best_step, state.history)


def progress(state: TrainState, config: Fitted, symbols: int) -> float:
    """Return the share of the run that is done, by symbols seen or by time, from 0 to 1."""
    seen = state.characters / (config.epochs * symbols)
    used = 0.0 if config.minutes is None else state.minutes / config.minutes
    return min(1.0, max(seen, used))


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


class Stopwatch:
    """A clock that leaves out the time in which the process was stopped, as by Ctrl-Z."""

    def __init__(self) -> None:
        self._wall, self._used = time.monotonic(), time.process_time()

    def lap(self) -> float:
        wall, used = time.monotonic(), time.process_time()
        seconds, work = max(0.0, wall - self._wall), used - self._used  # a clock may jump back
        self._wall, self._used = wall, used
        return work if seconds > LONG and seconds > ASLEEP * work else seconds
