"""Sums of surprisals over a text, their means, and the difference of two losses on the same text.

Surprisals are whole units far below any digit shown, and their sums are sums of integers. So the
order of a sum and the way a text is split do not change it.

    d = sum D / sum n        standard error = sqrt(m / (m - 1) * sum (D - d n)^2) / sum n

D are the nats of one predictor less those of the other, and n the symbols, of each of m units. The
units are examples; if these are few, the long ones are cut into blocks of symbols. A pair cancels
the part of the surprisal that both predictors share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from charrnn.network.rounding import UNIT
from charrnn.reading import END_CODE
from charrnn.text import visible_in_html
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids

NATS_IN_A_BIT: Final = math.log(2)
BITS: Final = 1 / math.log(2)  # in a nat
LONGER: Final = (0x80, 0x800, 0x10000)  # code points from which UTF-8 takes a byte more
MOST_NATS: Final = 1e6  # a sum that surely fits into 64 bits when in units
LARGEST: Final = 709.0  # nats whose perplexity is still a float
LOW_BITS: Final = 20  # of a cost in units, summed apart from the others
BLOCK: Final = 256  # symbols, at most, of the units of long examples
FEW: Final = 30  # examples: with fewer, long ones are cut
MOST: Final = 1 << 17  # units in memory; neighbours are then joined
CLEAR: Final = 2.0  # standard errors
UNCLEAR: Final = "no clear difference (less than two standard errors)"
BLOCKS: Final = 64  # of a text whose costs are kept
DIGITS: Final = 4  # of those costs


def sum_of_units(nats: NDArray[np.floating]) -> int:
    """Return the exact sum, in units, of nats that are whole units."""
    units = nats * (1 / UNIT)
    huge = np.abs(units) >= 1 << 62
    if huge.any():
        return sum(map(int, units[huge].tolist())) + sum_of_units(nats[~huge])
    whole = units.astype(np.int64)
    low = whole & ((1 << LOW_BITS) - 1)
    return (int((whole >> LOW_BITS).sum()) << LOW_BITS) + int(low.sum())


def sums_of_units(nats: NDArray[np.floating], starts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the exact sum of the nats from each start to the next."""
    units = nats * (1 / UNIT)
    if float(np.abs(units).sum()) < 1 << 53:  # sums of floats are exact, as nearly always
        return np.add.reduceat(nats, starts)
    return np.array([sum_of_units(part) * UNIT for part in np.split(nats, starts[1:])])


@dataclass(frozen=True)
class Mean:
    """Nats and the number of symbols that they are spread over; NaN for no symbols."""

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
        """The number of equally likely symbols with the same surprisal."""
        return math.exp(min(self.nats_per_character, LARGEST))

    def per_character(self) -> dict[str, float]:
        return {
            "nats_per_character": self.nats_per_character,
            "bits_per_character": self.bits_per_character,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the sum, nats and bits per symbol and the perplexity, "-" for means of nothing."""
        if not self.count:
            return f"{self.nats:,.1f}", "-", "-", "-"
        means = self.nats_per_character, self.bits_per_character
        return f"{self.nats:,.1f}", *(f"{mean:.3f}" for mean in means), f"{self.perplexity:,.2f}"

    def loss(self) -> dict[str, float]:
        return {**self.per_character(), "perplexity": self.perplexity}

    def figures(self) -> dict[str, float]:
        return {"nats": self.nats, **self.loss()}


@dataclass(frozen=True, repr=False)
class Score:
    """The surprisal of a text. Scores can be added."""

    characters: int = 0
    ends: int = 0
    unknown: int = 0  # characters that the model has never seen
    units: int = 0  # of nats, for everything
    units_of_ends: int = 0
    units_of_unknown: int = 0
    bytes: int = 0  # of the characters in UTF-8; 0 if only their ids are known

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __repr__(self) -> str:
        ends = f"{self.ends:,} end{'' if self.ends == 1 else 's'}"
        size = f"{self.characters:,} character{'' if self.characters == 1 else 's'} and {ends}"
        mean = f"{self.nats_per_character:.4f} nats per character"
        return f"<charrnn.Score: {mean}, {self.nats:.1f} nats for {size}>"

    @property
    def nats(self) -> float:
        """The surprisal of the whole text, ENDs included."""
        return self.units * UNIT

    @property
    def overall(self) -> Mean:
        """The mean over characters and ENDs: the headline."""
        return Mean(self.nats, self.characters + self.ends)

    @property
    def without_end(self) -> Mean:
        """The mean over the characters alone."""
        return Mean((self.units - self.units_of_ends) * UNIT, self.characters)

    @property
    def without_unknown(self) -> Mean:
        """The mean over ENDs and the characters in the vocabulary."""
        count = self.characters + self.ends - self.unknown
        return Mean((self.units - self.units_of_unknown) * UNIT, count)

    @property
    def ending(self) -> Mean:
        """The mean surprisal of an END."""
        return Mean(self.units_of_ends * UNIT, self.ends)

    @property
    def nats_per_character(self) -> float:
        """The loss: the mean surprisal of a character or END, in nats."""
        return self.overall.nats_per_character

    @property
    def bits_per_character(self) -> float:
        """The loss in bits."""
        return self.overall.bits_per_character

    @property
    def perplexity(self) -> float:
        """e to the power of the loss in nats."""
        return self.overall.perplexity

    @property
    def bits_per_byte(self) -> float:
        """Bits of the whole text for each UTF-8 byte of its characters."""
        return self.nats / NATS_IN_A_BIT / self.bytes if self.bytes else math.nan

    def _repr_html_(self) -> str:
        means = {"all": self.overall, "without the ends": self.without_end}
        means |= {"without unknown characters": self.without_unknown} if self.unknown else {}
        rows = [(name, f"{mean.count:,}", *mean.cells()) for name, mean in means.items()]
        return table(rows, ("", "symbols", "nats", "nats each", "bits each", "perplexity"))

    def figures(self) -> dict[str, object]:
        """Return all figures by name, as JSON has them."""
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


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return an HTML table; the first cell of each row is its heading."""

    def cell(text: str) -> str:
        return escape(visible_in_html(text))

    lines = ["".join(f"<th>{cell(name)}</th>" for name in head)] if head else []
    for name, *cells in rows:
        columns = "".join(f"<td>{cell(text)}</td>" for text in cells)
        lines.append(f'<th style="text-align:left">{cell(name)}</th>{columns}')
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def tally(ids: Ids, nats: NDArray[np.floating], codes: Codes | None = None) -> Score:
    """Return the sums over symbols with these nats; with their code points, also the bytes."""
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


def tally_examples(ids: Ids, nats: NDArray[np.float64], codes: Codes) -> list[Score]:
    """Return the sums over each example and over the symbols after the last END, if any."""
    ends, unknown = ids == END, ids == UNKNOWN
    starts = np.concatenate([[0], np.flatnonzero(ends[:-1]) + 1])
    if float(nats.sum()) > MOST_NATS:
        bounds = pairwise([*starts.tolist(), len(ids)])
        return [tally(ids[i:j], nats[i:j], codes[i:j]) for i, j in bounds]
    units = (nats * (1 / UNIT)).astype(np.int64)
    size = np.where(ends, 0, 1 + sum((codes >= first).astype(np.int64) for first in LONGER))
    columns = (~ends, ends, unknown, units, units * ends, units * unknown, size)
    sums = [np.add.reduceat(column, starts, dtype=np.int64).tolist() for column in columns]
    return [Score(*row) for row in zip(*sums, strict=True)]


def bytes_of(codes: Codes) -> int:
    """Return the number of UTF-8 bytes of the characters, without ENDs."""
    characters = codes[codes != END_CODE]
    return len(characters) + sum(int(np.count_nonzero(characters >= first)) for first in LONGER)


class Difference(NamedTuple):
    """The nats per character of one predictor less those of another."""

    nats_per_character: float
    standard_error: float  # NaN for fewer than two units

    @property
    def is_worse(self) -> bool:
        return self.nats_per_character > 0 and not self.may_be_chance

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
            return f"{nats} {other} (standard error unknown)"
        if self.may_be_chance:
            return f"no clear difference from {other}: {nats}, standard error {error:.3f}"
        return f"{nats} {other} (standard error {error:.3f})"

    def compared(self, other: str) -> str:
        """Return how a network's loss compares with that of counting."""
        return f"{'worse than counting: ' if self.is_worse else ''}{self.in_words(other)}"


def json_of(difference: Difference | None) -> dict[str, float | None]:
    """Return a difference for JSON; nothing for None."""
    return {} if difference is None else difference.as_json()


def moments(nats: ArrayLike, symbols: ArrayLike) -> NDArray[np.float64]:
    """Return the number of units and the sums of n, D, n n, n D and D D; all can be added."""
    d, n = np.asarray(nats, np.float64), np.asarray(symbols, np.float64)
    return np.array([len(d), n.sum(), d.sum(), n @ n, n @ d, d @ d])


def paired(moments: NDArray[np.float64]) -> Difference:
    """Return the mean of differences of units in nats over all of their symbols."""
    count, n, d, nn, nd, dd = moments.tolist()
    mean = d / n if n else math.nan
    if count < 2:
        return Difference(mean, math.nan)
    squares = max(0.0, dd - 2 * mean * nd + mean * mean * nn)
    return Difference(mean, math.sqrt(squares * count / (count - 1)) / n)


class Pairing:
    """Sums of the differences over the units of a text that streams by."""

    def __init__(self) -> None:
        self._units: NDArray[np.float64] = np.zeros((0, 3))  # nats, symbols, examples that end
        self._begun = np.zeros(3)  # the unit that has begun
        self._read = 0  # symbols
        self.of_others: NDArray[np.float64] = np.zeros(6)  # moments of other parts of the text

    def add(self, ids: Ids, nats: NDArray[np.float64]) -> None:
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
    def moments(self) -> NDArray[np.float64]:
        units = whole(self._units)
        if self._begun[1]:
            units = np.concatenate([units, self._begun[None]])
        return self.of_others + moments(units[:, 0], units[:, 1])

    @property
    def difference(self) -> Difference:
        return paired(self.moments)


def whole(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return examples in place of parts of them, unless examples are few."""
    ended = np.cumsum(units[:, 2])
    if len(units) < 2 or ended[-1] < FEW:
        return units
    starts = np.flatnonzero(np.diff(ended - units[:, 2], prepend=-1))
    return np.add.reduceat(units, starts)


def block_means(nats: NDArray[np.float64]) -> list[float]:
    """Return the means of the surprisals over a few blocks of a text, all of about one size."""
    blocks = np.array_split(nats, min(BLOCKS, len(nats)))
    return [round(float(block.mean()), DIGITS) for block in blocks]


def difference_of(ids: Ids, nats: NDArray[np.float64], other: NDArray[np.float64]) -> Difference:
    """Return the difference of two predictors on the same symbols."""
    pairing = Pairing()
    pairing.add(ids, nats - other)
    return pairing.difference
