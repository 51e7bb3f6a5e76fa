"""The grid of a sweep, the results of its runs, and their means over seeds.

Each combination of values is run from each seed. All combinations are run from one seed before the
next seed: they share a corpus, and comparable results come early.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from statistics import mean, stdev
from typing import Any

from charrnn.errors import SettingError
from charrnn.model_file.fields import from_fields
from charrnn.scoring.score import Difference, moments, paired
from charrnn.settings.fields import Values, check, option_of, settings_of
from charrnn.settings.training import FIXED, TrainConfig

MOST_RUNS = 100_000
LONGEST = 150  # characters of a name, which every file system has room for


@dataclass(frozen=True)
class Trial:
    """A run of the grid: its name, the values it tries, and its seed."""

    name: str
    settings: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Grid:
    """The values to try, by the names of their settings, and the seeds."""

    tried: Mapping[str, tuple[Any, ...]]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        runs = math.prod(len(values) for values in (*self.tried.values(), self.seeds))
        if runs > MOST_RUNS:
            what = f"that would be {runs:,} runs; at most {MOST_RUNS:,} are allowed"
            raise SettingError(what, "Try fewer values or fewer seeds.")

    @property
    def combinations(self) -> list[dict[str, Any]]:
        """Every combination of the values; an empty one if no values are tried."""
        products = itertools.product(*self.tried.values())
        return [dict(zip(self.tried, values, strict=True)) for values in products]

    @property
    def trials(self) -> list[Trial]:
        return [
            Trial(name_of({**settings, "seed": seed}), settings, seed)
            for seed in self.seeds
            for settings in self.combinations
        ]


def grid_of(tried: Mapping[str, Any], seeds: Any) -> Grid:
    """Return a checked grid. Raise SettingError if a name, a value or a seed is not allowed."""
    if not isinstance(tried, Mapping):
        what = f"the values to try cannot be {type(tried).__name__}"
        raise SettingError(what, "Give a dict such as {'hidden': [64, 128]}.")
    known = {name: one for name, one in settings_of(TrainConfig).items() if name not in FIXED}
    checked = {}
    for name, values in tried.items():
        if name not in known:
            raise SettingError(f"{name} cannot be tried", f"Try one of {', '.join(known)}.")
        checked[name] = check_values(name, values, known[name].values)
    return Grid(checked, check_values("seed", seeds, settings_of(TrainConfig)["seed"].values))


def check_values(name: str, given: Any, allowed: Values) -> tuple[Any, ...]:
    """Return the values. Raise SettingError for an empty list, a wrong value or a repeated one."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SettingError(f"{name} {given!r} is not a list", f"Give a list: [{given!r}].")
    values = tuple(check(name, value, allowed) for value in given)
    if not values:
        raise SettingError(f"{name} has no value to try", "Give one or more.")
    seen = set()
    for value in values:
        if value in seen:
            what = f"{name} {value_in_words(value)} is repeated"
            raise SettingError(what, "Leave one out.", name)
        seen.add(value)
    return values


def name_of(settings: Mapping[str, Any]) -> str:
    """Return the settings as a file name that any system allows: letters, digits and ``=,-.``."""
    whole = in_words(settings)
    if len(whole) <= LONGEST:
        return whole
    end = f"..{sha256(whole.encode()).hexdigest()[:12]},seed={settings['seed']}"
    return whole[: LONGEST - len(end)] + end


def in_words(settings: Mapping[str, Any]) -> str:
    """Return the settings on one line, or "defaults" for no settings."""
    pieces = [(option_of(name).lstrip("-"), value_in_words(v)) for name, v in settings.items()]
    return ",".join(map("=".join, pieces)) or "defaults"


def value_in_words(value: Any) -> str:
    """Return a value as it is typed. Different values give different texts."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).removesuffix(".0")


SCHEMA = "charrnn.sweep.run/1"


@dataclass(frozen=True)
class Result:
    """The result of a run, whether it failed or not."""

    name: str
    settings: dict[str, Any]  # only those that the sweep tries
    seed: int
    best_step: int | None
    nats_per_character: float | None  # the best held-out loss; None if the run failed
    model: str | None  # a path
    seconds: float
    stopped: str  # epochs, minutes, patience; diverged, failed
    error: str | None = None
    parts: dict[str, dict[str, float]] = field(default_factory=dict)  # only if counts are mixed in
    blocks: list[float] = field(default_factory=list)  # the loss on each block of held-out text

    @property
    def has_failed(self) -> bool:
        return self.stopped in ("diverged", "failed")

    @property
    def loss(self) -> float:
        """The loss to compare by: held out, with counts mixed in; infinite if the run failed."""
        if self.nats_per_character is None:
            return math.inf
        both = self.parts.get("both")
        return self.nats_per_character if both is None else both["nats_per_character"]

    def as_json(self) -> dict[str, Any]:
        row = asdict(self)
        best = {"step": row.pop("best_step"), "nats_per_character": row.pop("nats_per_character")}
        parts, blocks = row.pop("parts"), row.pop("blocks")
        first = {name: row.pop(name) for name in ("name", "settings", "seed")}
        whole = {"schema": SCHEMA, **first, "best": best, **row}
        more = {"parts": parts, "held_out_blocks": blocks}
        return whole | {name: value for name, value in more.items() if value}


def failure(trial: Trial, why: str, stopped: str = "failed", seconds: float = 0.0) -> Result:
    t = trial
    return Result(t.name, t.settings, t.seed, None, None, None, seconds, stopped, error=why)


def from_json(row: Mapping[str, Any]) -> Result:
    """Return the result in a row. Raise an error for other content."""
    if row["schema"] != SCHEMA:
        raise ValueError("another schema")
    json.dumps(row, allow_nan=False)  # raises ValueError for NaN and infinity
    names = ("name", "settings", "seed", "model", "seconds", "stopped", "error")
    facts = {name: row[name] for name in names}
    facts |= {"best_step": row["best"]["step"]}
    facts |= {"nats_per_character": row["best"]["nats_per_character"]}
    facts |= {"parts": row.get("parts", {}), "blocks": row.get("held_out_blocks", [])}
    result = from_fields(Result, facts)
    if any(part["nats_per_character"] < 0 for part in result.parts.values()):
        raise ValueError("a loss below 0")
    sum(result.blocks, result.loss + result.seconds)  # an error for anything but numbers
    return result


@dataclass(frozen=True)
class Standing:
    """The results of one combination of settings, over all seeds."""

    settings: dict[str, Any]
    results: tuple[Result, ...]  # those that have not failed, the best first
    failed: int

    @property
    def name(self) -> str:
        return in_words(self.settings)

    @property
    def nats_per_character(self) -> float | None:
        """The mean loss; None if all runs failed."""
        return mean(result.loss for result in self.results) if self.results else None

    @property
    def spread(self) -> float | None:
        """The standard deviation of the loss over seeds; None for fewer than two runs."""
        return stdev(result.loss for result in self.results) if len(self.results) > 1 else None

    def difference(self, other: Standing) -> Difference | None:
        """Return how the loss differs from another's on the same held-out texts, if it does.

        The standard error is over blocks of the texts or over seeds, whichever is larger.
        """
        own, theirs = ({result.seed: result for result in one.results} for one in (self, other))
        seeds = sorted(own.keys() & theirs.keys())
        if self is other or not seeds:
            return None
        pairs = [(own[seed], theirs[seed]) for seed in seeds]
        by_seed = paired(moments([a.loss - b.loss for a, b in pairs], [1] * len(pairs)))
        blocks = [x - y for a, b in pairs for x, y in zip(a.blocks, b.blocks, strict=False)]
        by_block = paired(moments(blocks, [1] * len(blocks)))
        errors = [one.standard_error for one in (by_seed, by_block)]
        known = [error for error in errors if not math.isnan(error)]
        return by_seed._replace(standard_error=max(known, default=math.nan))

    @property
    def seconds(self) -> float:
        """The mean duration of a run."""
        return mean(result.seconds for result in self.results) if self.results else 0.0


def standings(results: Iterable[Result]) -> list[Standing]:
    """Return all combinations, the best first and those with failed runs last."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(in_words(result.settings), []).append(result)
    ranked = []
    for group in groups.values():
        good = sorted((r for r in group if not r.has_failed), key=lambda result: result.loss)
        ranked.append(Standing(group[0].settings, tuple(good), len(group) - len(good)))

    def rank(standing: Standing) -> tuple[bool, float]:
        loss = standing.nats_per_character
        return bool(standing.failed), math.inf if loss is None else loss

    return sorted(ranked, key=rank)


def best_of(results: Iterable[Result]) -> Result | None:
    good = [result for result in results if not result.has_failed]
    return min(good, key=lambda result: result.loss, default=None)
