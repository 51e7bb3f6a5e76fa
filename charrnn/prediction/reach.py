"""The reach of a trained network: how far back its gradients go.

    L(t)  ->  h(t)  ->  h(t-1)  ->  h(t-2)  ->  ...

A product of Jacobians W' diag(1 - h^2) shrinks or grows with the distance. If it shrinks much
faster than the spectral radius of W implies, the factors 1 - h^2 are far below 1.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array, Integers
from charrnn.network.parameters import LanguageModel, Parameters, read_before, still_to_come
from charrnn.network.through_time import Unfolded, Window
from charrnn.text.vocabulary import END, Ids

FAR: Final = 200  # steps back, at most
LOSSES_AT_ONCE: Final = 32
WORK: Final = 1 << 25  # parameters times losses
FEWEST_LOSSES, MOST_LOSSES = 32, 256  # losses: fewer in a large network
TINY: Final = 1e-250  # below it, a norm has vanished
HUGE: Final = 1e100  # above it, a norm has exploded, and no step before counts


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
        is_known = norms > TINY
        if np.count_nonzero(is_known) < 2:
            return None
        slope, _ = np.polyfit(k[is_known], np.log(norms[is_known]), 1, w=weights[is_known])
        return float(np.exp(slope))

    def cut_off_share(self, horizon: int) -> float:
        """Return the share of the norms beyond the horizon in the sum of all."""
        sums = np.array(self.norms) * np.array(self.losses)
        total = float(sums.sum())
        return float(sums[horizon:].sum()) / total if total else 0.0


def reach_of(model: LanguageModel, ids: Ids, labels: Ids | None = None) -> Reach:
    """Measure the reach of gradients on a text, from losses that are spread evenly over it.

    ``labels`` has that of each symbol.
    """
    p = Parameters(model.architecture, model.parameters.flat.astype(np.float64)).plain()
    count = max(FEWEST_LOSSES, min(MOST_LOSSES, WORK // p.architecture.parameter_count))
    places = np.unique(np.linspace(0, len(ids) - 1, count).round().astype(np.intp))
    time_steps = 1 + min(FAR, int(read_before(ids)[places].max()))
    parts = []
    for at in range(0, len(places), LOSSES_AT_ONCE):
        ends = places[at : at + LOSSES_AT_ONCE]
        unfolded = Unfolded(p.architecture, time_steps, len(ends), np.float64)
        unfolded.read(p, window_before(ids, ends - time_steps, time_steps, labels))  # for the state
        parts.append(norms_back(unfolded, p, window_before(ids, ends, time_steps, labels)))
    norms, known = (np.hstack(column) for column in zip(*parts, strict=True))
    means: list[float] = []
    for k in range(time_steps):
        mean = float(norms[k, known[k]].mean())
        if not np.isfinite(mean) or (means and means[-1] > HUGE):
            break
        means.append(mean)
    return Reach(means, known.sum(1).tolist()[: len(means)], spectral_radius(p))


def window_before(
    ids: Integers, ends: Integers, time_steps: int, labels: Integers | None = None
) -> Window:
    """Return the time steps up to the targets at these places of a text, a lane for each.

    Before the text stand ENDs, and each begins an example. ``labels`` has that of each symbol.
    """
    places = (ends + np.arange(1 - time_steps, 1)[:, None]).clip(0)  # (T, B)  of the targets
    x, y = (read[places].astype(np.intp) for read in (np.append(END, ids), ids))
    clock, to_come = read_before(ids)[places], still_to_come(ids)[places]
    is_first = x == END
    if labels is not None:
        x = np.where(is_first, labels[places], x)
    return Window(x, y, is_first, clock=clock, to_come=to_come)


def norms_back(net: Unfolded, p: Parameters, window: Window) -> tuple[Array, NDArray[np.bool_]]:
    """Return the norm of the gradient of the last loss of each lane by the states k steps back.

    Both arrays are (T, B), from k = 0; the second is False before the beginning of an example.
    """
    noted = [layer.note_gradients(len(window.x)) for layer in net.layers]
    idle = np.ones(window.x.shape, np.bool_)
    idle[-1] = False
    with np.errstate(over="ignore", invalid="ignore"):
        net.nats_and_gradient(p, replace(window, idle=idle), p.like())
        for above, d_h, *_ in noted[:-1]:
            d_h -= above  # counted in the layer above, at the same step
        squares = sum((d * d).sum(2) for _, *of_states in noted for d in of_states)
    known = np.ones(window.x.shape, np.bool_)
    known[1:] = ~np.logical_or.accumulate(window.is_first[:0:-1])
    return np.sqrt(squares)[::-1], known


def spectral_radius(p: Parameters) -> float:
    """Return the largest spectral radius of W, over all layers and gates."""
    hidden = p.architecture.hidden
    layers = [p[f"W{n + 1}"].reshape(-1, hidden, hidden) for n in range(p.architecture.layers)]
    return float(np.abs(np.linalg.eigvals(np.concatenate(layers).astype(np.float64))).max())
