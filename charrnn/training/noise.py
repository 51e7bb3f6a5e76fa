"""The noise of a step: what is hidden, and inputs that the network samples itself.

    dropout       units of each lane, on the way up from a layer; the same for a whole window
    dropconnect   weights of W, on the way from step to step
    blank         input characters, which become UNKNOWN, so that UNKNOWN gets a meaning
    own inputs    samples of the network, in place of true characters

What is not dropped is scaled up, so that sums are the same on average. In the second half of a run
hidden shares fall to almost nothing, so that the last steps are those of the whole network. Noise
follows from the seed and the step number: a resume needs no state.
"""

from dataclasses import replace

import numpy as np

from charrnn.network.arrays import Array, Flags, Integers
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import LaneStates, Masks, Unfolded, Window
from charrnn.settings.training import OWN_INPUTS, REGULARIZATION, Fitted
from charrnn.text.vocabulary import UNKNOWN

FADES_FROM = 0.5  # the share of a run from which the noise grows weaker


class Noise:
    """The noise of one training step after another: shares of units, weights and characters."""

    def __init__(self, p: Parameters, config: Fitted) -> None:
        self.config, self.architecture = config, p.architecture
        self.is_on = any((config.dropout, config.dropconnect, config.blank))
        self.weights = [name for name in p if name.startswith("W") and config.dropconnect]
        self.factors: dict[str, Array] = {}  # of weights: 0 if hidden
        self._rng, self._strength = np.random.default_rng(), 1.0

    def begin_step(self, step: int, done: float) -> None:
        """Begin a step; ``done`` is the share of the run so far."""
        self._strength = min(1.0, (1 - done) / (1 - FADES_FROM))
        if self.is_on:  # a generator costs 4% of a step of 64 units
            numbers = np.random.SFC64([self.config.seed, REGULARIZATION, step])
            self._rng = np.random.Generator(numbers)

    def dropout_masks(self) -> Masks | None:
        """Return the factor of each unit of each lane, (1, B, H) for each layer."""
        if not self.config.dropout:
            return None
        shape = (self.architecture.layers, 1, self.config.batch, self.architecture.hidden)
        return list(self._draw_factors(shape, self.config.dropout))

    def hide_weights(self, p: Parameters) -> None:
        """Hide some weights, in place."""
        for name in self.weights:
            self.factors[name] = self._draw_factors(p[name].shape, self.config.dropconnect)
            p[name][...] *= self.factors[name]

    def mask_gradient(self, gradient: Parameters) -> None:
        """Turn the gradient of the thinned parameters into that of all parameters, in place."""
        for name, factor in self.factors.items():
            gradient[name][...] *= factor

    def hide_characters(self, window: Window) -> Window:
        """Return the window with some inputs hidden, and all targets."""
        if not self.config.blank:
            return window
        is_blank = self._rng.random(window.x.shape, np.float32) < self.config.blank * self._strength
        return replace(window, x=np.where(is_blank & ~window.is_first, UNKNOWN, window.x))

    def _draw_factors(self, shape: tuple[int, ...], share: float) -> Array:
        """Return factors with mean 1: 0 for about this share of places, and equal for the rest."""
        # At most 255: in the last steps, one place of 256 is still hidden.
        shown = min(255, max(1, round(256 * (1 - share * self._strength))))
        draws = self._rng.integers(0, 256, shape, np.uint8)
        # 0 or 1 times the factor: four times as fast as np.where.
        return np.multiply(draws < shown, np.float32(256 / shown), dtype=np.float32)


class OwnInputs:
    """Samples inputs before a step, by a network without dropout that reads the window itself."""

    def __init__(self, architecture: Architecture, config: Fitted) -> None:
        self.architecture, self.config = architecture, config
        self.is_on = config.own_inputs > 0 or config.free_running > 0
        if self.is_on:
            self._reader = Unfolded(architecture.plain, 1, config.batch)

    def read(self, p: Parameters, window: Window, h: LaneStates, step: int, done: float) -> Window:
        """Return the window with some inputs sampled; ``done`` is the share of the run so far."""
        rng = np.random.Generator(np.random.SFC64([self.config.seed, OWN_INPUTS, step]))
        sampled = self.draw_places(rng, window, done)
        draws = rng.random(sampled.shape, np.float32)
        x, reader, plain = window.x.copy(), self._reader, p.plain()
        for array, carried in zip(reader.states, h, strict=True):
            array[0] = carried
        inputs = replace(window, x=x, idle=None)  # shares x: the reader reads what is sampled
        last = np.flatnonzero(sampled.any(1)).max(initial=-1)  # the last step with a sampled input
        for t in range(last + 1):
            sampled_lanes = np.flatnonzero(sampled[t])
            if len(sampled_lanes):
                rows = reader.layers[-1].h[0, sampled_lanes]
                x[t, sampled_lanes] = sample_characters(plain, rows, draws[t, sampled_lanes])
            reader.read(plain, inputs.at(t))
        return replace(window, x=x)

    def draw_places(self, rng: np.random.Generator, window: Window, done: float) -> Flags:
        """Return which inputs are sampled, (T, B)."""
        time_steps, lanes = window.x.shape
        sampled = rng.random(window.x.shape) < self.config.own_inputs * done
        length = min(self.config.free_running, time_steps)
        first = rng.integers(0, time_steps - length + 1, lanes)  # (B,) of a free-running stretch
        t = np.arange(time_steps)[:, None]
        sampled |= (t >= first) & (t < first + length)
        return sampled & (window.x > UNKNOWN) & ~window.is_first


def sample_characters(p: Parameters, h: Array, draws: Array) -> Integers:
    """Sample a character after each state (R, H), END and UNKNOWN left out, by draws (R,)."""
    o = h @ p["V"].T + p["c"]  # (10.10)
    p.architecture.head.logits(o)  # in place
    weights = o[:, UNKNOWN + 1 :]
    weights -= weights.max(1, keepdims=True)
    np.exp(weights, weights)
    sums = np.add.accumulate(weights, 1)  # np.add.reduce may be larger than the last of them
    is_beyond = sums > (draws * sums[:, -1])[:, None]
    sampled: Integers = np.argmax(is_beyond, axis=1)  # the first True of each row
    return sampled + UNKNOWN + 1
