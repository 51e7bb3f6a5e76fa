"""Inputs that the network samples itself, in place of the true characters."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array, Integers
from charrnn.network.parameters import Architecture, Parameters
from charrnn.network.through_time import LaneStates, Unfolded, Window
from charrnn.settings.training import OWN_INPUTS, Fitted
from charrnn.text.vocabulary import UNKNOWN


class OwnInputs:
    """Samples inputs before a step, by a network of its own that reads the window step by step.

    That network has no dropout.
    """

    def __init__(self, architecture: Architecture, config: Fitted) -> None:
        self.architecture, self.config = architecture, config
        self.is_on = config.own_inputs > 0 or config.free_running > 0
        if self.is_on:
            self._reader = Unfolded(architecture.plain, 1, config.batch)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make another reader in another process."""
        return type(self), (self.architecture, self.config)

    def read(
        self, p: Parameters, window: Window, state: LaneStates, step: int, done: float
    ) -> Window:
        """Return the window with some inputs sampled; ``done`` is the share of the run so far."""
        rng = np.random.Generator(np.random.SFC64([self.config.seed, OWN_INPUTS, step]))
        sampled = self.draw_places(rng, window, done)
        draws = rng.random(sampled.shape, np.float32)
        x, reader, plain = window.x.copy(), self._reader, p.plain()
        for array, carried in zip(reader.states, state, strict=True):
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

    def draw_places(
        self, rng: np.random.Generator, window: Window, done: float
    ) -> NDArray[np.bool_]:
        """Return which inputs are sampled, (T, B)."""
        time_steps, lanes = window.x.shape
        sampled = rng.random(window.x.shape) < self.config.own_inputs * done
        length = min(self.config.free_running, time_steps)
        first = rng.integers(0, time_steps - length + 1, lanes)  # (B,) of a free-running stretch
        t = np.arange(time_steps)[:, None]
        sampled |= (t >= first) & (t < first + length)
        assert window.is_first is not None  # where END or a label is read
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
