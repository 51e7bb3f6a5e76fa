"""The readout as scores need it: no gradient, more digits, and the rank of what came.

    o = c + V h                           (10.10)
    L = log sum exp o - o at y            (10.14)

Most of what float32 costs a score is lost in V h, a sum of hundreds of terms whose size is many
times the surprisal that is left of them. So it has float64 where symbols are few, for a text of few
symbols may be known nearly to certainty, or where it is a small part of the work; elsewhere it has
the precision of the parameters.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.architecture import Architecture
from charrnn.network.heads import normalise
from charrnn.network.matmul import SMALL
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.readout import Readout, is_bounded

FEW: Final = 40  # symbols
SMALL_PART: Final = 0.25  # symbols for each unit that a step multiplies by, in all layers
CACHED: Final = 1 << 17  # numbers in a block of states and outputs that stay in the cache
WORTHWHILE: Final = 24  # rows of a small product; with fewer, V would be fetched all the time


class ExactReadout(Readout):
    """A readout to put in the place of the other one, and where it leaves the ranks."""

    def __init__(self, architecture: Architecture, rows: int, unranked: int | None = None) -> None:
        size = architecture
        small = SMALL // (size.hidden * size.symbols) // 8 * 8  # rows: see products
        if small >= WORTHWHILE:
            small = min(small, rows)
            many = CACHED // (small * (size.symbols + size.hidden))
            rows = small * max(1, min(many, -(-rows // small)))
        columns = size.hidden * (2 * size.layers - 1)
        is_exact = size.symbols <= max(FEW, SMALL_PART * columns)
        super().__init__(architecture, rows, np.float64 if is_exact else np.float32)
        self.unranked = unranked  # the symbol that takes part in no ranking; None: rank nothing
        self.ranks: Integers = np.zeros(0, np.int32)  # (R,) of the last y; 1 is the likeliest
        self._small = small if small >= WORTHWHILE else self.rows
        self._h: Array = np.zeros((self.rows, size.hidden), self.o.dtype)

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """L for each row: h (R, H), y (R,) -> (R,)."""
        every = np.empty(len(y), self.o.dtype)
        self.ranks = np.empty(len(y) if self.unranked is not None else 0, np.int32)
        V = np.ascontiguousarray(p["V"].T, self.o.dtype)
        bounded = is_bounded(p, reach=p.architecture.state_bounds[0])
        for rows in self._blocks(len(y)):
            o = self._product(h[rows], V)
            o += p["c"]  # (10.10)
            self.head.logits(o)
            at_y = self.first[: len(o)] + y[rows]
            if self.unranked is not None:
                likelier = o > o.reshape(-1)[at_y, None]
                likelier[:, self.unranked] = False
                self.ranks[rows] = 1 + np.count_nonzero(likelier, axis=1)
            if not bounded:
                o -= o.max(axis=1, keepdims=True)
            o_y = o.reshape(-1)[at_y]
            every[rows] = np.log(normalise(o, self.ones[: o.shape[1]])) - o_y  # (10.14)
        return every

    def _product(self, h: Array, V: Array) -> Array:
        """The rows of h times V (H, K), in slices; the last may hold rows of an older block too."""
        self._h[: len(h)] = h
        used = -(-len(h) // self._small)
        slices = self._h.reshape(-1, self._small, len(V))[:used]
        np.matmul(slices, V, out=self.o.reshape(-1, self._small, self.o.shape[1])[:used])
        return self.o[: len(h)]
