"""Sums over a text, in nats and in counts: added like numbers, and divided only at the very end.

What a symbol costs is rounded to a whole number of units, far below what anybody reads. So sums are
sums of integers, and the same in whatever order and in how many parts they are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE
from charrnn.network.rounding import UNIT
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids

NATS_IN_A_BIT: Final = math.log(2)
LONGER: Final = (0x80, 0x800, 0x10000)  # code points from which UTF-8 takes a byte more
LARGEST_AT_ONCE: Final = 1e6  # nats whose sums in units are no larger than an integer of 64 bits
LARGEST: Final = 709.0  # nats whose perplexity is still a float
HALF: Final = 20  # bits of a cost in units that are added up apart from the others


def sum_of_units(nats: NDArray[np.floating]) -> int:
    """The sum of what was rounded to whole units, in units."""
    units = nats * (1 / UNIT)
    huge = np.abs(units) >= 1 << 62
    if huge.any():
        return sum(map(int, units[huge].tolist())) + sum_of_units(nats[~huge])
    whole = units.astype(np.int64)
    return (int((whole >> HALF).sum()) << HALF) + int((whole & ((1 << HALF) - 1)).sum())


def sums_of_units(nats: NDArray[np.floating], starts: NDArray[np.integer]) -> NDArray[np.float64]:
    """The nats from each start to the next, added up as exactly."""
    units = nats * (1 / UNIT)
    if float(np.abs(units).sum()) < 1 << 53:  # as nearly always, no sum of floats is rounded
        return np.add.reduceat(nats, starts)
    parts = np.split(nats, starts[1:])
    return np.array([sum_of_units(part) * UNIT for part in parts])


@dataclass(frozen=True)
class Mean:
    """So many nats over so many symbols; NaN where there are none."""

    nats: float
    count: int

    @property
    def nats_per_character(self) -> float:
        return self.nats / self.count if self.count else math.nan

    @property
    def bits_per_character(self) -> float:
        return self.nats_per_character / NATS_IN_A_BIT

    @property
    def perplexity(self) -> float:
        """Among how many equally likely symbols one would be as unsure."""
        return math.exp(min(self.nats_per_character, LARGEST))

    def per_character(self) -> dict[str, float]:
        """The mean by name."""
        return {
            "nats_per_character": self.nats_per_character,
            "bits_per_character": self.bits_per_character,
        }

    def in_words(self) -> tuple[str, ...]:
        """The sum, nats and bits for each, the perplexity; "-" for means of nothing."""
        if not self.count:
            return f"{self.nats:,.1f}", "-", "-", "-"
        each = self.nats_per_character, self.bits_per_character
        return f"{self.nats:,.1f}", *(f"{mean:.3f}" for mean in each), f"{self.perplexity:,.2f}"

    def figures(self) -> dict[str, float]:
        """All of it by name."""
        return {"nats": self.nats, **self.per_character(), "perplexity": self.perplexity}


@dataclass(frozen=True)
class Score:
    """What a text cost."""

    characters: int = 0
    ends: int = 0
    unknown: int = 0  # of the characters: those that the model had never seen
    units: int = 0  # of nats, for all of it
    units_of_ends: int = 0
    units_of_unknown: int = 0
    bytes: int = 0  # of the characters in UTF-8; 0 where only their ids were at hand

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def nats(self) -> float:
        """What all of it cost."""
        return self.units * UNIT

    @property
    def overall(self) -> Mean:
        """Over characters and ENDs: the headline."""
        return Mean(self.nats, self.characters + self.ends)

    @property
    def without_end(self) -> Mean:
        """Over the characters alone."""
        return Mean((self.units - self.units_of_ends) * UNIT, self.characters)

    @property
    def without_unknown(self) -> Mean:
        """Over characters and ENDs, but for those never seen before."""
        count = self.characters + self.ends - self.unknown
        return Mean((self.units - self.units_of_unknown) * UNIT, count)

    @property
    def ending(self) -> Mean:
        """What ENDs cost, over examples."""
        return Mean(self.units_of_ends * UNIT, self.ends)

    @property
    def nats_per_character(self) -> float:
        return self.overall.nats_per_character

    @property
    def bits_per_character(self) -> float:
        return self.overall.bits_per_character

    @property
    def perplexity(self) -> float:
        return self.overall.perplexity

    @property
    def bits_per_byte(self) -> float:
        """All bits, for each byte that the characters have in UTF-8."""
        return self.nats / NATS_IN_A_BIT / self.bytes if self.bytes else math.nan

    def _repr_html_(self) -> str:
        """A table in a notebook."""
        from charrnn.scoring.heat_map import table  # which is for notebooks alone

        means = {"all": self.overall, "without the ends": self.without_end}
        means |= {"without what is unknown": self.without_unknown} if self.unknown else {}
        rows = [(name, f"{mean.count:,}", *mean.in_words()) for name, mean in means.items()]
        return table(rows, ("", "symbols", "nats", "nats each", "bits each", "perplexity"))

    def figures(self) -> dict[str, object]:
        """All of it by name, for programs to read."""
        return {
            "characters": self.characters,
            "ends": self.ends,
            "unknown": self.unknown,
            "bytes": self.bytes,
            **self.overall.figures(),
            "without_end": self.without_end.figures(),
            "without_unknown": self.without_unknown.figures(),
            "bits_per_byte": self.bits_per_byte,
        }


def tally(ids: Ids, nats: NDArray[np.floating], codes: Codes | None = None) -> Score:
    """The sums over symbols whose nats are known; bytes, if their code points are known too."""
    ends, unknown = ids == END, ids == UNKNOWN
    count = int(np.count_nonzero(ends))
    return Score(
        characters=len(ids) - count,
        ends=count,
        unknown=int(np.count_nonzero(unknown)),
        units=sum_of_units(nats),
        units_of_ends=sum_of_units(nats[ends]),
        units_of_unknown=sum_of_units(nats[unknown]),
        bytes=0 if codes is None else bytes_of(codes),
    )


def tallies(ids: Ids, nats: NDArray[np.float64], codes: Codes) -> list[Score]:
    """The sums over each example, and over what comes after the last END, if anything does."""
    ends, unknown = ids == END, ids == UNKNOWN
    starts = np.concatenate([[0], np.flatnonzero(ends[:-1]) + 1])
    if float(nats.sum()) > LARGEST_AT_ONCE:
        bounds = pairwise([*starts.tolist(), len(ids)])
        return [tally(ids[i:j], nats[i:j], codes[i:j]) for i, j in bounds]
    units = (nats * (1 / UNIT)).astype(np.int64)
    size = np.where(ends, 0, 1 + sum((codes >= more).astype(np.int64) for more in LONGER))
    columns = (~ends, ends, unknown, units, units * ends, units * unknown, size)
    sums = [np.add.reduceat(column, starts, dtype=np.int64).tolist() for column in columns]
    return [Score(*row) for row in zip(*sums, strict=True)]


def bytes_of(codes: Codes) -> int:
    """How many bytes the characters have in UTF-8, their ENDs left out."""
    characters = codes[codes != END_CODE]
    return len(characters) + sum(int(np.count_nonzero(characters >= more)) for more in LONGER)
