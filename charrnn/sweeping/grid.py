"""What is tried: some values of some settings, every combination of them from every seed.

    tried {"hidden": (64, 128), "lr": (0.002,)}, seeds (0, 1)

    hidden=64,lr=0.002,seed=0      hidden=128,lr=0.002,seed=0
    hidden=64,lr=0.002,seed=1      hidden=128,lr=0.002,seed=1

All combinations from one seed come before the next seed: they learn from the same examples, and
what is better shows early.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from charrnn.errors import SettingError
from charrnn.settings.fields import check, option_of, settings_of
from charrnn.settings.sweeping import FIXED
from charrnn.settings.training import TrainConfig

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
