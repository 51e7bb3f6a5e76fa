"""Losses carried back through time, each from a place of its own, one step further at a time.

    L(t)  ->  h(t)  ->  h(t-1)  ->  h(t-2)  ->  ...

The state of step t - k is all that the step hands on to the next: h of every layer, and c where a
cell has one. Its gradient is that of the loss at t with what is read later held as it is. The
network is unfolded once, over all places; then each loss walks back through the cells by itself,
which call the same functions as in training.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.network.layer import Layer
from charrnn.network.parameters import Array, Parameters
from charrnn.network.readout import Readout
from charrnn.network.unfolded import State, Unfolded, Window, sum_by_symbol

Places = NDArray[np.intp]
Gradients = list[list[Array]]  # (R, H) for each state of each layer


class Stride(NamedTuple):
    """What is known of all losses when they have come one step further back."""

    gradient: Parameters  # what the step, k back, gives to the gradient of their sum
    norms: Array  # (R,) of dL(t)/d(state before that step), where there is such a state


class Walk:
    """A network unfolded over a window, and losses at some of its places."""

    def __init__(self, p: Parameters, window: Window, start: State) -> None:
        """All in float64; ``start`` is the state before the window, (B, H) each."""
        steps, lanes = window.x.shape
        self.p, self.window = p, window
        unfolded = Unfolded(p.architecture, steps, lanes, np.float64)
        self.layers = unfolded.layers
        self.seen = {name: unfolded.seen(name, window) for name in p.architecture.inputs}
        self._copy(start, unfolded.states)
        unfolded.nats(p, window)
        self._copy(start, unfolded.states)  # it has moved on
        self.begins = np.zeros((steps, lanes), np.bool_) if window.begins is None else window.begins

    def back(self, t: Places, lane: Places) -> Iterator[Stride]:
        """The losses at these places, (R,) each, walk back until the last has met its beginning.

        First comes what they do to the state of their own step, and to V and c.
        """
        gradient = self.p.like()
        d_top: Array = np.empty((len(t), self.p.architecture.hidden))
        d: Gradients = [[np.zeros_like(d_top) for _ in layer.states] for layer in self.layers]
        self._losses(t, lane, gradient, d_top)
        d[-1][0] = d_top
        yield Stride(gradient, norms_of(d))
        while len(t):
            gradient = self.p.like()
            d = self._step(t, lane, d, gradient)
            goes_on = ~self.begins[t, lane]
            d = [[of[goes_on] for of in layer] for layer in d]
            t, lane = t[goes_on], lane[goes_on]
            yield Stride(gradient, norms_of(d))
            is_inside = t > 0  # what lies before the window was not unfolded
            d = [[of[is_inside] for of in layer] for layer in d]
            t, lane = t[is_inside] - 1, lane[is_inside]

    def _losses(self, t: Places, lane: Places, gradient: Parameters, d_top: Array) -> None:
        readout = Readout(self.p.architecture, len(t), np.float64)
        bound = self.p.architecture.state_bounds[0]
        h = self.layers[-1].h[t + 1, lane]
        y = self.window.y[t, lane].astype(np.intp)
        readout.nats_and_gradient(self.p, h, y, 1.0, None, bound, gradient, d_top)

    def _step(self, t: Places, lane: Places, d: Gradients, gradient: Parameters) -> Gradients:
        """From the gradients of the states after step t to those of the states before it."""
        before: Gradients = []
        from_above: Array | None = None
        for number in range(len(self.layers), 0, -1):
            layer = self.layers[number - 1]
            d_after = d[number - 1]
            if from_above is not None:
                d_after[0] += from_above
            d_ux, d_wh, h_before, d_before = self._cell_back(layer, t, lane, d_after)
            W, U = self.p[f"W{number}"], self.p[f"U{number}"]
            d_before[0] += d_wh @ W  # (10.21)
            before.insert(0, d_before)
            gradient[f"W{number}"][...] = d_wh.T @ h_before  # (10.26)
            if f"d{number}" in gradient:
                d_own = gradient[f"d{number}"]
                d_own[...] = d_wh[:, -len(d_own) :].sum(0)
            gradient[f"b{number}"][...] = d_ux.sum(0)  # (10.23)
            if number > 1:
                from_above = d_ux @ U
                below = self.layers[number - 2].h[t + 1, lane]
                gradient[f"U{number}"][...] = d_ux.T @ below  # (10.28)
            else:
                x = self.window.x[t, lane]
                sum_by_symbol([d_ux], x, gradient["U1"], np.empty_like(d_ux))
                for name, seen in self.seen.items():
                    gradient[f"U1.{name}"][...] = d_ux.T @ seen[t, lane]
        return before

    def _cell_back(
        self, layer: Layer, t: Places, lane: Places, d_after: list[Array]
    ) -> tuple[Array, Array, Array, list[Array]]:
        """dL/d(U x), dL/d(W h), h before, and what the cell itself sends back to its states."""
        cell = layer.cell
        before = [state[t, lane] for state in layer.states]
        for state in before:
            state[self.begins[t, lane]] = 0
        after = [state[t + 1, lane] for state in layer.states]
        ux, tape = layer.ux[..., t, lane, :], layer.tape[t, lane]
        d_before = [np.zeros_like(d_after[0]), *d_after[1:]]
        kept, spare = np.empty_like(d_after[0]), np.empty_like(d_after[0])
        cell.slopes(ux, before, after, tape, kept, spare)
        cell.backward(d_after, ux, tape, kept, d_before)
        if cell.gates == 1:
            return d_after[0], d_after[0], before[0], d_before
        d_ux = np.concatenate([*ux[:-1], d_after[0] if cell.own_bias else ux[-1]], 1)
        return d_ux, np.concatenate(ux, 1), before[0], d_before

    @staticmethod
    def _copy(start: State, states: State) -> None:
        for state, given in zip(states, start, strict=True):
            state[0] = given


def norms_of(d: Gradients) -> Array:
    """The length of each row, over all states."""
    squares: Array = np.add.reduce([(of * of).sum(1) for layer in d for of in layer])
    return np.sqrt(squares, squares)
