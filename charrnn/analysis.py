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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.network import Array
from charrnn.network.architecture import read_before, seen, still_to_come
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import Readout
from charrnn.network.step import Network
from charrnn.network.unfolded import Layer, State, Unfolded, Window, sum_by_symbol
from charrnn.vocabulary import END, Ids

Places = NDArray[np.intp]
Gradients = list[list[Array]]  # (R, H) for each state of each layer


class StepBack(NamedTuple):
    """The results of one more step back, of all losses."""

    gradient: Parameters  # the part of this step in the gradient of their sum
    norms: Array  # (R,) of dL(t)/d(state before the step), if there is one


class Walk:
    """A network unfolded over a window, and losses at some of its places."""

    def __init__(self, p: Parameters, window: Window, start: State) -> None:
        """Unfold the network in float64; ``start`` is the state before the window, (B, H) each."""
        steps, lanes = window.x.shape
        self.p, self.window = p, window
        unfolded = Unfolded(p.architecture, steps, lanes, np.float64)
        self.layers = unfolded.layers
        self.seen = {
            name: seen(name, getattr(window, name), np.float64) for name in p.architecture.inputs
        }
        for state, given in zip(unfolded.states, start, strict=True):
            state[0] = given
        unfolded.nats(p, window)
        for state, given in zip(unfolded.states, start, strict=True):
            state[0] = given  # nats() changes it
        self.begins = np.zeros((steps, lanes), np.bool_) if window.begins is None else window.begins

    def back(self, t: Places, lane: Places) -> Iterator[StepBack]:
        """Walk back from the losses at these places, (R,) each, to where their examples begin."""
        gradient = self.p.like()
        d_top: Array = np.empty((len(t), self.p.architecture.hidden))
        d: Gradients = [[np.zeros_like(d_top) for _ in layer.states] for layer in self.layers]
        readout = Readout(self.p.architecture, len(t), np.float64)
        h, y = self.layers[-1].h[t + 1, lane], self.window.y[t, lane].astype(np.intp)
        readout.nats_and_gradient(self.p, h, y, 1.0, None, 1.0, gradient, d_top)
        d[-1][0] = d_top
        yield StepBack(gradient, norms_of(d))
        while len(t):
            gradient = self.p.like()
            d = self._step(t, lane, d, gradient)
            goes_on = ~self.begins[t, lane]
            d = [[of[goes_on] for of in layer] for layer in d]
            t, lane = t[goes_on], lane[goes_on]
            yield StepBack(gradient, norms_of(d))
            is_inside = t > 0  # steps before the window are not unfolded
            d = [[of[is_inside] for of in layer] for layer in d]
            t, lane = t[is_inside] - 1, lane[is_inside]

    def _step(self, t: Places, lane: Places, d: Gradients, gradient: Parameters) -> Gradients:
        """Return the gradients of the states before step t, from those after it."""
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
        """Return dL/d(U x), dL/d(W h), h before, and the gradients of the states before."""
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
    cosine: dict[int, float]  # of the gradient with a horizon, with the whole one
    spectral_radius: float
    mean_slope: float | None = None  # 1 - h^2 of tanh units, the factor of W at each step

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

    @property
    def explodes(self) -> bool:
        is_far = len(self.norms) > FAR or self.norms[-1] > HUGE
        return is_far and (self.decay_per_step or 0.0) >= 1

    def cut_off_share(self, horizon: int) -> float:
        """Return the share of the norms beyond the horizon in the sum of all."""
        sums = np.array(self.norms) * np.array(self.losses)
        total = float(sums.sum())
        return float(sums[horizon:].sum()) / total if total else 0.0


def reach_of(model: LanguageModel, ids: Ids, horizons: tuple[int, ...] = ()) -> Reach:
    """Measure the reach of gradients on a text; cosines are for horizons 1, 2, 4 ... and these."""
    own = Parameters(model.architecture, model.parameters.flat.astype(np.float64))
    p = own.plain()
    window = stretches(ids)
    lanes = window.x.shape[1]
    start: State = [np.zeros((lanes, p.architecture.hidden)) for _ in p.architecture.state_names]
    count = max(FEWEST, min(MOST, WORK // p.architecture.parameter_count))  # of losses
    t, lane = places(window, count)
    norms: list[float] = []
    losses: list[int] = []
    total, cut = p.like(), {}  # the gradient of the sum of the losses, with the horizon so far
    walk = Walk(p, window, start)
    for back, step in enumerate(walk.back(t, lane)):
        total.flat += step.gradient.flat
        if len(step.norms):
            norms.append(float(step.norms.mean()))
            losses.append(len(step.norms))
        if back and (back & (back - 1) == 0 or back in horizons):
            cut[back] = gradient_of(own, total)
        if back == FAR or norms[-1] > HUGE:
            break
    whole = cut[back] = gradient_of(own, total)
    cosines = {horizon: cosine(cut[horizon], whole) for horizon in sorted(cut)}
    slope = None
    if p.architecture.cell_name == "tanh":
        slope = 1 - float(np.mean([np.square(layer.h[1:]).mean() for layer in walk.layers]))
    return Reach(norms, losses, cosines, spectral_radius(p), slope)


def gradient_of(p: Parameters, of_plain: Parameters) -> Array:
    """Return the gradient of the parameters, from that of the equivalent plain network."""
    gradient = p.like()
    p.gradient_from(of_plain, gradient)
    return gradient.flat


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


def cosine(one: Array, other: Array) -> float:
    """Return the cosine between two gradients; 1 if one of them is zero."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 1.0


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
