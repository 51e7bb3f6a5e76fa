"""One step after another, for one lane or many: what is read next depends on what was just drawn.

The same cell and the same head as in training, and nothing of them rounded by chance. A product
adds up in another order for one row than for a thousand, and rounds otherwise; a text drawn alone
would then, now and again, not be the text drawn among others. So weights and states are put on a
grid that is as fine as float32 and coarse enough for float64 to hold every sum of a product
without an error, in whatever order it is added:

    bits of a weight + bits of a state + bits of how many are added  =  53
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import Array, Integers, Parameters

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Array64 = NDArray[np.float64]
State = list[Array64]  # (B, H) for each of the architecture's states

WORTHWHILE = 10_000_000  # multiply-adds for a thread, below which it costs more than it gives


class Stepper:
    """A network made ready to go step by step, with buffers for so many lanes.

    Where there is work enough, the lanes are shared out to so many threads.
    """

    def __init__(self, p: Parameters, lanes: int, workers: int = 1) -> None:
        self.architecture = architecture = p.architecture
        self._cell = cell = architecture.cell
        self._pool: ThreadPoolExecutor | None = None
        self._least = max(1, WORTHWHILE // len(p.flat))  # lanes for a thread
        self._workers = workers
        hidden, layers = architecture.hidden, architecture.layers
        state_bits = (53 - (hidden - 1).bit_length()) // 2
        bits = 53 - (hidden - 1).bit_length() - state_bits
        self._b_and_U_x = p["U1"].astype(float) + p["b1"]  # (K, G H)  x one-hot: U x is a row
        self._U = [on_grid(p[f"U{layer}"], bits).T for layer in range(2, layers + 1)]
        self._b = [p[f"b{layer}"].astype(float) for layer in range(2, layers + 1)]
        self._W = [on_grid(p[f"W{layer}"], bits).T for layer in range(1, layers + 1)]
        self._V = on_grid(p["V"], bits).T
        self._c = p["c"].astype(float)
        # A number beside which the last bit is worth one step of the grid.
        self._large = np.array(1.5 * 2.0 ** (52 - state_bits))
        columns = cell.gates * hidden
        self._ux: Array64 = np.empty((lanes, columns))
        self._wh: Array64 = np.empty((lanes, columns))
        self._tape: Array64 = np.empty((lanes, cell.tape * hidden))
        self._before = [np.empty((lanes, hidden)) for _ in cell.states]
        self._o: Array64 = np.empty((lanes, architecture.symbols))

    def zeros(self, lanes: int) -> State:
        """The state before anything is read."""
        hidden = self.architecture.hidden
        return [np.zeros((lanes, hidden)) for _ in self.architecture.state_names]

    def read(self, x: Integers, state: State) -> None:
        """Move the state on by one symbol a lane: x (B,)."""
        self._read(x, state, slice(0, len(x)))

    def step(self, x: Integers, state: State) -> Array64:
        """Read x (B,); the logits of what comes next (B, K), in an array that every step fills."""
        lanes = len(x)
        parts = min(self._workers, lanes // self._least)
        if parts < 2:
            self._step(x, state, slice(0, lanes))
        else:
            self._step_together(x, state, [lanes * part // parts for part in range(parts + 1)])
        return self._o[:lanes]

    def _step_together(self, x: Integers, state: State, bounds: list[int]) -> None:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # half as long to import as numpy

            self._pool = ThreadPoolExecutor(self._workers, "charrnn")
        jobs = [
            self._pool.submit(self._step, x[i:j], [h[i:j] for h in state], slice(i, j))
            for i, j in pairwise(bounds)
        ]
        for job in jobs:
            job.result()

    def _step(self, x: Integers, state: State, lanes: slice) -> None:
        self._read(x, state, lanes)
        o = self._o[lanes]
        np.dot(state[-len(self._before)], self._V, o)
        np.add(o, self._c, o)  # (10.10)
        self.architecture.head.logits(o)

    def _read(self, x: Integers, state: State, lanes: slice) -> None:
        cell, each = self._cell, len(self._before)
        ux, wh, tape = self._ux[lanes], self._wh[lanes], self._tape[lanes]
        self._b_and_U_x.take(x, 0, ux, "clip")
        for layer, W in enumerate(self._W):
            after = state[layer * each : (layer + 1) * each]
            if layer:
                np.dot(state[(layer - 1) * each], self._U[layer - 1], ux)
                np.add(ux, self._b[layer - 1], ux)
            np.dot(after[0], W, wh)
            before = after
            if cell.reads_before:
                before = [room[lanes] for room in self._before]
                for room, kept in zip(before, after, strict=True):
                    np.copyto(room, kept)
            cell.forward(ux, wh, before, after, tape)
            for h in after:
                np.add(h, self._large, h)
                np.subtract(h, self._large, h)


def on_grid(matrix: Array, bits: int) -> Array64:
    """The matrix rounded to so many bits, counted in each row from its largest number."""
    rows = matrix.astype(float)
    _, exponents = np.frexp(np.abs(rows).max(1, keepdims=True))
    steps = np.ldexp(1.0, exponents - bits)
    return np.asarray(np.rint(rows / steps) * steps)
