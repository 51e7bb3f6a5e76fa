"""Scheduled sampling: inputs that the network samples itself, as in generation.

    y_hat(t-1) -> sample -> x(t)       in place of the true x(t) = y(t-1)

The targets stay the truth. Single inputs are sampled, or free-running stretches of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.readout import normalise
from charrnn.network.rounding import Array, Integers
from charrnn.network.unfolded import State, Unfolded, Window
from charrnn.settings.training import Fitted
from charrnn.system import OWN_INPUTS
from charrnn.vocabulary import UNKNOWN


class OwnInputs:
    """A network of one step that samples inputs, without dropout, ahead of the one that trains."""

    def __init__(self, architecture: Architecture, config: Fitted) -> None:
        self.config = config
        self.is_on = config.own_inputs > 0 or config.free_running > 0
        if self.is_on:
            self._reader = Unfolded(architecture.plain, 1, config.batch)

    def read(self, p: Parameters, window: Window, state: State, step: int, done: float) -> Window:
        """Return the window with some inputs sampled; ``done`` is the share of the run so far."""
        if not self.is_on:
            return window
        rng = np.random.Generator(np.random.SFC64([self.config.seed, OWN_INPUTS, step]))
        own = self.places(rng, window, done)
        chances = rng.random(own.shape, np.float32)
        x, reader, plain = window.x.copy(), self._reader, p.plain()
        for kept, given in zip(reader.states, state, strict=True):
            kept[0] = given
        for t in range(1 + int(np.max(np.flatnonzero(own.any(1)), initial=-1))):
            lanes = np.flatnonzero(own[t])
            if len(lanes):
                x[t, lanes] = sample_characters(plain, reader.top[lanes], chances[t, lanes])
            begins = None if window.begins is None else window.begins[t : t + 1]
            here = Window(x[t : t + 1], window.y[t : t + 1], begins)
            if window.clock is not None and window.left is not None:
                here = replace(here, clock=window.clock[t : t + 1], left=window.left[t : t + 1])
            reader.read(plain, here)
        return replace(window, x=x)

    def places(self, rng: np.random.Generator, window: Window, done: float) -> NDArray[np.bool_]:
        steps, lanes = window.x.shape
        own: NDArray[np.bool_] = rng.random(window.x.shape) < self.config.own_inputs * done
        length = min(self.config.free_running, steps)
        since = np.arange(steps)[:, None] - rng.integers(0, steps - length + 1, lanes)
        own |= (since >= 0) & (since < length)
        return own & (window.x > UNKNOWN)


def sample_characters(p: Parameters, h: Array, chances: Array) -> Integers:
    """Sample a character after each state (R, H), END and UNKNOWN left out."""
    o = h @ p["V"].T + p["c"]  # (10.10)
    p.architecture.head.logits(o)
    characters = o[:, UNKNOWN + 1 :]
    characters -= characters.max(1, keepdims=True)
    sums = chances * normalise(characters)
    sampled: Integers = np.argmax(np.add.accumulate(characters, 1) > sums[:, None], axis=1)
    return sampled + UNKNOWN + 1
