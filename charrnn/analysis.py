"""Analyses of a trained network: the reach of its gradient, a vector for a text.

    L(t)  ->  h(t)  ->  h(t-1)  ->  h(t-2)  ->  ...         reach: how far the gradient goes back

A product of Jacobians W' diag(1 - h^2) shrinks or grows with the distance. If it shrinks much
faster than the spectral radius of W implies, the units are saturated.

    END  a  n  n  a          END
     h -> h -> h -> h -> h  ---->      embed: the many to one of figure 10.5
                         |
                     the vector
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network import Array
from charrnn.network.architecture import read_before, still_to_come
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import Readout
from charrnn.network.step import Network
from charrnn.network.unfolded import Layer, State, Unfolded, Window
from charrnn.vocabulary import END, Ids

Places = NDArray[np.intp]
Gradients = list[list[Array]]  # (R, H) for each state of each layer


class Walk:
    """A network unfolded over a window, and losses at some of its places."""

    def __init__(self, p: Parameters, window: Window, start: State) -> None:
        """Unfold the network in float64; ``start`` is the state before the window, (B, H) each."""
        steps, lanes = window.x.shape
        self.p, self.window = p, window
        unfolded = Unfolded(p.architecture, steps, lanes, np.float64)
        self.layers = unfolded.layers
        for state, given in zip(unfolded.states, start, strict=True):
            state[0] = given
        unfolded.nats(p, window)
        for state, given in zip(unfolded.states, start, strict=True):
            state[0] = given  # nats() changes it
        self.begins = np.zeros((steps, lanes), np.bool_) if window.begins is None else window.begins

    def back(self, t: Places, lane: Places) -> Iterator[Array]:
        """Walk back from the losses at these places, (R,) each, to where their examples begin.

        Yield the norm of the gradient of each loss by the states, one more step back each time.
        """
        d_top: Array = np.empty((len(t), self.p.architecture.hidden))
        d: Gradients = [[np.zeros_like(d_top) for _ in layer.states] for layer in self.layers]
        readout = Readout(self.p.architecture, len(t), np.float64)
        h, y = self.layers[-1].h[t + 1, lane], self.window.y[t, lane].astype(np.intp)
        readout.nats_and_gradient(self.p, h, y, 1.0, None, 1.0, self.p.like(), d_top)
        d[-1][0] = d_top
        yield norms_of(d)
        while len(t):
            d = self._step(t, lane, d)
            goes_on = ~self.begins[t, lane]
            d = [[of[goes_on] for of in layer] for layer in d]
            t, lane = t[goes_on], lane[goes_on]
            yield norms_of(d)
            is_inside = t > 0  # steps before the window are not unfolded
            d = [[of[is_inside] for of in layer] for layer in d]
            t, lane = t[is_inside] - 1, lane[is_inside]

    def _step(self, t: Places, lane: Places, d: Gradients) -> Gradients:
        """Return the gradients of the states before step t, from those after it."""
        before: Gradients = []
        from_above: Array | None = None
        for number in range(len(self.layers), 0, -1):
            d_after = d[number - 1]
            if from_above is not None:
                d_after[0] += from_above
            d_ux, d_wh, d_before = self._cell_back(self.layers[number - 1], t, lane, d_after)
            d_before[0] += d_wh @ self.p[f"W{number}"]  # (10.21)
            before.insert(0, d_before)
            if number > 1:
                from_above = d_ux @ self.p[f"U{number}"]
        return before

    def _cell_back(
        self, layer: Layer, t: Places, lane: Places, d_after: list[Array]
    ) -> tuple[Array, Array, list[Array]]:
        """Return dL/d(U x), dL/d(W h) and the gradients of the states before."""
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
            return d_after[0], d_after[0], d_before
        d_ux = np.concatenate([*ux[:-1], d_after[0] if cell.own_bias else ux[-1]], 1)
        return d_ux, np.concatenate(ux, 1), d_before


def norms_of(d: Gradients) -> Array:
    """Return the norm of each row, over all states."""
    squares: Array = np.add.reduce([(of * of).sum(1) for layer in d for of in layer])
    return np.sqrt(squares, squares)


FAR: Final = 200  # steps back, at most
LANES: Final = 16
LENGTH: Final = 3 * FAR  # steps of a lane: to warm up, to walk back, and to start from
WORK: Final = 1 << 25  # parameters times losses
FEWEST, MOST = 32, 512  # losses: fewer in a large network
TINY: Final = 1e-250  # below it, a norm has vanished
HUGE: Final = 1e100  # above it, a norm has exploded, and the walk ends


@dataclass(frozen=True)
class Reach:
    """The reach of gradients; norms and losses are for k = 0, 1, 2 ... steps back."""

    norms: list[float]
    losses: list[int]  # number of them whose example had begun by then
    spectral_radius: float

    @property
    def decay_per_step(self) -> float | None:
        """Return the factor by which the norm changes each step: the slope of its logarithm."""
        k = np.arange(1, len(self.norms))
        norms, weights = np.array(self.norms[1:]), np.sqrt(self.losses[1:])
        there = norms > TINY
        if np.count_nonzero(there) < 2:
            return None
        slope, _ = np.polyfit(k[there], np.log(norms[there]), 1, w=weights[there])
        return float(np.exp(slope))

    def cut_off_share(self, horizon: int) -> float:
        """Return the share of the norms beyond the horizon in the sum of all."""
        sums = np.array(self.norms) * np.array(self.losses)
        total = float(sums.sum())
        return float(sums[horizon:].sum()) / total if total else 0.0


def reach_of(model: LanguageModel, ids: Ids) -> Reach:
    """Measure the reach of gradients on a text."""
    p = Parameters(model.architecture, model.parameters.flat.astype(np.float64)).plain()
    window = stretches(ids)
    lanes = window.x.shape[1]
    start: State = [np.zeros((lanes, p.architecture.hidden)) for _ in p.architecture.state_names]
    count = max(FEWEST, min(MOST, WORK // p.architecture.parameter_count))  # of losses
    norms: list[float] = []
    losses: list[int] = []
    for back, step in enumerate(Walk(p, window, start).back(*places(window, count))):
        if len(step):
            norms.append(float(step.mean()))
            losses.append(len(step))
        if back == FAR or norms[-1] > HUGE:
            break
    return Reach(norms, losses, spectral_radius(p))


def stretches(ids: Ids) -> Window:
    """Return stretches of a text, side by side, from where an example begins if possible."""
    read = np.concatenate([np.array([END], ids.dtype), ids])
    lanes = max(1, min(LANES, len(ids) // LENGTH))
    share = len(ids) // lanes
    length = min(LENGTH, share if lanes == 1 else share // 2)
    firsts = []
    for first in range(0, lanes * share, share):
        begun = np.flatnonzero(read[first : first + share // 2] == END)
        firsts.append(first + int(begun[0]) if len(begun) else first)
    steps = np.arange(length + 1)
    symbols = read[np.array(firsts) + steps[:, None]].astype(np.intp)
    x, y = symbols[:-1], symbols[1:]
    places = np.array(firsts) + steps[:-1, None]  # of the targets, in the text
    clock, left = read_before(ids)[places], still_to_come(ids)[places]
    return Window(x, y, x == END, clock=clock, left=left)


def places(window: Window, count: int) -> tuple[Places, Places]:
    """Return steps and lanes of the losses: spread evenly over places with enough history."""
    steps = np.arange(len(window.x))[:, None]
    known = np.broadcast_to(steps >= 2 * FAR, window.x.shape)
    if window.begins is not None:
        known = known | np.logical_or.accumulate(window.begins)
    t, lane = np.nonzero(known if known.any() else np.ones_like(known))
    chosen = np.unique(np.linspace(0, len(t) - 1, count).round().astype(np.intp))
    return t[chosen], lane[chosen]


def spectral_radius(p: Parameters) -> float:
    """Return the largest spectral radius of W, over all layers and gates."""
    hidden = p.architecture.hidden
    layers = [p[f"W{n + 1}"].reshape(-1, hidden, hidden) for n in range(p.architecture.layers)]
    blocks = np.concatenate(layers).astype(np.float64)
    return max(float(np.abs(np.linalg.eigvals(block)).max()) for block in blocks)


Vectors = NDArray[np.float32]

EMBEDDING_LANES: Final = 512  # texts read side by side


def embed(model: LanguageModel, texts: Sequence[str]) -> Vectors:
    """Return the top state after the last character of each text: (n, H)."""
    network, a = Network(model.parameters), model.architecture
    top = len(a.state_names) - len(a.cell.states)
    ids = model.vocabulary.encode("".join(texts)).astype(np.intp)
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")  # lanes that have ended come last
    vectors: Vectors = np.empty((len(texts), a.hidden), np.float32)
    for at in range(0, len(texts), EMBEDDING_LANES):
        lanes = order[at : at + EMBEDDING_LANES]
        size, start = sizes[lanes], starts[lanes]
        state = network.zeros(len(lanes), left=size)
        network.read(np.full(len(lanes), END), state)
        for t in range(int(size[0])):
            longer = int(np.searchsorted(-size, -t))  # lanes with a symbol here
            network.read(ids[start[:longer] + t], [h[:longer] for h in state])
        vectors[lanes] = state[top]
    return vectors
