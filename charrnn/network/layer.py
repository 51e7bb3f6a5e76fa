"""A layer over a window of steps: the cell at one step after the other, and the way back.

    dL/dh(t) = W' dL/d(W h(t))  +  what the cell sends back itself  +  what the layers above send

the first of them the walk back through time of (10.21). ``W h`` is the only product here; the loop
around it does as little as can be, for two threads share Python's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.cells import Cell
from charrnn.network.grid import SETTLED, snap
from charrnn.network.matmul import Product
from charrnn.network.parameters import Array

Starts = Sequence[Sequence[int]]  # for each step, some lanes


class Layer:
    """The cell, and its buffers for T steps of B lanes, made once."""

    def __init__(
        self, cell: Cell, steps: int, lanes: int, hidden: int, dtype: DTypeLike, large: float = 0.0
    ) -> None:
        """``large`` is that of the grid which states are put on; 0: they stay as they are."""
        self.cell, self.large = cell, large
        columns = cell.gates * hidden
        in_place = cell.gates == 1
        self.states = [np.zeros((steps + 1, lanes, hidden), dtype) for _ in cell.states]
        self.h: Array = self.states[0]  # h[0]: where we started from
        self.up: Array = np.empty((steps, lanes, hidden), dtype)  # h after dropout
        self.ux: Array = self.h[1:] if in_place else np.empty((steps, lanes, columns), dtype)
        self.d: Array = np.empty((steps, lanes, hidden), dtype)  # dL/dh
        self.d_ux: Array = self.d if in_place else self.ux
        self.d_wh = self.d_ux if cell.one_gradient else np.empty_like(self.d_ux)
        self.tape: Array = np.empty((steps, lanes, cell.tape * hidden), dtype)
        self._spare = [np.empty((lanes, columns), dtype) for _ in range(2)]
        self._there = Product(lanes, hidden, columns, dtype)
        self._back = Product(lanes, columns, hidden, dtype)
        self._copies = [np.empty((lanes, hidden), dtype) for _ in cell.states]
        self._d_before = [np.zeros((lanes, hidden), dtype) for _ in cell.states]
        at = [tuple(state[t] for state in self.states) for t in range(steps + 1)]
        d, h = list(self.d), [states[0] for states in at]
        # What is in one place has to be one object: NumPy takes its time over two that overlap.
        ux = h[1:] if in_place else list(self.ux)
        d_ux = d if in_place else ux
        self._forth = list(zip(h, ux, at, at[1:], self.tape, strict=False))
        self._back_again = list(zip(d, at, at[1:], self.tape, d_ux, self.d_wh, strict=False))

    def forward(
        self, starts: Starts, W: Array, own_bias: Array | None = None, settling: Starts = ()
    ) -> None:
        """Fill the states after each step; those before the first, and ux, are given."""
        forward, reads_before = self.cell.forward, self.cell.reads_before
        product, large = self._there, self.large
        product.hold(W.T)
        for (h, ux, before, after, tape), beginning, settled in zip(
            self._forth, starts, settling or repeat(()), strict=False
        ):
            wh = product(h, beginning)
            if own_bias is not None:
                biased = wh[:, -len(own_bias) :]
                np.add(biased, own_bias, biased)
            was = self._begun_afresh(before, beginning) if beginning and reads_before else before
            forward(ux, wh, was, after, tape)
            if large:
                snap(after, large)
                for lane in settled:
                    snap([state[lane] for state in after], SETTLED)

    def backward(self, starts: Starts, W: Array) -> None:
        """Turn d[t], which holds the dL/dh(t) from above, into dL/d(U x) and dL/d(W h)."""
        backward, reads_before = self.cell.backward, self.cell.reads_before
        product, spare, d_before = self._back, self._spare, self._d_before
        product.hold(W)
        for d_state in d_before:
            d_state.fill(0)
        others = d_before[1:]
        d_next: Array | None = None
        begun: Sequence[int] = ()
        steps = self._back_again[: len(starts)]
        for (d_h, before, after, tape, d_ux, d_wh), beginning in zip(
            reversed(steps), reversed(starts), strict=True
        ):
            if d_next is not None:  # nothing comes back from after the end
                np.add(d_h, product(d_next, begun), d_h)  # (10.21)
                if reads_before:
                    for lane in begun:
                        for d_state in d_before:
                            d_state[lane] = 0
                    np.add(d_h, d_before[0], d_h)
            was = self._begun_afresh(before, beginning) if beginning and reads_before else before
            backward((d_h, *others), was, after, tape, d_ux, d_wh, d_before, spare)
            d_next, begun = d_wh, beginning

    def forward_at_once(self, steps: int) -> None:
        """Where W h is nothing no step needs the one before it: h(t) = tanh(b + U x(t))."""
        np.tanh(self.ux[:steps], out=self.h[1 : steps + 1])  # (10.9)

    def back_at_once(self, steps: int) -> None:
        """Turn d, which holds the dL/dh from above, into dL/d(U x) where W h is nothing."""
        d, h, part = self.d[:steps], self.h[1 : steps + 1], self.up[:steps]
        np.multiply(h, h, out=part)
        np.multiply(part, d, out=part)
        np.subtract(d, part, out=d)

    def _begun_afresh(self, states: Sequence[Array], beginning: Sequence[int]) -> Sequence[Array]:
        """The states, zero in the lanes where an example begins."""
        for copy, state in zip(self._copies, states, strict=True):
            np.copyto(copy, state)  # the states themselves are those after the last step, too
            for lane in beginning:
                copy[lane] = 0
        return self._copies
