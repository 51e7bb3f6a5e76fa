"""The difference of two losses on the same text, and its standard error.

    d = sum D / sum n        standard error = sqrt(m / (m - 1) * sum (D - d n)^2) / sum n

D are the nats of one predictor less those of the other, and n the symbols, of each of m units. The
units are examples; if these are few, the long ones are cut into blocks of symbols. A pair cancels
the part of the surprisal that both predictors share.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from charrnn.scoring.pieces import Floats
from charrnn.vocabulary import END, Ids

BLOCK: Final = 256  # symbols, at most, of the units of long examples
FEW: Final = 30  # examples: with fewer, long ones are cut
MOST: Final = 1 << 17  # units in memory; neighbours are then joined
CLEAR: Final = 2.0  # standard errors
UNCLEAR: Final = "no clear difference (less than two standard errors)"
BLOCKS: Final = 64  # of a text whose costs are kept
DIGITS: Final = 4  # of those costs


class Difference(NamedTuple):
    """The nats per character of one predictor less those of another."""

    nats_per_character: float
    standard_error: float  # NaN for fewer than two units

    @property
    def is_clear(self) -> bool:
        return abs(self.nats_per_character) > CLEAR * self.standard_error

    @property
    def may_be_chance(self) -> bool:
        """Return True if the standard error is known and the difference is not clear."""
        return abs(self.nats_per_character) <= CLEAR * self.standard_error

    def as_json(self) -> dict[str, float | None]:
        d, error = self
        return {
            "difference": None if math.isnan(d) else d,
            "standard_error": None if math.isnan(error) else error,
        }

    def in_words(self, other: str) -> str:
        """Return how the loss compares with the ``other`` one."""
        d, error = self
        nats = f"{abs(d):.3f} nats {'below' if d < 0 else 'above'}"
        if math.isnan(error):
            return f"{nats} {other}"
        if self.is_clear:
            return f"{nats} {other} (standard error {error:.3f})"
        return f"no clear difference from {other}: {nats}, standard error {error:.3f}"

    def compared(self, other: str) -> str:
        """Return how a network's loss compares with that of counting."""
        is_worse = self.nats_per_character > 0 and not self.may_be_chance
        return f"{'worse than counting: ' if is_worse else ''}{self.in_words(other)}"


def json_of(difference: Difference | None) -> dict[str, float | None]:
    """Return a difference for JSON; nothing for None."""
    return {} if difference is None else difference.as_json()


def paired(nats: ArrayLike, symbols: ArrayLike) -> Difference:
    """Return the mean of differences of units in nats over all of their symbols."""
    differences, sizes = np.asarray(nats, np.float64), np.asarray(symbols, np.float64)
    total, count = float(sizes.sum()), len(sizes)
    mean = float(differences.sum()) / total if total else math.nan
    if count < 2:
        return Difference(mean, math.nan)
    squares = float(np.square(differences - mean * sizes).sum())
    return Difference(mean, math.sqrt(squares * count / (count - 1)) / total)


class Pairing:
    """Sums of the differences over the units of a text that streams by."""

    def __init__(self) -> None:
        self._units: NDArray[np.float64] = np.zeros((0, 3))  # nats, symbols, examples that end
        self._begun = np.zeros(3)  # the unit that has begun
        self._read = 0  # symbols

    def add(self, ids: Ids, nats: Floats) -> None:
        """Add the differences at these symbols; symbols without any (from workers) are ignored."""
        if not len(ids):
            return
        ends = ids == END
        self._read += len(ids)
        last = ends | (np.arange(self._read - len(ids), self._read) % BLOCK == BLOCK - 1)
        sums = np.cumsum(np.stack([nats, np.ones(len(ids)), ends], 1), 0) + self._begun
        stops = sums[last]
        self._begun = sums[-1] - (stops[-1] if len(stops) else 0)
        self._units = np.concatenate([self._units, np.diff(stops, axis=0, prepend=0)])
        while len(self._units) > MOST:  # at the same places in any blocks
            units, rest = whole(self._units[:MOST]), self._units[MOST:]
            pairs = np.add.reduceat(units, np.arange(0, len(units), 2))
            self._units = np.concatenate([pairs, rest])

    @property
    def difference(self) -> Difference:
        units = whole(self._units)
        if self._begun[1]:
            units = np.concatenate([units, self._begun[None]])
        return paired(units[:, 0], units[:, 1])


def whole(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return examples in place of parts of them, unless examples are few."""
    ended = np.cumsum(units[:, 2])
    if len(units) < 2 or ended[-1] < FEW:
        return units
    starts = np.flatnonzero(np.diff(ended - units[:, 2], prepend=-1))
    return np.add.reduceat(units, starts)


def block_means(nats: Floats) -> list[float]:
    """Return the means of the surprisals over a few blocks of a text, all of about one size."""
    blocks = np.array_split(nats, min(BLOCKS, len(nats)))
    return [round(float(block.mean()), DIGITS) for block in blocks]


def difference_of(ids: Ids, nats: Floats, other: Floats) -> Difference:
    """Return the difference of two predictors on the same symbols."""
    pairing = Pairing()
    pairing.add(ids, nats - other)
    return pairing.difference
