"""The noise of a step.

    dropout       units of each lane, on the way up from a layer; the same for a whole window
    dropconnect   weights of W, on the way from step to step
    blank         input characters, which become UNKNOWN, so that UNKNOWN gets a meaning

The rest is scaled up, so that sums are the same on average. In the second half of a run the
shares fall to almost nothing, so that the last steps are those of the whole network. The noise of
a step follows from the seed and the step number: a resume needs no state.
"""

from dataclasses import replace

import numpy as np

from charrnn.network.arrays import Array
from charrnn.network.parameters import Parameters
from charrnn.network.through_time import Masks, Window
from charrnn.settings.training import REGULARIZATION, Fitted
from charrnn.text.vocabulary import UNKNOWN

FADES_FROM = 0.5  # the share of a run from which the noise grows weaker


class Noise:
    """The noise of one training step after another: shares of units, weights and characters."""

    def __init__(self, p: Parameters, config: Fitted) -> None:
        self.config, self.architecture = config, p.architecture
        self.is_on = any((config.dropout, config.dropconnect, config.blank))
        weights = [name for name in p if name.startswith("W")]
        self.weight_names = weights if config.dropconnect else []
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
        for name in self.weight_names:
            self.factors[name] = self._draw_factors(p[name].shape, self.config.dropconnect)
            p[name][...] *= self.factors[name]

    def mask_gradient(self, gradient: Parameters) -> None:
        """Turn the gradient of the thinned parameters into that of all parameters, in place."""
        for name in self.weight_names:
            gradient[name][...] *= self.factors[name]

    def hide_characters(self, window: Window) -> Window:
        """Return the window with some inputs hidden, and all targets."""
        if not self.config.blank:
            return window
        share = self.config.blank * self._strength
        is_blank = self._rng.random(window.x.shape, np.float32) < share
        assert window.is_first is not None  # where END or a label is read
        return replace(window, x=np.where(is_blank & ~window.is_first, UNKNOWN, window.x))

    def _draw_factors(self, shape: tuple[int, ...], share: float) -> Array:
        """Return factors with mean 1: 0 for about this share of places, and equal for the rest."""
        # At most 255: in the last steps, one place of 256 is still hidden.
        shown = min(255, max(1, round(256 * (1 - share * self._strength))))
        draws = self._rng.integers(0, 256, shape, np.uint8)
        # 0 or 1 times the factor: four times as fast as np.where.
        return np.multiply(draws < shown, np.float32(256 / shown), dtype=np.float32)
