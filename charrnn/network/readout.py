"""The readout: from the top state to a distribution over symbols, and its loss.

    o = c + V h                           (10.10)
    y_hat = softmax of the logits         (10.11)  the head makes logits of o
    L = -log y_hat at y                   (10.14)  = log sum of exp - logit at y
    dL/do                                 (10.18)  by the head
    dL/dh = V' dL/do                      (10.19, and its part of 10.21)

Rows are independent, so they are processed in blocks: no array of all rows x symbols is made.
`Readout` is for training, `ExactReadout` for scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.architecture import Architecture
from charrnn.network.layer import SMALL
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.rounding import Array, Array64, Integers, in_units
from charrnn.vocabulary import END, UNKNOWN, Ids

BLOCK: Final = 1 << 20  # numbers in the largest block of outputs
SAFE: Final = 60.0  # exp(60) times a million symbols is still a float32
FEW: Final = 40  # symbols: with so few, a network may be almost certain
SMALL_PART: Final = 0.25  # symbols for each unit that a step multiplies by, in all layers
CACHED: Final = 1 << 17  # numbers in a block of states and outputs that stay in the cache
WORTHWHILE: Final = 24  # rows of a small product; with fewer, V would be fetched too often


def set_aside(logits: Array) -> Array:
    """Set the logits of UNKNOWN to -inf, and return the old ones (R,).

    Shift both so that the maximum of each row is 0: exp cannot overflow, and the softmax stays.
    """
    aside = logits[:, UNKNOWN].copy()
    logits[:, UNKNOWN] = -np.inf
    most: Array = np.maximum.reduce(logits, 1)
    np.subtract(logits, most[:, None], logits)
    aside -= most
    return aside


def normalise(logits: Array, ones: Array | None = None) -> Array:
    """Replace the logits by their exp. Return the sum of each row (R,).

    A product with ones takes a third of the time, but its order depends on the number of rows.
    Without ``ones`` each row is summed alone, so that the number of rows does not matter.
    """
    np.exp(logits, logits)
    sums: Array = np.add.reduce(logits, 1) if ones is None else logits @ ones
    return sums


class Readout:
    """The readout of training, with buffers for a block of rows."""

    def __init__(self, architecture: Architecture, rows: int, dtype: DTypeLike) -> None:
        self.head = architecture.head
        symbols = architecture.symbols
        self.rows = min(rows, max(16, BLOCK // symbols))
        self.o: Array = np.empty((self.rows, symbols), dtype)
        self.ones: Array = np.ones(max(self.rows, symbols), dtype)
        self.first = np.arange(self.rows) * symbols  # the place of each row in the flat o

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """Return L for each row: h (R, H), y (R,) -> (R,)."""
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
        weight: float,  # of a row's loss
        idle: Integers | None,  # rows without a loss
        reach: float,  # the largest |h|
        gradient: Parameters,
        d_h: Array,  # (R, H)
    ) -> float:
        """Return the sum of L over the rows. Fill gradient["V"], gradient["c"] and d_h."""
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
        """Return L and the sum of exp for each row. Leave exp of the logits in ``o``."""
        o = self.o[: len(h)]
        np.matmul(h, p["V"].T, out=o)
        np.add(o, p["c"], out=o)  # (10.10)
        self.head.logits(o)
        if not bounded:  # exp cannot overflow then, and the softmax stays
            o -= o.max(axis=1, keepdims=True)
        at_y = o.reshape(-1)[self.first[: len(o)] + y]
        sums = normalise(o, self.ones[: o.shape[1]])
        return np.log(sums) - at_y, sums  # (10.14)


def is_bounded(p: Parameters, reach: float) -> bool:
    """Return True if exp o cannot overflow: |o| <= |c| + |V| |h|, with |h| <= reach."""
    most = np.abs(p["V"]).sum(axis=1) * reach + np.abs(p["c"])
    return bool(most.max() < SAFE)  # False for NaN


class ExactReadout(Readout):
    """The readout of scores, which ranks symbols and keeps logits.

    It sums each row separately on the grid, so a row has the same score alone and among others.
    Without the grid it uses float64 if symbols are few or their part of the work is small.
    """

    def __init__(
        self,
        architecture: Architecture,
        rows: int,
        *,
        on_grid: bool = True,
        ranking: bool = False,
        keeping: bool = False,
    ) -> None:
        hidden, symbols = architecture.hidden, architecture.symbols
        small = SMALL // (hidden * symbols) // 8 * 8  # rows: see matmul
        if small >= WORTHWHILE:
            small = min(small, rows)
            many = CACHED // (small * (symbols + hidden))
            rows = small * max(1, min(many, -(-rows // small)))
        columns = hidden * (2 * architecture.layers - 1)
        is_double = on_grid or symbols <= max(FEW, SMALL_PART * columns)
        super().__init__(architecture, rows, np.float64 if is_double else np.float32)
        self.ranking = ranking
        self.ranks: Integers = np.zeros(0, np.int32)  # (R,) of the last y, from 1
        self.keeping = keeping
        self.logits: Array = np.zeros((0, symbols))  # (R, K) of the last h, if kept
        self._small = small if small >= WORTHWHILE else self.rows
        self._h: Array = np.zeros((self.rows, hidden), self.o.dtype)

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """Return L for each row: h (R, H), y (R,) -> (R,)."""
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
            every[rows], ranks = nats_of(o, y[rows], self.ranking)
            if ranks is not None:
                self.ranks[rows] = ranks
        return every

    def _product(self, h: Array, V: Array) -> Array:
        """Return h V for V (H, K), computed in slices; the last slice may include old rows."""
        self._h[: len(h)] = h
        used = -(-len(h) // self._small)
        slices = self._h.reshape(-1, self._small, len(V))[:used]
        np.matmul(slices, V, out=self.o.reshape(-1, self._small, self.o.shape[1])[:used])
        return self.o[: len(h)]


def nats_of(o: Array, y: Integers, ranking: bool) -> tuple[Array, Integers | None]:
    """Return L for each row of logits o (R, K), which change, and the rank of y beside UNKNOWN."""
    aside = set_aside(o)
    at_y = o[np.arange(len(y)), y]
    unknown = y == UNKNOWN
    at_y[unknown] = aside[unknown]
    ranks = 1 + np.count_nonzero(o > at_y[:, None], axis=1) if ranking else None
    return np.logaddexp(np.log(normalise(o)), aside) - at_y, ranks  # (10.14)


def add_novelty(model: LanguageModel, ids: Ids, nats: Array64, ranks: Integers | None) -> None:
    """Add to the costs that the next character may be new, in place, in whole units.

    All characters of Unicode that are not in the vocabulary share the chance ``novelty``, so the
    model is a distribution over all texts. An END that is known beforehand excludes them.
    """
    vocabulary = model.vocabulary
    novelty = vocabulary.novelty
    is_certain = ids == END if model.architecture.head.lengths is not None else False
    nats -= np.where(is_certain, 0.0, math.log1p(-novelty))
    unknown = ids == UNKNOWN
    if unknown.any():
        log_novelty = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], log_novelty)
        if ranks is not None:
            ranks[unknown] = vocabulary.symbols
    nats[...] = in_units(nats)
