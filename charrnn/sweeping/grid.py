"""What is tried: some values of some settings, every combination of them from every seed.

    tried {"hidden": (64, 128), "lr": (0.002,)}, seeds (0, 1)

    hidden=64,lr=0.002,seed=0      hidden=128,lr=0.002,seed=0
    hidden=64,lr=0.002,seed=1      hidden=128,lr=0.002,seed=1

All combinations from one seed come before the next seed: they learn from the same examples, and
what is better shows early.

What one run of a sweep came to, as a row of the file that keeps them.

How settings compare: the mean of their held-out loss over seeds, and its spread."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from statistics import mean, stdev
from typing import Any

from charrnn.errors import SettingError
from charrnn.settings.fields import check, option_of, settings_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import FIXED

MOST = 100_000  # runs: more is a slip of the keyboard
LONGEST = 150  # characters of a name: no file system has less room, with what is put around it


@dataclass(frozen=True)
class Trial:
    """One run: its name, what it tries, and its seed."""

    name: str
    settings: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Grid:
    """The values that are tried, by the names of their settings, and the seeds."""

    tried: Mapping[str, tuple[Any, ...]]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        runs = math.prod(len(values) for values in (*self.tried.values(), self.seeds))
        if runs > MOST:
            raise SettingError(
                f"that would be {runs:,} runs, and {MOST:,} are allowed",
                "Try fewer values, or fewer seeds.",
            )

    @property
    def combinations(self) -> list[dict[str, Any]]:
        """Every combination of the values; one of nothing where there are none."""
        values = itertools.product(*self.tried.values())
        return [dict(zip(self.tried, some, strict=True)) for some in values]

    @property
    def trials(self) -> list[Trial]:
        """Every run, in their order."""
        return list(self._each())

    def _each(self) -> Iterator[Trial]:
        for seed in self.seeds:
            for settings in self.combinations:
                yield Trial(name_of({**settings, "seed": seed}), settings, seed)


def checked(tried: Mapping[str, Any], seeds: Any) -> Grid:
    """The grid of what Python gives; SettingError where a value or a name is none."""
    known = {name: one for name, one in settings_of(TrainConfig).items() if name not in FIXED}
    plain = {}
    for name, values in tried.items():
        if name not in known:
            raise SettingError(f"{name} cannot be tried", f"What can: {', '.join(known)}.")
        given = listed(name, values)
        plain[name] = tuple(check(name, value, known[name].values) for value in given)
        check_different(name, plain[name])
    seed = settings_of(TrainConfig)["seed"]
    all_seeds = tuple(check("seed", one, seed.values) for one in listed("seeds", seeds))
    check_different("seed", all_seeds)
    return Grid(plain, all_seeds)


def listed(name: str, values: Any) -> list[Any]:
    """Several values; SettingError where there is but one, by itself."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SettingError(f"{name} {values!r} is one value", f"Give a list: [{values!r}].")
    return list(values)


def check_different(name: str, values: tuple[Any, ...]) -> None:
    """Raise SettingError where there is no value, or one twice."""
    if not values:
        raise SettingError(f"{name} has no value to try", "Give one or more.")
    for place, value in enumerate(values):
        if value in values[:place]:
            raise SettingError(
                f"{name} {value_in_words(value)} is there twice", "Leave one of them out."
            )


def name_of(settings: Mapping[str, Any]) -> str:
    """The settings as the name of a file on any system: letters, digits and ``=,-.`` alone."""
    whole = in_words(settings)
    if len(whole) <= LONGEST:
        return whole
    end = f"..{sha256(whole.encode()).hexdigest()[:12]},seed={settings['seed']}"
    return whole[: LONGEST - len(end)] + end


def in_words(settings: Mapping[str, Any]) -> str:
    """The settings on a line; "defaults" where there are none."""
    pieces = [
        f"{option_of(name).lstrip('-')}={value_in_words(value)}" for name, value in settings.items()
    ]
    return ",".join(pieces) or "defaults"


def value_in_words(value: Any) -> str:
    """A value as it is typed; no two values are typed alike."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).removesuffix(".0")


SCHEMA = "charrnn.sweep.run/1"
FAILED = ("diverged", "failed")


@dataclass(frozen=True)
class Result:
    """A run that is over, for better or worse."""

    name: str
    settings: dict[str, Any]  # those that were tried
    seed: int
    best_step: int | None
    nats_per_character: float | None  # held out, at its best; None where the run has failed
    model: str | None  # the file
    seconds: float
    stopped: str  # epochs, minutes, patience; diverged, failed
    error: str | None = None
    parts: dict[str, dict[str, float]] = field(default_factory=dict)  # where counts are mixed in

    @property
    def has_failed(self) -> bool:
        """Whether it came to nothing."""
        return self.stopped in FAILED

    @property
    def loss(self) -> float:
        """What it is compared by: the held-out loss of all that it has; infinite if it failed."""
        if self.nats_per_character is None:
            return math.inf
        both = self.parts.get("both")
        return self.nats_per_character if both is None else both["nats_per_character"]

    def as_json(self) -> dict[str, Any]:
        """The row."""
        row = asdict(self)
        best = {"step": row.pop("best_step"), "nats_per_character": row.pop("nats_per_character")}
        parts = row.pop("parts")
        first = {name: row.pop(name) for name in ("name", "settings", "seed")}
        whole = {"schema": SCHEMA, **first, "best": best, **row}
        return {**whole, "parts": parts} if parts else whole


def failed(trial: Trial, why: str, stopped: str = "failed", seconds: float = 0.0) -> Result:
    """The result of a run that came to nothing."""
    return Result(
        trial.name, trial.settings, trial.seed, None, None, None, seconds, stopped, error=why
    )


def from_json(row: Mapping[str, Any]) -> Result:
    """The result in a row; KeyError, TypeError or ValueError where it is none."""
    if row["schema"] != SCHEMA:
        raise ValueError("of another kind")
    nats = row["best"]["nats_per_character"]
    if not isinstance(row["settings"], dict) or not isinstance(row["name"], str):
        raise TypeError("neither settings nor a name")
    return Result(
        row["name"],
        row["settings"],
        int(row["seed"]),
        row["best"]["step"],
        None if nats is None else float(nats),
        row["model"],
        float(row["seconds"]),
        str(row["stopped"]),
        row["error"],
        dict(row.get("parts", {})),
    )


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
