"""The network of figure 10.3, unfolded over a window of time steps: layers of a cell and a readout.

             y(1)   y(2)   y(3)
              |      |      |         V, c
    h2(0) -> h2(1)->h2(2)->h2(3)      W2, b2
              |      |      |         U2
    h1(0) -> h1(1)->h1(2)->h1(3)      W1, b1
              |      |      |         U1
             x(1)   x(2)   x(3)

    dL/dh(t) = W' dL/d(W h(t))  +  the part of the cell  +  the part of the layers above  (10.21)

Only ``W h`` is inside the loop over time. The other products are over all T x B rows at once, and
so are the cell's slopes, which need no gradient. The gradients (10.22) to (10.28) are sums over t,
so each is one line with its number. The state before an example is zero, so neither the state nor
the gradient crosses from one example to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.arrays import Array, Flags, Integers, Product, in_place, sum_by_symbol
from charrnn.network.cells import Cell
from charrnn.network.parameters import Architecture, Parameters, count_features
from charrnn.network.readout import Readout
from charrnn.text.vocabulary import END

AT_HAND = 1 << 16  # numbers that fit in the cache of a core
GATES_AT_HAND = 1 << 20  # numbers of the gates that are sorted together, if there are several

LaneStates = list[Array]  # (B, H) for each of the architecture's states
Masks = Sequence[Array]  # (1 or T, B, H) for each layer: the factors of dropout
FirstLanes = Sequence[Sequence[int]]  # for each step, the lanes in which an example begins


@dataclass(frozen=True)
class Window:
    """T time steps of B lanes: inputs x and targets y."""

    x: Integers  # (T, B)
    y: Integers  # (T, B)
    is_first: Flags  # (T, B) whether the state before is zero
    idle: Flags | None = None  # (T, B) whether the loss is left out
    clock: Integers | None = None  # (T, B) characters of the example read so far
    to_come: Integers | None = None  # (T, B) characters to come: see parameters

    def at(self, t: int) -> Window:
        rows: Any = (None if rows is None else rows[t : t + 1] for rows in vars(self).values())
        return Window(*rows)

    @property
    def count(self) -> int:
        """The number of losses."""
        return self.y.size - (0 if self.idle is None else int(self.idle.sum()))


class Layer:
    """A cell, and its buffers for T time steps of B lanes, made once."""

    def __init__(
        self, cell: type[Cell], time_steps: int, lanes: int, hidden: int, dtype: DTypeLike
    ) -> None:
        self.cell, shape = cell, (time_steps, lanes, hidden)
        one_gate = cell.gates == 1
        self._in_place = nullcontext if one_gate else in_place
        gates = () if one_gate else (cell.gates,)
        self._square = (*gates, hidden, hidden)
        self.states = [np.zeros((time_steps + 1, lanes, hidden), dtype) for _ in cell.states]
        self.h: Array = self.states[0]  # h[0]: before the first step
        self.up: Array = np.empty(shape, dtype)  # h after dropout
        self.d_h: Array = np.empty(shape, dtype)  # dL/dh
        self.ux: Array = self.h[1:] if one_gate else np.empty((*gates, *shape), dtype)
        self.tape: Array = np.empty((time_steps, lanes, hidden * cell.has_tape), dtype)
        self._state_rows = [rows_of(state) for state in self.states]  # (T B + B, H)
        self._ux_blocks, self._tape_rows = rows_of(self.ux), rows_of(self.tape)
        self.ux_rows = self.ux.reshape(cell.gates, -1, hidden)
        self.d_wh_rows = self.d_h.reshape(1, -1, hidden) if one_gate else self.ux_rows
        self._remembers = cell.reads_h or len(cell.states) > 1
        self._block = max(1, min(time_steps, AT_HAND // (lanes * hidden * cell.gates)))  # steps
        self._factors, self._spare, self._h_copy = (
            np.empty((self._block * lanes, hidden), dtype) for _ in range(3)
        )
        self._product_forward = Product(gates, lanes, hidden, dtype)
        self._product_back = Product(gates, lanes, hidden, dtype)
        self._d_before = [np.zeros((lanes, hidden), dtype) for _ in cell.states]
        self._noted: list[Array] = []
        at = [tuple(state[t] for state in self.states) for t in range(time_steps + 1)]
        d, h = list(self.d_h), [states[0] for states in at]
        # One object for one piece of memory: NumPy is slow with two that overlap.
        ux = h[1:] if one_gate else [self.ux[:, t] for t in range(time_steps)]
        d_wh = d if one_gate else [of[:, None] for of in ux]  # with an axis for panels
        by_step = self._factors.reshape(-1, lanes, hidden)
        factors = [by_step[t % self._block] for t in range(time_steps)]
        self._forward_calls = list(zip(h, ux, at, at[1:], self.tape, strict=False))
        self._backward_calls = list(zip(d, ux, d_wh, self.tape, factors, strict=True))

    def forward(self, first_lanes: FirstLanes, W: Array, d: Array | None = None) -> None:
        """Fill the states after each step from ux and the states before the first step."""
        forward, product = self.cell.forward, self._product_forward
        product.hold(W.reshape(self._square).swapaxes(-1, -2))
        calls = zip(self._forward_calls, first_lanes, strict=False)
        with self._in_place():
            for (h, ux, before, after, tape), zeroed in calls:
                wh = product(h, zeroed)
                if d is not None:
                    np.add(wh[-1], d, tape)
                if zeroed and self._remembers:
                    before = tuple(self._with_zeros(before, zeroed))
                forward(ux, wh, before, after, tape)

    def backward(self, first_lanes: FirstLanes, W: Array) -> None:
        """Turn d_h[t], the part of dL/dh(t) from above, into dL/d(U x) and dL/d(W h)."""
        backward, reads_h, block = self.cell.backward, self.cell.reads_h, self._block
        product, d_before = self._product_back, self._d_before
        product.hold(W.reshape(self._square))
        back = list(product.out.reshape(-1, *self.d_h.shape[1:]))  # of each gate
        noted = self._noted
        if noted:
            noted[0][...] = self.d_h[: len(first_lanes)]
        for d_state in d_before:
            d_state.fill(0)
        beside_h = d_before[1:]
        filled = d_before if reads_h else beside_h  # by the cell, for the states before
        d_next: Array | None = None
        zeroed: Sequence[int] = ()  # lanes in which step t + 1 begins an example
        with self._in_place():
            for t in range(len(first_lanes) - 1, -1, -1):
                if d_next is None or (t + 1) % block == 0:  # the last step of its block
                    first = t - t % block
                    self._find_slopes(first, first_lanes[first : t + 1])
                d_h, ux, d_wh, tape, factor = self._backward_calls[t]
                if d_next is not None:  # the last step has no step after it
                    product(d_next, zeroed)  # (10.21)
                    for part in back:
                        np.add(d_h, part, d_h)
                    for d_state in filled:
                        for lane in zeroed:
                            d_state[lane] = 0
                    if reads_h:
                        np.add(d_h, d_before[0], d_h)
                if noted:
                    for note, d_state in zip(noted[1:], (d_h, *beside_h), strict=True):
                        note[t] = d_state
                backward((d_h, *beside_h), ux, tape, factor, d_before)
                d_next, zeroed = d_wh, first_lanes[t]

    def note_gradients(self, time_steps: int) -> list[Array]:
        """Return arrays (T, B, H) that the way back fills from now on.

        First the part of dL/dh(t) from above, then the whole dL/dh(t) and those of other states.
        """
        self._noted = [np.zeros_like(self.d_h[:time_steps]) for _ in (self.d_h, *self.states)]
        return self._noted

    def d_ux(self, time_steps: int) -> list[Array]:
        """Return dL/d(U x) after the way back: (T B, H) for each gate."""
        d_wh = list(self.d_wh_rows[:, : time_steps * self.h.shape[1]])
        return [*d_wh[:-1], rows_of(self.d_h[:time_steps])] if self.cell.own_bias else d_wh

    def _find_slopes(self, first: int, first_lanes: FirstLanes) -> None:
        """Fill the factors of the way back through these time steps."""
        lanes, count = self.h.shape[1], len(first_lanes)
        rows, block = slice(first * lanes, (first + count) * lanes), slice(0, count * lanes)
        before: Sequence[Array] = [state[:-lanes][rows] for state in self._state_rows]
        after = [state[lanes:][rows] for state in self._state_rows]
        if self.cell.reads_h and any(first_lanes):  # forward has zeroed the others in place
            zeroed = [t * lanes + lane for t, new in enumerate(first_lanes) for lane in new]
            before = self._with_zeros(before, zeroed)
        ux, tape = self._ux_blocks[..., rows, :], self._tape_rows[rows]
        self.cell.slopes(ux, before, after, tape, self._factors[block], self._spare[block])

    def _with_zeros(self, states: Sequence[Array], rows: Sequence[int]) -> Sequence[Array]:
        """Return the states with zeros in these rows: h in a copy, the others in place."""
        h, *zeroed = states
        if self.cell.reads_h:  # h is also the output of the step before
            h = self._h_copy[: len(h)]
            np.copyto(h, states[0])
            zeroed = [h, *zeroed]
        for row in rows:
            for state in zeroed:
                state[row] = 0
        return [h, *states[1:]]


class Unfolded:
    """A network unfolded over at most `time_steps` time steps of `lanes` lanes.

    ``states[i][0]`` is the state before the next window.
    """

    def __init__(
        self, architecture: Architecture, time_steps: int, lanes: int, dtype: DTypeLike = np.float32
    ) -> None:
        self.architecture, self.dtype = architecture, dtype
        rows, hidden, cell = time_steps * lanes, architecture.hidden, architecture.cell
        size = cell, time_steps, lanes, hidden, dtype
        self.layers = [Layer(*size) for _ in range(architecture.layers)]
        self.states = [state for layer in self.layers for state in layer.states]
        self.readout = Readout(architecture.head, architecture.symbols, rows, dtype)
        self.ones: Array = np.ones(rows, dtype)
        gates = min(cell.gates, max(1, GATES_AT_HAND // (rows * hidden)))
        self.room: Array = np.empty((gates, rows, hidden), dtype)
        self._plain = Parameters.zeros(architecture.plain, dtype) if cell.feeds_back else None
        self._of_plain = self._plain.like() if self._plain else None

    def read(self, p: Parameters, window: Window) -> Array:
        """Read the window, and return the states of the top layer (T, B, H). Move the state on."""
        top = self._forward(p.plain(self._plain), window, first_lanes_of(window), None)
        for state in self.states:
            state[0] = state[len(window.x)]
        return top

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float:
        """Return the loss in nats, and leave its gradient times scale in ``gradient``.

        The state moves on to the next window, the gradient does not: truncated BPTT.
        """
        first_lanes, lengths = first_lanes_of(window), self.architecture.head.lengths
        plain, of_plain = p.plain(self._plain), self._of_plain or gradient
        h = self._forward(plain, window, first_lanes, masks)
        d_h = self.layers[-1].d_h[: len(window.x)]
        is_idle = window.idle
        if lengths is not None:  # the loss of the length takes the place of that of END
            is_end = window.y == END
            is_idle = is_end if is_idle is None else is_idle | is_end
        idle = None if is_idle is None else np.flatnonzero(is_idle)
        largest = 1.0 if masks is None else float(masks[-1].max())  # |h|
        inputs = rows_of(h), window.y.reshape(-1), scale, idle, largest
        total = self.readout.nats_and_gradient(plain, *inputs, of_plain, rows_of(d_h))
        d_ux = self._backward(plain, window, first_lanes, masks, of_plain)
        room = self.room[:, : window.x.size]
        sum_by_symbol(d_ux, window.x.reshape(-1), of_plain["U1"], room)  # (10.28)
        of_plain["U1"].sum(axis=0, out=of_plain["b1"])  # (10.23): every x is some symbol
        for name in self.architecture.inputs:
            counts = rows_of(count_features(name, getattr(window, name), self.dtype))
            by_gate = of_plain[f"U1.{name}"].reshape(len(d_ux), -1, counts.shape[1])
            for d_a, columns in zip(d_ux, by_gate, strict=True):
                np.matmul(d_a.T, counts, out=columns)  # (10.28)
        if lengths is not None:
            assert window.clock is not None
            is_counted = is_end if window.idle is None else is_end & ~window.idle
            total += lengths.fill_gradient(p, window.clock[is_counted], scale, of_plain)  # (10.34)
        if self._of_plain:
            p.gradient_from(of_plain, gradient)
        for state in self.states:
            state[0] = state[len(window.x)]
        return total

    def _forward(
        self, p: Parameters, window: Window, first_lanes: FirstLanes, masks: Masks | None
    ) -> Array:
        """Return the states of the top layer after dropout, (T, B, H)."""
        time_steps = len(window.x)
        below: Array = self.layers[0].h
        for number, layer in enumerate(self.layers, 1):
            U, W, b = p[f"U{number}"], p[f"W{number}"], p[f"b{number}"]
            ux, h = layer.ux_rows[:, : window.x.size], layer.h[1 : time_steps + 1]
            gates, _, hidden = ux.shape
            if number == 1:
                tables = (U + b).reshape(-1, gates, hidden).swapaxes(0, 1)  # (G, K, H)
                for table, ux_of_gate in zip(tables, ux, strict=True):  # x one-hot: U x is a row
                    np.take(table, window.x.reshape(-1), axis=0, out=ux_of_gate, mode="clip")
                for name in self.architecture.inputs:
                    columns = p[f"U1.{name}"].reshape(gates, hidden, -1).swapaxes(1, 2)
                    counts = rows_of(count_features(name, getattr(window, name), self.dtype))
                    np.add(ux, counts @ columns, out=ux)
            else:
                np.matmul(rows_of(below), U.reshape(gates, hidden, -1).swapaxes(1, 2), out=ux)
                np.add(ux, b.reshape(gates, 1, hidden), out=ux)
            if self.architecture.cell.comes_apart:
                np.tanh(layer.ux[:time_steps], out=h)  # (10.9), at once: W h is zero
            else:
                layer.forward(first_lanes, W, p.get(f"d{number}"))
            below = h
            if masks is not None:
                below = np.multiply(h, masks[number - 1], out=layer.up[:time_steps])
        return below

    def _backward(
        self,
        p: Parameters,
        window: Window,
        first_lanes: FirstLanes,
        masks: Masks | None,
        gradient: Parameters,
    ) -> list[Array]:
        """Return dL/d(U x) of the first layer, (T B, H) for each gate, from dL/dh of the top one.

        Fill the gradients of W and d, and those of U and b from the second layer on.
        """
        time_steps, rows = len(window.x), window.x.size
        for number in range(len(self.layers), 0, -1):
            layer = self.layers[number - 1]
            d, d_wh = layer.d_h[:time_steps], layer.d_wh_rows[:, :rows]
            if masks is not None:
                np.multiply(d, masks[number - 1], out=d)
            if self.architecture.cell.comes_apart:
                h, part = layer.h[1 : time_steps + 1], layer.up[:time_steps]  # up is not read again
                np.multiply(h, h, out=part)
                np.multiply(part, d, out=part)
                np.subtract(d, part, out=d)
            else:
                layer.backward(first_lanes, p[f"W{number}"])
                h_before = rows_of(layer.h[:time_steps])
                h_before[np.flatnonzero(window.is_first)] = 0  # in place: h is not read again
                d_W = gradient[f"W{number}"].reshape(len(d_wh), -1, h_before.shape[1])
                np.matmul(d_wh.swapaxes(1, 2), h_before, out=d_W)  # (10.26)
            if layer.cell.own_bias:
                np.matmul(self.ones[:rows], d_wh[-1], out=gradient[f"d{number}"])
            if number > 1:
                self._downwards(p, time_steps, number, masks, gradient)
        return self.layers[0].d_ux(time_steps)

    def _downwards(
        self, p: Parameters, time_steps: int, number: int, masks: Masks | None, gradient: Parameters
    ) -> None:
        """Compute the gradients of U, b and the layer below from dL/d(U x), gate by gate."""
        layer, lower = self.layers[number - 1], self.layers[number - 2]
        below = rows_of(lower.h[1 : time_steps + 1] if masks is None else lower.up[:time_steps])
        d_below, room = rows_of(lower.d_h[:time_steps]), self.room[0, : len(below)]
        hidden = below.shape[1]
        for gate, d_a in enumerate(layer.d_ux(time_steps)):
            units = slice(gate * hidden, (gate + 1) * hidden)
            np.matmul(d_a.T, below, out=gradient[f"U{number}"][units])  # (10.28)
            np.matmul(self.ones[: len(d_a)], d_a, out=gradient[f"b{number}"][units])  # (10.23)
            part = room if gate else d_below
            np.matmul(d_a, p[f"U{number}"][units], out=part)  # (10.21), downwards
            if gate:
                np.add(d_below, part, out=d_below)


def first_lanes_of(window: Window) -> FirstLanes:
    """Return the lanes in which an example begins, for each step."""
    by_step: list[list[int]] = [[] for _ in window.x]
    t_of_each, lanes = np.nonzero(window.is_first)
    for t, lane in zip(t_of_each.tolist(), lanes.tolist(), strict=True):
        by_step[t].append(lane)
    return by_step


def rows_of(array: Array) -> Array:
    """Return (..., T, B, H) seen as (..., T * B, H)."""
    *first, time_steps, lanes, hidden = array.shape
    return array.reshape(*first, time_steps * lanes, hidden)
