"""The readout as scores need it: no gradient, nothing rounded by chance, the rank of what came.

    o = c + V h                           (10.10)  exact, on the grid
    L = log sum exp - logit at y          (10.14)  each row by itself

and so the same for one row as for many, and as where a text is drawn. Where there is no grid, it
has float64 all the same where symbols are few, for a text of few symbols may be known nearly to
certainty, or where it is a small part of the work.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.architecture import Architecture
from charrnn.network.matmul import SMALL
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.readout import Readout
from charrnn.network.softmax import normalise, set_aside

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
