"""The network one step at a time, for drawing: the next input depends on the last output.

It uses the cell and the head of training, on the grid: texts drawn alone and together are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import numpy as np

from charrnn.network.architecture import INPUTS
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import SETTLED, Array64, Integers, settles, snap
from charrnn.network.threads import Threads

State = list[Array64]  # (B, H) for each of the architecture's states
InputCounts = Mapping[str, Integers]  # (B,) for inputs
NONE: Final[InputCounts] = {}

WORTHWHILE = 10_000_000  # multiply-adds of a thread, below which threads cost time


class Stepper:
    """A network with buffers for steps of at most `lanes` lanes.

    If there is enough work, the lanes are split among at most `threads` threads.
    """

    def __init__(self, p: Parameters, lanes: int, threads: int = 1) -> None:
        self.architecture = architecture = p.architecture
        self._cell = cell = architecture.cell
        self._pool = Threads(threads)
        self._least = max(1, WORTHWHILE // len(p.flat))  # lanes for a thread
        self._threads, self.lanes = threads, lanes
        hidden, layers = architecture.hidden, architecture.layers
        exact = p.exact()
        self._large = architecture.grid.large
        self._b_and_U_x = exact["U1"] + exact["b1"]  # (K, G H)  x one-hot: U x is a row
        self._U = [exact[f"U{layer}"].T for layer in range(2, layers + 1)]
        self._b = [exact[f"b{layer}"] for layer in range(2, layers + 1)]
        self._W = [exact[f"W{layer}"].T for layer in range(1, layers + 1)]
        self._own_bias = [exact.get(f"d{layer}") for layer in range(1, layers + 1)]
        self._V, self._c = exact["V"].T, exact["c"]
        self._columns = {name: exact[f"U1.{name}"].T for name in architecture.inputs}
        columns = cell.gates * hidden
        sizes = (columns, columns, hidden, architecture.symbols)
        self._ux, self._wh, self._tape, self._o = (np.empty((lanes, size)) for size in sizes)

    def zeros(self, lanes: int) -> State:
        """Return the state before the first symbol."""
        hidden = self.architecture.hidden
        return [np.zeros((lanes, hidden)) for _ in self.architecture.state_names]

    def read(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> None:
        """Read x (B,) at this index of each text. Move the state on."""
        self._read(x, state, slice(0, len(x)), index, counts)

    def step(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> Array64:
        """Read x (B,) at this index of each text, 0 for the first END. Return logits (B, K).

        Every step reuses the logits. ``counts`` are those of inputs, (B,); for the clock the index.
        """
        lanes = len(x)
        parts = min(self._threads, lanes // self._least)
        if parts < 2:
            self._step(x, state, slice(0, lanes), index, counts)
            return self._o[:lanes]
        bounds = [lanes * part // parts for part in range(parts + 1)]
        jobs = []
        for i, j in pairwise(bounds):
            part = {name: count[i:j] for name, count in counts.items()}
            states = [h[i:j] for h in state]
            jobs.append(self._pool.submit(self._step, x[i:j], states, slice(i, j), index, part))
        for job in jobs:
            job.result()
        return self._o[:lanes]

    def _step(self, x: Integers, state: State, lanes: slice, at: int, counts: InputCounts) -> None:
        self._read(x, state, lanes, at, counts)
        o = self._o[lanes]
        np.dot(state[-len(self._cell.states)], self._V, o)
        np.add(o, self._c, o)  # (10.10)
        self.architecture.head.logits(o)

    def _read(self, x: Integers, state: State, lanes: slice, at: int, counts: InputCounts) -> None:
        cell, each = self._cell, len(self._cell.states)
        ux, wh, tape = self._ux[lanes], self._wh[lanes], self._tape[lanes]
        self._b_and_U_x.take(x, 0, ux, "clip")
        for name, columns in self._columns.items():
            count = counts[name] if name in counts else np.full(len(x), at)
            np.add(ux, INPUTS[name].seen(count, np.float64, self._large) @ columns, ux)
        for layer, W in enumerate(self._W):
            after = state[layer * each : (layer + 1) * each]
            if layer:
                np.dot(state[(layer - 1) * each], self._U[layer - 1], ux)
                np.add(ux, self._b[layer - 1], ux)
            np.dot(after[0], W, wh)
            own_bias = self._own_bias[layer]
            if own_bias is not None:
                np.add(wh[:, -len(own_bias) :], own_bias, tape)
            cell.forward(self._by_gate(ux), self._by_gate(wh), after, after, tape)
            snap(after, self._large)
            if settles(at):
                snap(after, SETTLED)

    def _by_gate(self, columns: Array64) -> Array64:
        """Return (B, G H) in the cell's shape."""
        gates = self._cell.gates
        return columns if gates == 1 else columns.reshape(len(columns), gates, -1).swapaxes(0, 1)
