"""What a sweep will cost: each combination of settings made ready, and how long its runs will take.

Whatever can be known to fail is found out here, before the first run begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from charrnn.corpus.corpus import Corpus
from charrnn.cost import Plan, characters_per_second, plan
from charrnn.presets import fitted
from charrnn.settings.training import Fitted
from charrnn.sweeping.grid import Grid, in_words
from charrnn.sweeping.one_run import config_of
from charrnn.sweeping.shared_data import Splits

TRIED = 8  # networks whose speed is measured, at most
OF_SIZE = (  # what a step takes depends on these
    *("cell", "ends", "clock", "teacher_forcing", "hidden", "layers", "batch", "bptt", "stride"),
    *("optimizer", "members", "own_inputs", "free_running"),
)


@dataclass(frozen=True)
class Planned:
    """A combination of settings, and what each of its runs will do."""

    settings: dict[str, Any]
    plan: Plan
    seconds: float = 0.0  # that one run will take

    @property
    def name(self) -> str:
        """The settings on a line."""
        return in_words(self.settings)


def planned(
    settings: dict[str, Any], grid: Grid, learning: dict[str, Any], splits: Splits
) -> Planned:
    """What these settings come to; SettingError where they contradict each other."""
    seed = grid.seeds[0]
    config = config_of(learning, settings, seed, splits.model)
    corpus = splits.of(seed).corpus
    return Planned(settings, plan(fitted(config, corpus), corpus))


def seconds_of(plans: Sequence[Plan], corpus: Corpus) -> list[float]:
    """How long a run of each will take on this machine, by trying some of them for a moment."""
    sizes: dict[tuple[object, ...], Plan] = {}
    for one in sorted(plans, key=lambda one: one.config.lr):  # which may be too high to try
        sizes.setdefault(size_of(one.config), one)
    ordered = sorted(sizes.values(), key=lambda one: one.parameters)
    step = -(-len(ordered) // TRIED)
    speeds = [
        (one.parameters, characters_per_second(one.config, corpus)) for one in ordered[::step]
    ]

    def speed(one: Plan) -> float:
        """That of the network most like it in size, slower as it is larger."""
        size, found = min(speeds, key=lambda known: abs(known[0] - one.parameters))
        return max(found * size / one.parameters, 1e-9)

    return [_seconds(one, corpus, speed(one)) for one in plans]


def size_of(config: Fitted) -> tuple[object, ...]:
    """What tells two networks apart that do not learn equally fast."""
    return tuple(getattr(config, name) for name in OF_SIZE)


def alike(plans: Sequence[Planned]) -> list[tuple[Planned, Planned]]:
    """Pairs whose runs will be the same, for what they try was made to fit the corpus."""
    seen: dict[Fitted, Planned] = {}
    found = []
    for one in plans:
        first = seen.setdefault(one.plan.config, one)
        if first is not one:
            found.append((first, one))
    return found


def _seconds(one: Plan, corpus: Corpus, speed: float) -> float:
    config = one.config
    ends = [] if one.steps is None else [config.epochs * len(corpus.train.ids) / speed]
    ends += [] if config.minutes is None else [60 * config.minutes]
    return min(ends)
