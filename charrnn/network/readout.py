"""From the top state to a distribution over symbols, and its loss.

    o = c + V h                           (10.10)
    y_hat = softmax of the logits         (10.11)  which the head makes of o
    L = -log y_hat at y                   (10.14)
    dL/do                                 (10.18)  the head's
    dL/dh = V' dL/do                      (10.19, and its part of 10.21)

Rows are independent here, so they are taken in blocks: with 65 symbols a window is one block, with
5,000 the block shrinks, and nothing of size rows x symbols is ever made.

The softmax, written once: for training, for scores and for what is drawn.

y_hat = exp logit / sum of exp        (10.11)
L = log sum of exp - logit at y       (10.14)

The readout as scores need it: no gradient, nothing rounded by chance, the rank of what came.

    o = c + V h                           (10.10)  exact, on the grid
    L = log sum exp - logit at y          (10.14)  each row by itself

and so the same for one row as for many, and as where a text is drawn. Where there is no grid, it
has float64 all the same where symbols are few, for a text of few symbols may be known nearly to
certainty, or where it is a small part of the work.

Room for the characters that were never seen, in what a network says of those that were.

With the chance ``novelty``, estimated from how many characters the corpus shows just once, the next
character is one of those never seen, each as likely as the other; with the rest of the chance it is
what the network says. So a model is a distribution over all texts there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network.architecture import Architecture
from charrnn.network.layer import SMALL
from charrnn.network.parameters import Array, Integers, LanguageModel, Parameters
from charrnn.network.rounding import Array64, in_units
from charrnn.vocabulary import END, UNKNOWN, Ids


def set_aside(logits: Array, column: int) -> Array:
    """Take a column out of the logits: it becomes -inf, and the largest of what is left in each
    row 0. What stood there comes back, (R,), on the same scale.

    The softmax does not notice, and exp cannot overflow.
    """
    aside = logits[:, column].copy()
    logits[:, column] = -np.inf
    most: Array = np.maximum.reduce(logits, 1)
    np.subtract(logits, most[:, None], logits)
    aside -= most
    return aside


def normalise(logits: Array, ones: Array | None = None) -> Array:
    """The sum of exp over each row (R,); exp itself stands in the place of the logits.

    A product with ones adds up in a third of the time, and in another order for one row than for
    many. Without them each row is added up by itself.
    """
    np.exp(logits, logits)
    sums: Array = np.add.reduce(logits, 1) if ones is None else logits @ ones
    return sums


BLOCK = 1 << 20  # numbers in the largest block of outputs
SAFE = 60.0  # exp(60) times a million symbols is still a float32


class Readout:
    """The buffers for so many symbols, and what is done in them."""

    def __init__(self, architecture: Architecture, rows: int, dtype: DTypeLike) -> None:
        self.head = architecture.head
        symbols = architecture.symbols
        self.rows = min(rows, max(16, BLOCK // symbols))
        self.o: Array = np.empty((self.rows, symbols), dtype)
        self.ones: Array = np.ones(max(self.rows, symbols), dtype)
        self.first = np.arange(self.rows) * symbols  # where each row of o begins

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """L for each row: h (R, H), y (R,) -> (R,)."""
        every = np.empty(len(y), h.dtype)
        bounded = is_bounded(p, reach=p.architecture.state_bounds[0])
        for rows in self._blocks(len(y)):
            every[rows], _ = self._losses(p, h[rows], y[rows], bounded)
        return every

    def nats_and_gradient(
        self,
        p: Parameters,
        h: Array,  # (R, H)
        y: Integers,  # (R,)
        weight: float,  # of a row's loss in the whole
        idle: Integers | None,  # rows that count for nothing
        reach: float,  # no |h| is larger
        gradient: Parameters,
        d_h: Array,  # (R, H)
    ) -> float:
        """The sum of L over the rows; the gradient goes to gradient["V"], ["c"] and d_h."""
        V, d_V, d_c = p["V"], gradient["V"], gradient["c"]
        total = 0.0
        bounded = is_bounded(p, reach)
        d_V[...] = 0
        d_c[...] = 0
        for rows in self._blocks(len(y)):
            losses, sums = self._losses(p, h[rows], y[rows], bounded)
            d_o = self.o[: len(losses)]
            d_o *= (weight / sums)[:, None]  # y_hat (10.11), weighted
            self.head.gradient(d_o, self.first[: len(d_o)] + y[rows], weight)  # (10.18)
            if idle is not None:
                here = idle[(idle >= rows.start) & (idle < rows.stop)] - rows.start
                d_o[here] = 0
                losses[here] = 0
            total += float(losses.sum(dtype=np.float64))
            np.matmul(d_o, V, out=d_h[rows])  # (10.19)
            d_V += d_o.T @ h[rows]  # (10.24)
            d_c += self.ones[: len(d_o)] @ d_o  # (10.22)
        return total

    def _blocks(self, rows: int) -> Iterator[slice]:
        return (slice(at, min(at + self.rows, rows)) for at in range(0, rows, self.rows))

    def _losses(self, p: Parameters, h: Array, y: Integers, bounded: bool) -> tuple[Array, Array]:
        """L of each row, and the sum of exp over it, which stands in the place of the outputs."""
        o = self.o[: len(h)]
        np.matmul(h, p["V"].T, out=o)
        np.add(o, p["c"], out=o)  # (10.10)
        self.head.logits(o)
        if not bounded:  # the softmax does not notice, and exp cannot overflow
            o -= o.max(axis=1, keepdims=True)
        at_y = o.reshape(-1)[self.first[: len(o)] + y]
        sums = normalise(o, self.ones[: o.shape[1]])
        return np.log(sums) - at_y, sums  # (10.14)


def is_bounded(p: Parameters, reach: float) -> bool:
    """Whether no o can be so large that exp o overflows: |o| <= |c| + |V| |h|, where |h| <= reach.

    It spares the search for the largest o of each row, 3% of a training step at 128 units.
    """
    most = np.abs(p["V"]).sum(axis=1) * reach + np.abs(p["c"])
    return bool(most.max() < SAFE)  # also false where there is a NaN


FEW: Final = 40  # symbols
SMALL_PART: Final = 0.25  # symbols for each unit that a step multiplies by, in all layers
CACHED: Final = 1 << 17  # numbers in a block of states and outputs that stay in the cache
WORTHWHILE: Final = 24  # rows of a small product; with fewer, V would be fetched all the time


class ExactReadout(Readout):
    """A readout to put in the place of the other one, and where it leaves the ranks."""

    def __init__(
        self,
        architecture: Architecture,
        rows: int,
        apart: int,
        *,
        on_grid: bool = True,
        ranking: bool = False,
        keeping: bool = False,
    ) -> None:
        """``apart`` is the symbol that is added up by itself, and takes part in no ranking."""
        hidden, symbols = architecture.hidden, architecture.symbols
        small = SMALL // (hidden * symbols) // 8 * 8  # rows: see matmul
        if small >= WORTHWHILE:
            small = min(small, rows)
            many = CACHED // (small * (symbols + hidden))
            rows = small * max(1, min(many, -(-rows // small)))
        columns = hidden * (2 * architecture.layers - 1)
        is_double = on_grid or symbols <= max(FEW, SMALL_PART * columns)
        super().__init__(architecture, rows, np.float64 if is_double else np.float32)
        self.apart = apart
        self.ranking = ranking
        self.ranks: Integers = np.zeros(0, np.int32)  # (R,) of the last y; 1 is the likeliest
        self.keeping = keeping
        self.logits: Array = np.zeros((0, symbols))  # (R, K) of the last h, where they are kept
        self._small = small if small >= WORTHWHILE else self.rows
        self._h: Array = np.zeros((self.rows, hidden), self.o.dtype)

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """L for each row: h (R, H), y (R,) -> (R,)."""
        every = np.empty(len(y), self.o.dtype)
        self.ranks = np.empty(len(y) if self.ranking else 0, np.int32)
        if self.keeping:
            self.logits = np.empty((len(y), len(p["c"])), self.o.dtype)
        V = np.ascontiguousarray(p["V"].T, self.o.dtype)
        for rows in self._blocks(len(y)):
            o = self._product(h[rows], V)
            o += p["c"]  # (10.10)
            self.head.logits(o)
            if self.keeping:
                self.logits[rows] = o
            nats, ranks = nats_of(o, y[rows], self.apart, self.ranking)
            every[rows] = nats
            if ranks is not None:
                self.ranks[rows] = ranks
        return every

    def _product(self, h: Array, V: Array) -> Array:
        """The rows of h times V (H, K), in slices; the last may hold rows of an older block too."""
        self._h[: len(h)] = h
        used = -(-len(h) // self._small)
        slices = self._h.reshape(-1, self._small, len(V))[:used]
        np.matmul(slices, V, out=self.o.reshape(-1, self._small, self.o.shape[1])[:used])
        return self.o[: len(h)]


def nats_of(o: Array, y: Integers, apart: int, ranking: bool) -> tuple[Array, Integers | None]:
    """L for each row of the logits o (R, K), which change, and the rank of y (R,)."""
    aside = set_aside(o, apart)
    at_y = o[np.arange(len(y)), y]
    is_apart = y == apart
    at_y[is_apart] = aside[is_apart]
    ranks = 1 + np.count_nonzero(o > at_y[:, None], axis=1) if ranking else None
    return np.logaddexp(np.log(normalise(o)), aside) - at_y, ranks  # (10.14)


def add_novelty(
    model: LanguageModel, ids: Ids, nats: Array64, ranks: NDArray[np.integer] | None
) -> None:
    """Make room for characters never seen in what the network says, and price those that came.

    Such a character ranks behind all that are known. What comes out is in whole units. Where the
    end is known beforehand, nothing new could have come in its place.
    """
    vocabulary = model.vocabulary
    novelty = vocabulary.novelty
    is_known = ids == END if model.architecture.head.lengths is not None else False
    nats -= np.where(is_known, 0.0, math.log1p(-novelty))
    unknown = ids == UNKNOWN
    if unknown.any():
        expected = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], expected)
        if ranks is not None:
            ranks[unknown] = vocabulary.symbols
    nats[...] = in_units(nats)
