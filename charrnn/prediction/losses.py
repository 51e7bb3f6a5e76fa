"""Sums and means of surprisals, their differences, and the oddest example.

The difference of two losses on the same text:

    d = sum D / sum n        standard error = sqrt(m / (m - 1) * sum (D - d n)^2) / sum n

D are the nats of one predictor less those of the other, and n the symbols, of each of m units. The
units are examples; if these are few, the long ones are cut into blocks of symbols. A pair cancels
the part of the surprisal that both predictors share.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array64
from charrnn.prediction.predictor import Costs
from charrnn.system.visible import count
from charrnn.text.counts import SCORED, Baseline
from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import END, UNKNOWN, Ids

BITS: Final = 1 / math.log(2)  # in a nat
LARGEST_NATS: Final = 709.0  # whose perplexity is still a float
LONGEST_UNIT: Final = 256  # symbols of a unit, where long examples are cut
FEW_EXAMPLES: Final = 30  # with fewer, long ones are cut
ENOUGH_EXAMPLES: Final = 20  # held out, from which the oddest is known
CLEAR_ERRORS: Final = 2.0  # standard errors from which a difference is clear


def in_bits(nats: float) -> str:
    """Return a loss in bits as screens and pages show it."""
    return f"{nats * BITS:.3f}"


@dataclass(frozen=True)
class Mean:
    """Nats and the number of symbols that they are spread over; means are NaN for no symbols."""

    nats: float = 0.0
    count: int = 0

    @property
    def nats_per_character(self) -> float:
        """The loss: the mean surprisal of a character or END, in nats."""
        return self.nats / self.count if self.count else math.nan

    @property
    def bits_per_character(self) -> float:
        """The loss in bits."""
        return self.nats_per_character * BITS

    @property
    def perplexity(self) -> float:
        """The number of equally likely symbols with the same surprisal."""
        return math.exp(min(self.nats_per_character, LARGEST_NATS))

    def per_character(self) -> dict[str, float]:
        """Return the loss in both units."""
        nats, bits = self.nats_per_character, self.bits_per_character
        return {"nats_per_character": nats, "bits_per_character": bits}

    def loss(self) -> dict[str, float]:
        """Return the loss in all units."""
        return self.per_character() | {"perplexity": self.perplexity}


@dataclass(frozen=True, repr=False)
class Score(Mean):
    """The surprisal of a text. Scores can be added."""

    ends: int = 0
    unknown: int = 0  # characters that the model has never seen
    nats_of_ends: float = 0.0
    bytes: int = 0  # of the characters in UTF-8; 0 if only their ids are known

    def __add__(self, other: "Score") -> "Score":
        return Score(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __radd__(self, start: int) -> "Score":
        return self if start == 0 else NotImplemented  # which ``sum`` begins with

    def __repr__(self) -> str:
        size = f"{count(self.characters, 'character')} and {count(self.ends, 'end')}"
        mean = f"{self.nats_per_character:.4f} nats per character"
        return f"<charrnn.Score: {mean}, {self.nats:.1f} nats for {size}>"

    @property
    def characters(self) -> int:
        """Symbols without ENDs."""
        return self.count - self.ends

    @property
    def without_end(self) -> Mean:
        """The mean over the characters alone."""
        return Mean(self.nats - self.nats_of_ends, self.characters)

    @property
    def bits_per_byte(self) -> float:
        """Bits of the whole text for each UTF-8 byte of its characters."""
        return self.nats * BITS / self.bytes if self.bytes else math.nan

    def figures(self) -> dict[str, object]:
        """Return all figures by name, as JSON has them."""
        names = ("characters", "ends", "unknown", "bytes", "nats")
        figures: dict[str, object] = {name: getattr(self, name) for name in names} | self.loss()
        figures["without_end"] = {"nats": self.without_end.nats, **self.without_end.loss()}
        return figures | {"bits_per_byte": self.bits_per_byte}


def tally(ids: Ids, nats: NDArray[np.floating]) -> Score:
    """Return the sums over symbols with these nats."""
    is_end = ids == END
    ends, unknown = int(np.count_nonzero(is_end)), int(np.count_nonzero(ids == UNKNOWN))
    total, of_ends = nats.sum(dtype=np.float64), nats[is_end].sum(dtype=np.float64)
    return Score(float(total), len(ids), ends, unknown, float(of_ends))


class Difference(NamedTuple):
    """The nats per character of one predictor less those of another."""

    nats_per_character: float
    standard_error: float  # NaN for fewer than two units

    @property
    def may_be_chance(self) -> bool:
        """Return True if this is within two standard errors, or if these are unknown."""
        is_clear = abs(self.nats_per_character) > CLEAR_ERRORS * self.standard_error
        return not is_clear  # NaN is not clear

    def figures(self) -> dict[str, float]:
        return {"difference": self.nats_per_character, "standard_error": self.standard_error}


def losses_of_baselines(nats: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the loss of each baseline in both units, for JSON."""
    return {name: Mean(loss, 1).per_character() for name, loss in nats.items()}


def difference_of(ids: Ids, nats: Array64, reference: Array64) -> Difference:
    """Return the difference of two predictors on the same symbols."""
    if not len(ids):
        return Difference(math.nan, math.nan)
    is_last = ids == END  # of a unit
    if np.count_nonzero(is_last) < FEW_EXAMPLES:
        is_last = is_last | (np.arange(len(ids)) % LONGEST_UNIT == LONGEST_UNIT - 1)
    is_last[-1] = True
    stops = np.flatnonzero(is_last) + 1
    starts = np.append(0, stops[:-1])
    D, n = np.add.reduceat(nats - reference, starts), stops - starts
    d, m = float(D.sum() / n.sum()), len(D)
    if m < 2:
        return Difference(d, math.nan)
    residuals = D - d * n
    return Difference(d, math.sqrt(m / (m - 1) * float(residuals @ residuals)) / float(n.sum()))


def difference_from(baseline: Baseline, ids: Ids, nats: Array64) -> Difference:
    """Return how the loss of a predictor of a text differs from that of a baseline."""
    places, is_counted = excerpt_of(ids, SCORED)
    at = places[is_counted]
    return difference_of(ids[at], nats[at], baseline.nats)


def oddest(ids: Ids, costs: Costs) -> dict[str, float]:
    """Return the most nats per character of an example by use; nothing for few examples."""
    stops = np.flatnonzero(ids == END) + 1
    sizes = np.diff(stops, prepend=0)
    if len(stops) < ENOUGH_EXAMPLES:
        return {}
    totals = {use: np.add.reduceat(nats, stops - sizes) for use, nats in costs.items()}
    return {use: float((of_examples / sizes).max()) for use, of_examples in totals.items()}
