"""The network one symbol at a time, in float64: for drawing, scoring, filling in and embedding.

A state is a list of arrays with a row for each lane:

    h1, h2, ...     (B, H)  the states of each layer, as in ``Architecture.state_names``
    clock, to_come  (B,)    the inputs besides symbols, if the network has them: the number of
                            characters read, and the number of characters to come

A step moves the state on in place and counts the inputs up and down. Where an example begins, the
caller passes ``zeros``.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network import Array64, Integers
from charrnn.network.parameters import Parameters, seen

State = list[NDArray[Any]]  # the first axis is the lane
Count = int | Integers

COUNTS_BY: Final = {"clock": 1, "to_come": -1}  # how an input changes from step to step


class Network:
    """A network with its parameters in float64, and buffers for the most lanes so far."""

    def __init__(self, p: Parameters, dtype: DTypeLike = np.float64) -> None:
        """Use ``dtype`` in place of float64: check-ups of training are faster in float32."""
        self._dtype = dtype
        self.architecture = a = p.architecture
        self._cell = a.cell if not a.cell.feeds_back else a.plain.cell
        plain = Parameters(a, p.flat.astype(dtype)).plain()
        layers = range(1, a.layers + 1)
        self._table = plain["U1"] + plain["b1"]  # (K, G H)  x is one-hot: U x is a row
        transposed = {name: np.ascontiguousarray(plain[name].T) for name in plain}
        self._U = [transposed[f"U{layer}"] for layer in layers]  # (H, G H)  from layer 2 on
        self._b = [plain[f"b{layer}"] for layer in layers]
        self._W = [transposed[f"W{layer}"] for layer in layers]  # (H, G H)
        self._d = [plain.get(f"d{layer}") for layer in layers]
        self._C = {name: transposed[f"U1.{name}"] for name in a.inputs}  # (F, G H)
        self._V, self._c = transposed["V"], plain["c"]
        most = np.abs(self._V).sum(0) + np.abs(self._c)  # |o| <= |c| + |V| |h|, with |h| <= 1
        self.is_bounded = bool(most.max() < math.log(np.finfo(dtype).max) - 8)  # exp is finite
        self._make_room(1)

    def _make_room(self, lanes: int) -> None:
        columns = self._table.shape[1]
        sizes = columns, columns, self.architecture.hidden, self.architecture.symbols
        self._ux, self._wh, self._tape, self._o = (
            np.empty((lanes, size), self._dtype) for size in sizes
        )

    def zeros(self, lanes: int, clock: Count = 0, to_come: Count = 0) -> State:
        """Return the state before the first symbol, after ``clock`` characters of its text and
        before ``to_come`` more: a number, or one for each lane.
        """
        a, counts = self.architecture, {"clock": clock, "to_come": to_come}
        state: State = [np.zeros((lanes, a.hidden), self._dtype) for _ in a.state_names]
        return state + [np.zeros(lanes, np.int64) + counts[name] for name in a.inputs]

    def step(self, x: Integers, state: State) -> Array64:
        """Read x (B,), move the state on, and return the logits (B, K), in a buffer."""
        lanes, many = len(x), len(self._cell.states)
        if lanes > len(self._ux):
            self._make_room(lanes)
        ux, wh, tape, o = (room[:lanes] for room in (self._ux, self._wh, self._tape, self._o))
        self._table.take(x, 0, ux, "clip")
        for name, count in zip(self._C, state[-len(self._C) :], strict=False):
            ux += seen(name, count, self._dtype) @ self._C[name]
            count += COUNTS_BY[name]
        states = state[:many]  # of one layer
        for layer, W in enumerate(self._W):
            if layer:
                np.matmul(states[0], self._U[layer], out=ux)
                np.add(ux, self._b[layer], out=ux)
                states = state[layer * many : (layer + 1) * many]
            np.matmul(states[0], W, out=wh)
            d = self._d[layer]
            if d is not None:
                np.add(wh[:, -len(d) :], d, out=tape)
            self._cell.forward(self._by_gate(ux), self._by_gate(wh), states, states, tape)
        np.matmul(states[0], self._V, out=o)
        np.add(o, self._c, out=o)  # (10.10)
        self.architecture.head.logits(o)
        return o

    def _by_gate(self, columns: Array64) -> Array64:
        """Return (B, G H) as the cell reads it: (G, B, H), or (B, H) for one gate."""
        gates = self._cell.gates
        return columns if gates == 1 else columns.reshape(len(columns), gates, -1).swapaxes(0, 1)
