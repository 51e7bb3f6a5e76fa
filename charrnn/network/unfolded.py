"""The network of figure 10.3, unfolded over a window of steps: layers of a cell and a readout.

             y(1)   y(2)   y(3)
              |      |      |         V, c
    h2(0) -> h2(1)->h2(2)->h2(3)      W2, b2
              |      |      |         U2
    h1(0) -> h1(1)->h1(2)->h1(3)      W1, b1
              |      |      |         U1
             x(1)   x(2)   x(3)

Only ``W h`` is inside the loop over time. The other products are over all T x B rows at once. The
gradients (10.22) to (10.28) are sums over t, so each is one line with its number. The state before
an example is zero, so neither the state nor the gradient crosses from one example to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network import Array, Integers
from charrnn.network.architecture import INPUTS, Architecture
from charrnn.network.layer import Layer, Starts, rows_of
from charrnn.network.parameters import Parameters
from charrnn.network.readout import Readout
from charrnn.vocabulary import END

State = list[Array]  # (B, H) for each of the architecture's states
Masks = Sequence[Array]  # (1 or T, B, H) for each layer: the factors of dropout


@dataclass(frozen=True)
class Window:
    """T steps of B lanes: inputs x and targets y."""

    x: Integers  # (T, B)
    y: Integers  # (T, B)
    begins: NDArray[np.bool_] | None = None  # (T, B) whether the state before is zero
    idle: NDArray[np.bool_] | None = None  # (T, B) whether the loss is left out
    clock: Integers | None = None  # (T, B) characters of the example read so far
    left: Integers | None = None  # (T, B) characters to come: see inputs
    advance: int | None = None  # steps to the start of the next window; None: all

    @property
    def count(self) -> int:
        """The number of losses."""
        return self.y.size - (0 if self.idle is None else int(self.idle.sum()))

    def part(self, start: int, stop: int) -> Window:
        """Return the window of some of the lanes."""
        names = ("x", "y", "begins", "idle", "clock", "left")
        arrays = {name: getattr(self, name) for name in names}
        parts = {name: a[:, start:stop] for name, a in arrays.items() if a is not None}
        contiguous = {name: np.ascontiguousarray(parts[name]) for name in ("x", "y")}
        return replace(self, **parts | contiguous)


class Unfolded:
    """A network unfolded over at most `steps` steps of `lanes` lanes.

    ``states[i][0]`` is the state before the next window.
    """

    def __init__(
        self,
        architecture: Architecture,
        steps: int,
        lanes: int,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.architecture, self.lanes = architecture, lanes
        self.layers = [
            Layer(architecture.cell, steps, lanes, architecture.hidden, dtype)
            for _ in range(architecture.layers)
        ]
        self.states = [state for layer in self.layers for state in layer.states]
        self.readout = Readout(architecture, steps * lanes, dtype)
        self.ones: Array = np.ones(steps * lanes, dtype)
        self.room: Array = np.empty((steps * lanes, architecture.hidden), dtype)
        self.comes_apart = architecture.cell.comes_apart
        feeds_back = architecture.cell.feeds_back
        self._plain = Parameters.zeros(architecture.plain, dtype) if feeds_back else None
        self._of_plain = self._plain.like() if self._plain else None

    def read(self, p: Parameters, window: Window) -> None:
        """Read the window, without a loss."""
        self._forward(p.plain(self._plain), window, lanes_at(window.begins, window), None)
        self._move_on(window)

    def nats(self, p: Parameters, window: Window) -> Array:
        """Return -log y_hat at y for each place of the window, (T, B). Move the state on."""
        top = self._forward(p.plain(self._plain), window, lanes_at(window.begins, window), None)
        self._move_on(window)
        return self._nats(p, top, window)

    def _nats(self, p: Parameters, top: Array, window: Window) -> Array:
        nats = self.readout.nats(p, rows_of(top), window.y.reshape(-1))
        lengths = self.architecture.head.lengths
        if lengths is not None:  # END costs what the length costs
            ends, tau = lengths_in(window)
            nats[ends] = lengths.nats(p, tau)
        return nats.reshape(window.y.shape)

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
        nats_of_each: Array | None = None,
    ) -> float:
        """Return the loss in nats, and leave its gradient times scale in ``gradient``.

        Where ``nats_of_each`` is given, (T, B), leave the loss of each place there.

        The state moves on to the next window, the gradient does not: truncated BPTT.
        """
        steps = len(window.x)
        starts = lanes_at(window.begins, window)
        plain = p.plain(self._plain)
        of_plain = self._of_plain or gradient
        top = self._forward(plain, window, starts, masks)
        if nats_of_each is not None:
            nats_of_each[...] = self._nats(p, top, window)
        loudest = 1.0 if masks is None else float(masks[-1].max())
        total = self.readout.nats_and_gradient(
            plain,
            rows_of(top),
            window.y.reshape(-1),
            scale,
            self._without_loss(window),
            self.architecture.state_bounds[0] * loudest,
            of_plain,
            rows_of(self.layers[-1].d[:steps]),
        )
        self._backward(plain, window, starts, masks, of_plain)
        lengths = self.architecture.head.lengths
        if lengths is not None:
            total += lengths.fill_gradient(p, lengths_in(window)[1], scale, of_plain)
        if self._of_plain:
            p.gradient_from(of_plain, gradient)
        self._move_on(window)
        return total

    def _without_loss(self, window: Window) -> Integers | None:
        """Return the places without a loss of the readout."""
        silent, y = window.idle, window.y
        if self.architecture.head.lengths is not None:
            silent = y == END if silent is None else silent | (y == END)
        return None if silent is None else np.flatnonzero(silent)

    def _move_on(self, window: Window) -> None:
        steps = len(window.x) if window.advance is None else window.advance
        for state in self.states:
            state[0] = state[steps]

    def _forward(self, p: Parameters, window: Window, starts: Starts, masks: Masks | None) -> Array:
        """Return the states of the top layer after dropout, (T, B, H)."""
        steps = len(window.x)
        below: Array | None = None
        for number, layer in enumerate(self.layers, 1):
            U, W, b = p[f"U{number}"], p[f"W{number}"], p[f"b{number}"]
            ux, h = layer.ux_rows[:, : window.x.size], layer.h[1 : steps + 1]
            gates, _, hidden = ux.shape
            if below is None:
                tables = (U + b).reshape(-1, gates, hidden).swapaxes(0, 1)  # (G, K, H)
                for table, room in zip(tables, ux, strict=True):  # x one-hot: U x is a row
                    np.take(table, window.x.reshape(-1), axis=0, out=room, mode="clip")
                for name in self.architecture.inputs:
                    columns = p[f"U1.{name}"].reshape(gates, hidden, -1).swapaxes(1, 2)
                    np.add(ux, rows_of(self.seen(name, window)) @ columns, out=ux)
            else:
                np.matmul(rows_of(below), U.reshape(gates, hidden, -1).swapaxes(1, 2), out=ux)
                np.add(ux, b.reshape(gates, 1, hidden), out=ux)
            if self.comes_apart:
                np.tanh(layer.ux[:steps], out=h)  # (10.9), at once: W h is zero
            else:
                layer.forward(starts, W, p.views.get(f"d{number}"))
            below = h
            if masks is not None:
                below = np.multiply(h, masks[number - 1], out=layer.up[:steps])
        assert below is not None
        return below

    def _backward(
        self,
        p: Parameters,
        window: Window,
        starts: Starts,
        masks: Masks | None,
        gradient: Parameters,
    ) -> None:
        """Compute all gradients below the readout, from the dL/dh that it left in the top layer."""
        steps = len(window.x)
        for number in range(len(self.layers), 0, -1):
            layer = self.layers[number - 1]
            d = layer.d[:steps]
            if masks is not None:
                np.multiply(d, masks[number - 1], out=d)
            if self.comes_apart:
                h, part = layer.h[1 : steps + 1], layer.up[:steps]
                np.multiply(h, h, out=part)
                np.multiply(part, d, out=part)
                np.subtract(d, part, out=d)
                continue  # W h is zero
            layer.backward(starts, p[f"W{number}"])
            d_wh, h_before = layer.d_wh_rows[:, : window.x.size], rows_of(layer.h[:steps])
            if window.begins is not None:
                h_before[np.flatnonzero(window.begins)] = 0
            d_W = gradient[f"W{number}"].reshape(len(d_wh), -1, h_before.shape[1])
            np.matmul(d_wh.swapaxes(1, 2), h_before, out=d_W)  # (10.26)
            if f"d{number}" in gradient.views:
                np.matmul(self.ones[: len(h_before)], d_wh[-1], out=gradient[f"d{number}"])
            if number > 1:
                self._downwards(p, steps, number, masks, gradient)
        d_ux, room = self.layers[0].d_ux(steps), self.room[: window.x.size]
        sum_by_symbol(d_ux, window.x.reshape(-1), gradient["U1"], room)  # (10.28)
        gradient["U1"].sum(axis=0, out=gradient["b1"])  # (10.23): every x is some symbol
        for name in self.architecture.inputs:
            seen = rows_of(self.seen(name, window))
            by_gate = gradient[f"U1.{name}"].reshape(len(d_ux), -1, seen.shape[1])
            for d_a, columns in zip(d_ux, by_gate, strict=True):
                np.matmul(d_a.T, seen, out=columns)  # (10.28)

    def _downwards(
        self, p: Parameters, steps: int, number: int, masks: Masks | None, gradient: Parameters
    ) -> None:
        """Compute the gradients of U, b and the layer below from dL/d(U x), gate by gate."""
        layer, lower = self.layers[number - 1], self.layers[number - 2]
        below = rows_of(lower.h[1 : steps + 1] if masks is None else lower.up[:steps])
        d_below, room = rows_of(lower.d[:steps]), self.room[: len(below)]
        hidden = below.shape[1]
        for gate, d_a in enumerate(layer.d_ux(steps)):
            units = slice(gate * hidden, (gate + 1) * hidden)
            np.matmul(d_a.T, below, out=gradient[f"U{number}"][units])  # (10.28)
            np.matmul(self.ones[: len(d_a)], d_a, out=gradient[f"b{number}"][units])  # (10.23)
            each = room if gate else d_below
            np.matmul(d_a, p[f"U{number}"][units], out=each)  # (10.21), downwards
            if gate:
                np.add(d_below, each, out=d_below)

    def seen(self, name: str, window: Window) -> Array:
        """Return the features of an input at each place, (T, B, F)."""
        return INPUTS[name].seen(getattr(window, name), self.ones.dtype)


def lengths_in(window: Window) -> tuple[Integers, Integers]:
    """Return the rows of the ENDs whose loss counts, and the length of each example."""
    assert window.clock is not None
    is_end = window.y == END
    if window.idle is not None:
        is_end &= ~window.idle
    return np.flatnonzero(is_end), window.clock[is_end]


def lanes_at(marks: NDArray[np.bool_] | None, window: Window) -> Starts:
    """Return the lanes that are marked, for each step."""
    by_step: list[list[int]] = [[] for _ in window.x]
    if marks is not None:
        steps, lanes = np.nonzero(marks)
        for t, lane in zip(steps.tolist(), lanes.tolist(), strict=True):
            by_step[t].append(lane)
    return by_step


FEW = 200  # symbols up to which summing by a product can be faster than by sorting
SHORT = 1 << 17  # numbers up to which it is faster


def sum_by_symbol(d_a: Sequence[Array], x: Integers, out: Array, room: Array) -> None:
    """Sum d_a(t) x(t)': row k of ``out`` becomes the sum of the rows of d_a where x is k.

    d_a is (R, H) for each gate, out (K, G H), and room (R, H).
    """
    symbols, hidden = len(out), room.shape[1]
    by_gate = out.reshape(symbols, len(d_a), hidden).swapaxes(0, 1)
    if symbols <= FEW and room.size <= SHORT:
        marks = np.zeros((len(x), symbols), out.dtype)
        marks[np.arange(len(x)), x] = 1
        for d, sums in zip(d_a, by_gate, strict=True):
            np.matmul(marks.T, d, out=sums)
        return
    order = np.argsort(x, kind="stable")
    counts = np.bincount(x, minlength=symbols)
    ends = np.cumsum(counts)
    ones = np.ones(counts.max(), out.dtype)
    runs = list(zip((ends - counts).tolist(), ends.tolist(), strict=True))
    for d, sums in zip(d_a, by_gate, strict=True):
        np.take(d, order, axis=0, out=room, mode="clip")
        for total, (start, end) in zip(sums, runs, strict=True):
            np.matmul(ones[: end - start], room[start:end], out=total)
