"""How settings compare: the mean of their held-out loss over seeds, and its spread."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from charrnn.sweeping.grid import in_words
from charrnn.sweeping.result import Result


@dataclass(frozen=True)
class Standing:
    """What one combination of settings came to from all of its seeds."""

    settings: dict[str, Any]
    results: tuple[Result, ...]  # those that have not failed, the best first
    failed: int

    @property
    def name(self) -> str:
        """The settings on a line."""
        return in_words(self.settings)

    @property
    def nats_per_character(self) -> float | None:
        """The mean; None where all have failed."""
        return mean(one.loss for one in self.results) if self.results else None

    @property
    def spread(self) -> float | None:
        """The standard deviation from seed to seed; None where there are not two."""
        return stdev(one.loss for one in self.results) if len(self.results) > 1 else None

    @property
    def seconds(self) -> float:
        """How long a run took, in the mean."""
        return mean(one.seconds for one in self.results) if self.results else 0.0


def standings(results: Iterable[Result]) -> list[Standing]:
    """All combinations, the best first; those that have failed from some seed come last."""
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(in_words(one.settings), []).append(one)
    found = []
    for group in groups.values():
        good = sorted((one for one in group if not one.has_failed), key=lambda one: one.loss)
        found.append(Standing(group[0].settings, tuple(good), len(group) - len(good)))
    return sorted(found, key=_rank)


def best_of(results: Iterable[Result]) -> Result | None:
    """The run of the lowest loss, if one has not failed."""
    good = [one for one in results if not one.has_failed]
    return min(good, key=lambda one: one.loss, default=None)


def _rank(one: Standing) -> tuple[bool, float]:
    loss = one.nats_per_character
    return bool(one.failed), math.inf if loss is None else loss
