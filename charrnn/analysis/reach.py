"""How far back through time the gradient of a trained network reaches.

    norm of dL(t)/dh(t-k)     against k, the mean over many t whose example had begun by then
    share that is cut off     of the sum of all these norms, by a horizon of so many steps
    cosine                    between the gradient of the parameters when each loss is carried back
                              over so many steps, and when it is carried back as far as it goes
    spectral radius           of W, or of W V where outputs are fed back: the largest |eigenvalue|

A product of Jacobians W' diag(1 - h^2) shrinks or grows with the distance. Where it shrinks by much
less than the spectral radius says, the units are saturated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.analysis.gradient_norms import Places, Walk
from charrnn.network.inputs import read_before, still_to_come
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import Array, Parameters
from charrnn.network.unfolded import State, Window
from charrnn.vocabulary import END, Ids

FAR: Final = 200  # steps back, at most
LANES: Final = 16
LENGTH: Final = 3 * FAR  # steps of a lane: some to warm up, some to walk back, some to start from
WORK: Final = 1 << 25  # parameters times losses that walk back
FEWEST, MOST = 32, 512  # losses
TINY: Final = 1e-250  # a norm that has vanished altogether
HUGE: Final = 1e100  # and one that has exploded: nobody wants to know what comes then


@dataclass(frozen=True)
class Reach:
    """What was found. Norms and counts are for k = 0, 1, 2 ... steps back."""

    norms: list[float]
    losses: list[int]  # whose example had begun k steps before
    cosine: dict[int, float]  # horizon -> cosine with the whole gradient
    spectral_radius: float

    @property
    def decay_per_step(self) -> float | None:
        """By what the norm is multiplied with each step: the slope of its logarithm."""
        k = np.arange(1, len(self.norms))
        norms, weights = np.array(self.norms[1:]), np.sqrt(self.losses[1:])
        there = norms > TINY
        if np.count_nonzero(there) < 2:
            return None
        slope, _ = np.polyfit(k[there], np.log(norms[there]), 1, w=weights[there])
        return float(np.exp(slope))

    @property
    def explodes(self) -> bool:
        """Whether gradients grow on their way back, as far as anybody has looked."""
        is_far = len(self.norms) > FAR or self.norms[-1] > HUGE
        return is_far and (self.decay_per_step or 0.0) >= 1

    def cut_off_share(self, horizon: int) -> float:
        """The share of what lies beyond so many steps in the sum of all norms."""
        sums = np.array(self.norms) * np.array(self.losses)
        total = float(sums.sum())
        return float(sums[horizon:].sum()) / total if total else 0.0


def reach_of(model: LanguageModel, ids: Ids, horizons: tuple[int, ...] = ()) -> Reach:
    """How far the gradients reach on this text; END after each example. Some more horizons may be
    asked for than 1, 2, 4 ...
    """
    own = Parameters(model.architecture, model.parameters.flat.astype(np.float64))
    p = own.plain()
    window = stretches(ids, carry=model.carry)
    lanes = window.x.shape[1]
    start: State = [np.zeros((lanes, p.architecture.hidden)) for _ in p.architecture.state_names]
    t, lane = places(window, losses_for(p))
    norms: list[float] = []
    losses: list[int] = []
    total = p.like()  # the gradient of the sum of these losses, carried back so far
    cut = {}
    for back, stride in enumerate(Walk(p, window, start).back(t, lane)):
        total.flat += stride.gradient.flat
        if len(stride.norms):
            norms.append(float(stride.norms.mean()))
            losses.append(len(stride.norms))
        if back and (back & (back - 1) == 0 or back in horizons):
            cut[back] = gradient_of(own, total)
        if back == FAR or norms[-1] > HUGE:
            break
    whole = cut[back] = gradient_of(own, total)
    cosines = {horizon: cosine(cut[horizon], whole) for horizon in sorted(cut)}
    return Reach(norms, losses, cosines, spectral_radius(p))


def gradient_of(p: Parameters, of_plain: Parameters) -> Array:
    """The gradient of what is learned, from that of the plain network that does the same."""
    gradient = p.like()
    p.gradient_from(of_plain, gradient)
    return gradient.flat


def losses_for(p: Parameters) -> int:
    """How many losses walk back: fewer in a large network."""
    return max(FEWEST, min(MOST, WORK // p.architecture.parameter_count))


def stretches(ids: Ids, *, carry: bool) -> Window:
    """Some stretches of a text, spread evenly, side by side; each begins with an example if one
    begins there soon.
    """
    read = np.concatenate([np.array([END], ids.dtype), ids])
    lanes = max(1, min(LANES, len(ids) // LENGTH))
    share = len(ids) // lanes
    length = share if lanes == 1 else share // 2
    firsts = []
    for first in range(0, lanes * share, share):
        begun = np.flatnonzero(read[first : first + share // 2] == END)
        firsts.append(first + int(begun[0]) if len(begun) else first)
    steps = np.arange(min(length, LENGTH) + 1)
    symbols = read[np.array(firsts) + steps[:, None]].astype(np.intp)
    x, y = symbols[:-1], symbols[1:]
    places = np.array(firsts) + steps[:-1, None]  # of what should be said, in the text
    clock, left = read_before(ids)[places], still_to_come(ids)[places]
    return Window(x, y, None if carry else x == END, clock=clock, left=left)


def places(window: Window, count: int) -> tuple[Places, Places]:
    """From where losses walk back: steps and lanes, spread evenly over those places of which
    enough is known of what came before.
    """
    steps = np.arange(len(window.x))[:, None]
    known = np.broadcast_to(steps >= 2 * FAR, window.x.shape)
    if window.begins is not None:
        known = known | np.logical_or.accumulate(window.begins)
    t, lane = np.nonzero(known if known.any() else np.ones_like(known))
    chosen = np.unique(np.linspace(0, len(t) - 1, count).round().astype(np.intp))
    return t[chosen], lane[chosen]


def cosine(one: Array, other: Array) -> float:
    """Between two gradients; 1 where both are nothing."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 1.0


def spectral_radius(p: Parameters) -> float:
    """Of the W of all layers, and of all gates, the largest."""
    hidden = p.architecture.hidden
    blocks: list[NDArray[np.float64]] = [
        block.astype(np.float64)
        for layer in range(1, p.architecture.layers + 1)
        for block in p[f"W{layer}"].reshape(-1, hidden, hidden)
    ]
    return max(float(np.abs(np.linalg.eigvals(block)).max()) for block in blocks)
