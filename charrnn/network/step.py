"""The network one symbol at a time, in float64: for drawing, scoring, filling in and embedding.

A state is a list of arrays with a row for each lane:

    h1, h2, ...     (B, H)  the states of each layer, as in ``Architecture.state_names``
    clock, to_come  (B,)    the inputs besides symbols, if the network has them: the number of
                            characters read, and the number of characters to come

A step moves the state on in place and counts the inputs up and down. Where an example begins, the
caller passes ``zeros``.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network.arrays import Array, Array64, Integers
from charrnn.network.parameters import Parameters, count_features

StepState = list[NDArray[Any]]  # the first axis is the lane
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
        layers, upper = range(1, a.layers + 1), range(2, a.layers + 1)
        gates = self._cell.gates
        self._stacked = () if gates == 1 else (gates,)  # the first axis of what is by gate
        # x is one-hot: U x is a row of each gate's table. (G K, H), with labels (G (K + L), H)
        self._table = self._by_gate((plain["U1"] + plain["b1"]).T).reshape(-1, a.hidden)
        # of each gate in the table
        self._first_rows = len(plain["U1"]) * np.arange(gates).reshape(*self._stacked, 1)
        self._W = {layer: self._by_gate(plain[f"W{layer}"]) for layer in layers}  # (G, H, H)
        self._U = {layer: self._by_gate(plain[f"U{layer}"]) for layer in upper}  # (G, H, H)
        self._b = {layer: self._by_gate(plain[f"b{layer}"][:, None]) for layer in upper}
        self._d = {layer: plain.get(f"d{layer}") for layer in layers}
        self._C = {name: self._by_gate(plain[f"U1.{name}"]) for name in a.inputs}  # (G, F, H)
        self._V, self._c = np.ascontiguousarray(plain["V"].T), plain["c"]
        most = np.abs(self._V).sum(0) + np.abs(self._c)  # |o| <= |c| + |V| |h|, with |h| <= 1
        self.is_bounded = bool(most.max() < math.log(np.finfo(dtype).max) - 8)  # exp is finite
        self._memory: list[Array64] = []
        self._make_room(1)

    def _by_gate(self, matrix: Array) -> Array:
        """Return a matrix (G H, I) as the factor of rows: (G, I, H), or (I, H) for one gate."""
        by_gate = matrix.reshape(*self._stacked, -1, matrix.shape[1])
        return np.ascontiguousarray(by_gate.swapaxes(-2, -1))

    def _make_room(self, lanes: int) -> None:
        """Make buffers for that many lanes, in the memory of the most lanes so far."""
        hidden, symbols = self.architecture.hidden, self.architecture.symbols
        by_gate = (*self._stacked, lanes, hidden)
        shapes = by_gate, by_gate, (lanes, hidden), (lanes, symbols)
        sizes = [math.prod(shape) for shape in shapes]
        if not self._memory or sizes[0] > len(self._memory[0]):
            self._memory = [np.empty(size, self._dtype) for size in sizes]
        self._ux, self._wh, self._tape, self._o = (
            memory[:size].reshape(shape)
            for memory, size, shape in zip(self._memory, sizes, shapes, strict=True)
        )

    def zeros(self, lanes: int, clock: Count = 0, to_come: Count = 0) -> StepState:
        """Return the state before the first symbol; counts are one for all lanes, or for each."""
        a, counts = self.architecture, {"clock": clock, "to_come": to_come}
        state: StepState = [np.zeros((lanes, a.hidden), self._dtype) for _ in a.state_names]
        return state + [np.zeros(lanes, np.int64) + counts[name] for name in a.inputs]

    def step(self, x: Integers, state: StepState) -> Array64:
        """Read x (B,), move the state on, and return the logits (B, K), in a buffer."""
        lanes, many = len(x), len(self._cell.states)
        if lanes != len(self._o):
            self._make_room(lanes)
        ux, wh, tape, o = self._ux, self._wh, self._tape, self._o
        self._table.take(x + self._first_rows, 0, ux, "clip")
        counts = state[len(self.architecture.state_names) :]
        for name, count in zip(self._C, counts, strict=True):
            ux += count_features(name, count, self._dtype) @ self._C[name]
            count += COUNTS_BY[name]  # in the state
        states = state[:many]  # of one layer
        for layer, W in self._W.items():
            if layer > 1:  # states are still those of the layer below
                np.matmul(states[0], self._U[layer], out=ux)
                np.add(ux, self._b[layer], out=ux)
                states = state[(layer - 1) * many : layer * many]
            np.matmul(states[0], W, out=wh)
            d = self._d[layer]
            if d is not None:
                np.add(wh[-1], d, out=tape)
            self._cell.forward(ux, wh, states, states, tape)
        np.matmul(states[0], self._V, out=o)
        np.add(o, self._c, out=o)  # (10.10)
        self.architecture.head.logits(o)
        return o
