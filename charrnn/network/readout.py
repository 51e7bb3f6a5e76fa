"""From the top state to a distribution over symbols, and its loss.

    o = c + V h                           (10.10)
    y_hat = softmax o                     (10.11)
    L = -log y_hat at y                   (10.14)
    dL/do = y_hat - 1 at y                (10.18)
    dL/dh = V' dL/do                      (10.19, and its part of 10.21)

Rows are independent here, so they are taken in blocks: with 65 symbols a window is one block, with
5,000 the block shrinks, and nothing of size rows x symbols is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.parameters import Array, Integers, Parameters

BLOCK = 1 << 20  # numbers in the largest block of outputs
SAFE = 60.0  # exp(60) times a million symbols is still a float32


class Readout:
    """The buffers for so many symbols, and what is done in them."""

    def __init__(self, rows: int, symbols: int, dtype: DTypeLike) -> None:
        self.rows = min(rows, max(16, BLOCK // symbols))
        self.o: Array = np.empty((self.rows, symbols), dtype)
        self.ones: Array = np.ones(max(symbols, self.rows), dtype)
        self.first = np.arange(self.rows) * symbols  # where each row of o begins

    def nats(self, p: Parameters, h: Array, y: Integers) -> Array:
        """L for each row: h (R, H), y (R,) -> (R,)."""
        every = np.empty(len(y), h.dtype)
        bounded = is_bounded(p, reach=1.0)
        for rows in self._blocks(len(y)):
            o = self._outputs(p, h[rows], bounded)
            o_y = o.reshape(-1)[self.first[: len(o)] + y[rows]]
            every[rows] = np.log(self._exponentials(o)) - o_y  # (10.14)
        return every

    def nats_and_gradient(
        self,
        p: Parameters,
        h: Array,  # (R, H)
        y: Integers,  # (R,)
        scale: float,  # what a row's loss weighs in the whole
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
            o = self._outputs(p, h[rows], bounded)
            at_y = self.first[: len(o)] + y[rows]
            o_y = o.reshape(-1)[at_y]
            sums = self._exponentials(o)
            losses = np.log(sums) - o_y  # (10.14)
            o *= (scale / sums)[:, None]  # y_hat (10.11), scaled
            o.reshape(-1)[at_y] -= scale  # (10.18)
            if idle is not None:
                here = idle[(idle >= rows.start) & (idle < rows.stop)] - rows.start
                o[here] = 0
                losses[here] = 0
            total += float(losses.sum(dtype=np.float64))
            np.matmul(o, V, out=d_h[rows])  # (10.19)
            d_V += o.T @ h[rows]  # (10.24)
            d_c += self.ones[: len(o)] @ o  # (10.22)
        return total

    def _blocks(self, rows: int) -> Iterator[slice]:
        return (slice(at, min(at + self.rows, rows)) for at in range(0, rows, self.rows))

    def _outputs(self, p: Parameters, h: Array, bounded: bool) -> Array:
        o = self.o[: len(h)]
        np.matmul(h, p["V"].T, out=o)
        np.add(o, p["c"], out=o)  # (10.10)
        if not bounded:  # the softmax does not notice, and exp cannot overflow
            o -= o.max(axis=1, keepdims=True)
        return o

    def _exponentials(self, o: Array) -> Array:
        """Put exp o in the place of o; the sum of each row."""
        np.exp(o, out=o)
        sums: Array = o @ self.ones[: o.shape[1]]
        return sums


def is_bounded(p: Parameters, reach: float) -> bool:
    """Whether no o can be so large that exp o overflows: |o| <= |c| + |V| |h|, where |h| <= reach.

    It spares the search for the largest o of each row, 3% of a training step at 128 units.
    """
    most = np.abs(p["V"]).sum(axis=1) * reach + np.abs(p["c"])
    return bool(most.max() < SAFE)  # also false where there is a NaN
