"""A layer over a window of steps: its cell step by step, and the way back.

    dL/dh(t) = W' dL/d(W h(t))  +  the part of the cell  +  the part of the layers above

The first part is the walk back through time of (10.21). ``W h`` is the only product here. The loop
around it does little: the cell's slopes, which need no gradient, are computed for many steps at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network import Array
from charrnn.network.cells import Cell

SMALL = 10**6  # multiply-adds up to which OpenBLAS does not copy
WIDTHS = (64, 48, 32)  # of panels
AT_HAND = 1 << 16  # numbers that fit in the cache of a core

Starts = Sequence[Sequence[int]]  # for each step, some lanes


class Product:
    """The product rows @ M for one matrix M (I, J) or one for each gate, in a buffer of its own.

    The rows are (B, I) for all gates, or (G, B, I). BLAS copies both factors before it multiplies
    them, unless they are small; for few lanes that costs up to a third of the product. So M is
    split, once a window, into panels (J / w, I, w) that BLAS does not copy. For one lane, BLAS
    copies nothing, and M serves as its own panel.
    """

    def __init__(
        self, gates: tuple[int, ...], lanes: int, rows: int, columns: int, dtype: DTypeLike
    ) -> None:
        self._copies = lanes > 1
        fits = (w for w in WIDTHS if columns % w == 0 and w * rows * lanes <= SMALL)
        width = next(fits, columns) if self._copies else columns
        self.panels = np.empty((*gates, columns // width, rows, width), dtype)
        self._by_column = self.panels.swapaxes(-2, -3)  # the panels, seen as the matrices
        self.out: Array = np.zeros((*gates, lanes, columns), dtype)
        self._by_panel = self.out.reshape(*gates, lanes, -1, width).swapaxes(-2, -3)
        self._lanes = [self.out[..., lane, :] for lane in range(lanes)]

    def hold(self, matrices: Array) -> None:
        if self._copies:
            self._by_column[...] = matrices.reshape(self._by_column.shape)
        else:
            self.panels = matrices[..., None, :, :]

    def __call__(self, rows: Array, without: Sequence[int] = ()) -> Array:
        """Return rows @ M, with zeros in some lanes. ``rows`` of gates have an axis for panels."""
        np.matmul(rows, self.panels, self._by_panel)
        for lane in without:  # 0.3 microseconds each, where one index for all takes 1.5
            self._lanes[lane].fill(0)
        return self.out


@contextmanager
def in_place() -> Iterator[None]:
    """Let NumPy work on small strided arrays without copying them first: a tenth of a step."""
    size = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(size)


class Layer:
    """A cell, and its buffers for T steps of B lanes, made once."""

    def __init__(
        self, cell: type[Cell], steps: int, lanes: int, hidden: int, dtype: DTypeLike
    ) -> None:
        self.cell = cell
        one_gate = cell.gates == 1
        gates = () if one_gate else (cell.gates,)
        self._square = (*gates, hidden, hidden)
        self.states = [np.zeros((steps + 1, lanes, hidden), dtype) for _ in cell.states]
        self.h: Array = self.states[0]  # h[0]: before the first step
        self.up: Array = np.empty((steps, lanes, hidden), dtype)  # h after dropout
        self.ux: Array = self.h[1:] if one_gate else np.empty((*gates, steps, lanes, hidden), dtype)
        self.d: Array = np.empty((steps, lanes, hidden), dtype)  # dL/dh
        self.d_wh: Array = self.d if one_gate else self.ux
        self.tape: Array = np.empty((steps, lanes, hidden * cell.has_tape), dtype)
        self._state_rows = [rows_of(state) for state in self.states]  # (T B + B, H)
        self._ux_blocks, self._tape_rows = rows_of(self.ux), rows_of(self.tape)
        shape = (cell.gates, steps * lanes, hidden)
        self.ux_rows, self.d_wh_rows = self.ux.reshape(shape), self.d_wh.reshape(shape)
        self._place = nullcontext if one_gate else in_place
        self._remembers = cell.reads_h or len(cell.states) > 1
        self._many = max(1, min(steps, AT_HAND // (lanes * hidden * cell.gates)))
        self._kept, self._spare, self._begun = (
            np.empty((self._many * lanes, hidden), dtype) for _ in range(3)
        )
        self._there = Product(gates, lanes, hidden, hidden, dtype)
        self._back = Product(gates, lanes, hidden, hidden, dtype)
        self._d_before = [np.zeros((lanes, hidden), dtype) for _ in cell.states]
        at = [tuple(state[t] for state in self.states) for t in range(steps + 1)]
        d, h = list(self.d), [states[0] for states in at]
        # One object for one piece of memory: NumPy is slow with two that overlap.
        ux = h[1:] if one_gate else [self.ux[:, t] for t in range(steps)]
        d_wh = d if one_gate else [of[:, None] for of in ux]  # with an axis for panels
        kept = [self._kept[t % self._many * lanes :][:lanes] for t in range(steps)]
        self._forth = list(zip(h, ux, at, at[1:], self.tape, strict=False))
        self._back_again = list(zip(d, ux, d_wh, self.tape, kept, strict=True))

    def forward(self, starts: Starts, W: Array, own_bias: Array | None = None) -> None:
        """Fill the states after each step from ux and the states before the first step."""
        forward, product = self.cell.forward, self._there
        product.hold(W.reshape(self._square).swapaxes(-1, -2))
        steps = zip(self._forth, starts, strict=False)
        with self._place():
            for (h, ux, before, after, tape), beginning in steps:
                wh = product(h, beginning)
                if own_bias is not None:
                    np.add(wh[-1], own_bias, tape)
                if beginning and self._remembers:
                    before = tuple(self._begun_afresh(before, beginning))
                forward(ux, wh, before, after, tape)

    def backward(self, starts: Starts, W: Array) -> None:
        """Turn d[t], the part of dL/dh(t) from above, into dL/d(U x) and dL/d(W h)."""
        backward, reads_h, many = self.cell.backward, self.cell.reads_h, self._many
        product, d_before = self._back, self._d_before
        product.hold(W.reshape(self._square))
        for d_state in d_before:
            d_state.fill(0)
        others = d_before[1:]
        from_itself = d_before if reads_h else others
        d_next: Array | None = None
        begun: Sequence[int] = ()
        with self._place():
            for t in range(len(starts) - 1, -1, -1):
                if d_next is None or t % many == many - 1:
                    self._find_slopes(t - t % many, starts[t - t % many : t + 1])
                d_h, ux, d_wh, tape, kept = self._back_again[t]
                if d_next is not None:  # the last step has no step after it
                    back = product(d_next, begun)  # (10.21)
                    for part in back if back.ndim > 2 else (back,):
                        np.add(d_h, part, d_h)
                    for d_state in from_itself:
                        for lane in begun:
                            d_state[lane] = 0
                    if reads_h:
                        np.add(d_h, d_before[0], d_h)
                backward((d_h, *others), ux, tape, kept, d_before)
                d_next, begun = d_wh, starts[t]

    def d_ux(self, steps: int) -> list[Array]:
        """Return dL/d(U x) after the way back: (T B, H) for each gate."""
        every = list(self.d_wh_rows[:, : steps * self.h.shape[1]])
        return [*every[:-1], rows_of(self.d[:steps])] if self.cell.own_bias else every

    def _find_slopes(self, first: int, starts: Starts) -> None:
        """Fill the factors of the way back through these steps."""
        lanes, count = self.h.shape[1], len(starts)
        rows, here = slice(first * lanes, (first + count) * lanes), slice(0, count * lanes)
        before: Sequence[Array] = [state[:-lanes][rows] for state in self._state_rows]
        after = [state[lanes:][rows] for state in self._state_rows]
        if self.cell.reads_h and any(starts):  # other states are zero there by now
            begun = [t * lanes + lane for t, some in enumerate(starts) for lane in some]
            before = self._begun_afresh(before, begun)
        ux, tape = self._ux_blocks[..., rows, :], self._tape_rows[rows]
        self.cell.slopes(ux, before, after, tape, self._kept[here], self._spare[here])

    def _begun_afresh(self, states: Sequence[Array], rows: Sequence[int]) -> Sequence[Array]:
        """Return the states with zeros in the rows where an example begins."""
        h, *others = states
        zeros = others
        if self.cell.reads_h:  # the step before reads h as well: zero a copy
            begun = self._begun[: len(h)]
            np.copyto(begun, h)
            h, zeros = begun, [begun, *others]
        for row in rows:
            for state in zeros:
                state[row] = 0
        return [h, *others]


def rows_of(array: Array) -> Array:
    """Return (..., T, B, H) seen as (..., T * B, H)."""
    *first, steps, lanes, hidden = array.shape
    return array.reshape(*first, steps * lanes, hidden)
