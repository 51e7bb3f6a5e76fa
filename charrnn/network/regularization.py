"""What training hides from the network, so that it learns rules and not examples by heart.

    dropout       units of each lane, in what goes up from a layer; the same all through a window
    dropconnect   weights of W, in what goes on from step to step
    blank         characters: they are read as UNKNOWN, which so comes to mean "something"

The units and weights that are left are made louder in proportion, so that nothing is hidden in use
and the sums are the same on average. The randomness of a step comes from the seed and the number
of the step: there is no state to lose.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from charrnn.network.parameters import Array, Parameters
from charrnn.network.unfolded import Masks, Window
from charrnn.system import REGULARIZATION
from charrnn.vocabulary import END, UNKNOWN


class Regularization:
    """What is hidden at one step after the other."""

    def __init__(
        self,
        p: Parameters,
        lanes: int,
        seed: int,
        dropout: float = 0.0,
        dropconnect: float = 0.0,
        blank: float = 0.0,
        here: slice | None = None,
    ) -> None:
        """The shares of units, of recurrent weights and of characters to hide, and the lanes that
        are to have it: all of them, unless others are learned from elsewhere. It is drawn for all.
        """
        self.lanes, self.seed = lanes, seed
        self.here = slice(0, lanes) if here is None else here
        self.dropout, self.dropconnect, self.blank = dropout, dropconnect, blank
        self.is_on = any((dropout, dropconnect, blank))
        self.architecture = p.architecture
        self.names = [name for name in p if name.startswith("W")] if dropconnect else []
        self.thinned = p.copy() if self.names else p
        self.loudness: dict[str, Array] = {}
        self._rng = np.random.default_rng()

    def begin(self, step: int) -> None:
        """Another step, another choice."""
        if not self.is_on:
            return  # to draw nothing would cost 4% of a step of 64 units
        self._rng = np.random.Generator(np.random.SFC64([self.seed, REGULARIZATION, step]))

    def units(self) -> Masks | None:
        """How loud each unit of each lane is heard above, (1, B, H) for each layer."""
        if not self.dropout:
            return None
        shape = (self.architecture.layers, 1, self.lanes, self.architecture.hidden)
        return list(self._loudness(shape, self.dropout, self.here))

    def weights(self, p: Parameters) -> Parameters:
        """The parameters without some of their weights."""
        if not self.names:
            return p
        self.thinned.flat[...] = p.flat
        for name in self.names:
            self.loudness[name] = self._loudness(p[name].shape, self.dropconnect)
            np.multiply(p[name], self.loudness[name], out=self.thinned[name])
        return self.thinned

    def through_weights(self, gradient: Parameters) -> None:
        """Turn the gradient by the thinned parameters into that by the whole ones."""
        for name in self.names:
            np.multiply(gradient[name], self.loudness[name], out=gradient[name])

    def characters(self, window: Window) -> Window:
        """The window with some of what is read blanked out; what should be said stays."""
        if not self.blank:
            return window
        shape = len(window.x), self.lanes
        hidden = self._rng.random(shape, np.float32)[:, self.here] < self.blank
        x = np.where(hidden & (window.x != END), UNKNOWN, window.x)
        return replace(window, x=x)

    def _loudness(self, shape: tuple[int, ...], share: float, rows: slice = slice(None)) -> Array:
        """0 for about that share of the places, the same number for the others; the mean is 1. Of
        what is drawn, these of the last rows but one.
        """
        kept = min(255, max(1, round(256 * (1 - share))))  # the smallest share is one in 256
        draws = self._rng.integers(0, 256, shape, np.uint8)[..., rows, :]
        loudness: Array = np.multiply(draws < kept, np.float32(256 / kept), dtype=np.float32)
        return loudness
