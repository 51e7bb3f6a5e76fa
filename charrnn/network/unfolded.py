"""The network of figure 10.3, unfolded over a window of steps: layers of recurrence and a readout.

             y(1)   y(2)   y(3)
              |      |      |         V, c
    h2(0) -> h2(1)->h2(2)->h2(3)      W2, b2
              |      |      |         U2
    h1(0) -> h1(1)->h1(2)->h1(3)      W1, b1
              |      |      |         U1
             x(1)   x(2)   x(3)

All that need not be sequential is one product over all T x B rows; only ``W h`` is inside the loop.
The gradients (10.22) to (10.28) are sums over t, so each is one line under its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network import recurrence
from charrnn.network.matmul import Product
from charrnn.network.parameters import Array, Integers, Parameters, Size
from charrnn.network.readout import Readout
from charrnn.network.recurrence import Starts

State = list[Array]  # (B, H) for each layer
Masks = Sequence[Array]  # (1 or T, B, H) for each layer: what dropout lets through, and scaled how


@dataclass(frozen=True)
class Window:
    """T steps of B lanes: what is read and what should have been said."""

    x: Integers  # (T, B)
    y: Integers  # (T, B)
    begins: NDArray[np.bool_] | None = None  # (T, B) where the state before is zero
    idle: NDArray[np.bool_] | None = None  # (T, B) what counts for nothing

    def starts(self) -> Starts:
        """For each step, the lanes where an example begins."""
        starts: list[list[int]] = [[] for _ in self.x]
        if self.begins is not None:
            steps, lanes = np.nonzero(self.begins)
            for t, lane in zip(steps.tolist(), lanes.tolist(), strict=True):
                starts[t].append(lane)
        return starts


class Layer:
    """The buffers of one layer over the window, made once."""

    def __init__(self, steps: int, lanes: int, hidden: int, dtype: DTypeLike) -> None:
        self.h: Array = np.zeros((steps + 1, lanes, hidden), dtype)  # h[0]: where we started from
        self.d: Array = np.empty((steps, lanes, hidden), dtype)  # dL/dh, then dL/da
        self.up: Array = np.empty((steps, lanes, hidden), dtype)  # h after dropout
        self.product = Product(lanes, hidden, dtype)
        self.spare: Array = np.empty((lanes, hidden), dtype)
        self.h_steps = list(self.h)
        self.d_steps = list(self.d)


class Unfolded:
    """A network of a given size, unfolded over at most so many steps of so many lanes.

    ``layers[i].h[0]`` is where the next window starts from.
    """

    def __init__(self, size: Size, steps: int, lanes: int, dtype: DTypeLike = np.float32) -> None:
        self.size = size
        self.layers = [Layer(steps, lanes, size.hidden, dtype) for _ in range(size.layers)]
        self.readout = Readout(steps * lanes, size.symbols, dtype)
        self.one_hot: Array = np.empty(
            (steps * lanes, size.symbols if size.symbols <= FEW else 0), dtype
        )
        self.ones: Array = np.ones(steps * lanes, dtype)

    def nats(self, p: Parameters, window: Window) -> Array:
        """-log y_hat at y for each place of the window, (T, B); the state moves on."""
        top = self._forward(p, window, window.starts(), None)
        nats = self.readout.nats(p, rows_of(top), window.y.reshape(-1))
        self._move_on(len(window.x))
        return nats.reshape(window.y.shape)

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float:
        """The loss of the window in nats; its gradient times scale is left in ``gradient``.

        The state moves on to the next window, the gradient does not: truncated BPTT.
        """
        steps = len(window.x)
        starts = window.starts()
        top = self._forward(p, window, starts, masks)
        total = self.readout.nats_and_gradient(
            p,
            rows_of(top),
            window.y.reshape(-1),
            scale,
            None if window.idle is None else np.flatnonzero(window.idle),
            1.0 if masks is None else float(masks[-1].max()),
            gradient,
            rows_of(self.layers[-1].d[:steps]),
        )
        self._backward(p, window, starts, masks, gradient)
        self._move_on(steps)
        return total

    def _move_on(self, steps: int) -> None:
        for layer in self.layers:
            layer.h[0] = layer.h[steps]

    def _forward(self, p: Parameters, window: Window, starts: Starts, masks: Masks | None) -> Array:
        """The states of the top layer as the readout sees them, (T, B, H)."""
        steps = len(window.x)
        below: Array | None = None
        for number, layer in enumerate(self.layers, 1):
            U, W, b = p[f"U{number}"], p[f"W{number}"], p[f"b{number}"]
            a = layer.h[1 : steps + 1]
            if below is None:
                np.take(U + b, window.x, axis=0, out=a, mode="clip")  # x one-hot: U x is a row
            else:
                np.matmul(rows_of(below), U.T, out=rows_of(a))
                np.add(a, b, out=a)
            recurrence.forward(layer.h_steps, starts, W, layer.product)
            below = a
            if masks is not None:
                below = np.multiply(a, masks[number - 1], out=layer.up[:steps])
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
        """From dL/dh of the top layer, which the readout left there, to every gradient below."""
        steps = len(window.x)
        for number in range(len(self.layers), 0, -1):
            layer = self.layers[number - 1]
            d = layer.d[:steps]
            if masks is not None:
                np.multiply(d, masks[number - 1], out=d)
            W = p[f"W{number}"]
            recurrence.backward(layer.d_steps, layer.h_steps, starts, W, layer.product, layer.spare)
            h_before, d_a = layer.h[:steps], rows_of(d)
            if number > 1:
                lower = self.layers[number - 2]
                below = rows_of(lower.h[1 : steps + 1] if masks is None else lower.up[:steps])
                np.matmul(d_a.T, below, out=gradient[f"U{number}"])  # (10.28)
                np.matmul(d_a, p[f"U{number}"], out=rows_of(lower.d[:steps]))  # (10.21), downwards
                np.matmul(self.ones[: len(d_a)], d_a, out=gradient[f"b{number}"])  # (10.23)
            else:
                sum_by_symbol(d_a, window.x.reshape(-1), gradient["U1"], self.one_hot)  # (10.28)
                gradient["U1"].sum(axis=0, out=gradient["b1"])  # (10.23): every x is some symbol
            if window.begins is not None:
                rows_of(h_before)[np.flatnonzero(window.begins)] = 0
            np.matmul(d_a.T, rows_of(h_before), out=gradient[f"W{number}"])  # (10.26)


FEW = 200  # symbols up to which summing by a product is quicker than by sorting


def sum_by_symbol(d_a: Array, x: Integers, out: Array, one_hot: Array) -> None:
    """The sum of d_a(t) x(t)': row k of ``out`` is the sum of the rows of d_a where x is k."""
    symbols = len(out)
    if symbols <= one_hot.shape[1]:
        marks = one_hot[: len(x)]
        marks[...] = 0
        marks[np.arange(len(x)), x] = 1
        np.matmul(marks.T, d_a, out=out)
        return
    order = np.argsort(x, kind="stable")
    ids, firsts = np.unique(x[order], return_index=True)
    out[...] = 0
    out[ids] = np.add.reduceat(d_a[order], firsts, axis=0)


def rows_of(array: Array) -> Array:
    """(T, B, H) seen as (T * B, H)."""
    return array.reshape(-1, array.shape[-1])
