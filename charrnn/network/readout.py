"""The readout: from the top state to a distribution over symbols and the end, and its loss.

    o = c + V h                           (10.10)
    y_hat = softmax of the logits         (10.11)  a head makes the logits of o
    L = -log y_hat at y                   (10.14)  = log sum of exp - logit at y
    dL/do                                 (10.18)  by the head
    dL/dh = V' dL/do                      (10.19, and its part of 10.21)

Rows are independent, so they are processed in blocks: no array of all rows x symbols is made.
"""

from typing import Final

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.arrays import Array, Arrays, Integers
from charrnn.network.heads import Head

LARGEST_BLOCK: Final = 1 << 20  # numbers in a block of outputs, unless 16 rows have more
SAFE: Final = 60.0  # exp(60) times a million symbols is still a float32


class Readout:
    """The readout of training, with buffers for a block of rows."""

    def __init__(self, head: type[Head], symbols: int, rows: int, dtype: DTypeLike) -> None:
        self.head = head
        self.rows = min(rows, max(16, LARGEST_BLOCK // symbols))
        self.o: Array = np.empty((self.rows, symbols), dtype)
        self.ones: Array = np.ones(max(self.rows, symbols), dtype)
        self.first = np.arange(self.rows) * symbols  # the place of each row in the flat o

    def nats_and_gradient(
        self,
        p: Arrays,
        h: Array,  # (R, H)
        y: Integers,  # (R,)
        weight: float,  # of a row's loss
        idle: Integers | None,  # rows without a loss
        largest: float,  # |h|
        gradient: Arrays,
        d_h: Array,  # (R, H)
    ) -> float:
        """Return the sum of L over the rows. Fill gradient["V"], gradient["c"] and d_h."""
        V, d_V, d_c = p["V"], gradient["V"], gradient["c"]
        total = 0.0
        most = np.abs(V).sum(axis=1) * largest + np.abs(p["c"])  # |o| <= |c| + |V| |h|
        is_bounded = most.max() < SAFE  # False for NaN
        d_V[...] = 0
        d_c[...] = 0
        for at in range(0, len(y), self.rows):
            rows = slice(at, at + self.rows)
            of_rows, o = y[rows], self.o[: len(y) - at]
            at_y = self.first[: len(o)] + of_rows  # in the flat o
            np.matmul(h[rows], V.T, out=o)
            np.add(o, p["c"], out=o)  # (10.10)
            self.head.logits(o)
            if not is_bounded:  # exp could overflow; the softmax stays
                o -= o.max(axis=1, keepdims=True)
            logits = o.reshape(-1)[at_y]
            np.exp(o, o)
            sums: Array = o @ self.ones[: o.shape[1]]
            losses = np.log(sums) - logits  # (10.14)
            o *= (weight / sums)[:, None]  # y_hat (10.11), weighted
            self.head.gradient(o, of_rows, at_y, weight)  # now dL/do (10.18)
            if idle is not None:
                silent = idle[(idle >= rows.start) & (idle < rows.stop)] - rows.start
                o[silent] = 0
                losses[silent] = 0
            total += float(losses.sum(dtype=np.float64))  # (10.13)
            np.matmul(o, V, out=d_h[rows])  # (10.19)
            d_V += o.T @ h[rows]  # (10.24)
            d_c += self.ones[: len(o)] @ o  # (10.22)
        return total
