"""What a sweep can try, and its seeds, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from charrnn.settings.common import SEED
from charrnn.settings.fields import settings_of
from charrnn.settings.training import TrainConfig

MOST = 1 << 16  # seeds
FIXED = ("seed", "workers")  # settings of a run that a sweep decides


def words_to_try() -> dict[str, str]:
    """The settings that can be tried, by what is typed for them."""
    return {
        one.options(name)[-1].partition("/")[0].lstrip("-"): name
        for name, one in settings_of(TrainConfig).items()
        if name not in FIXED
    }


@dataclass(frozen=True)
class Seeds:
    """Seeds, and ranges of them, with commas between."""

    metavar: str = "N-N"
    allowed: str = (
        f"seeds such as 0-4 or 1,5,7: each of them once, from low to high, {MOST:,} at most"
    )

    def plain(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, tuple) or not value:
            raise ValueError("no seeds")
        return tuple(SEED.plain(one) for one in value)

    def read(self, typed: Any) -> tuple[int, ...]:
        found: list[int] = []
        for piece in str(typed).split(","):
            first, dash, last = piece.partition("-")
            low, high = int(first), int(last if dash else first)
            if not 0 <= high - low < MOST - len(found):
                raise ValueError("no seeds, or too many")
            found += range(low, high + 1)
        if len(set(found)) < len(found):
            raise ValueError("a seed is there twice")
        return tuple(found)
