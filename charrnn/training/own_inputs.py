"""The network reads its own writing, as it will have to when it draws.

    y_hat(t-1) -> drawn -> x(t)        in place of the true x(t) = y(t-1); y(t) stays the truth

Scheduled sampling: each input is replaced by itself, with a probability that grows from 0 to P
along the run. Free running: in every window each lane has a stretch of N steps, anywhere in it,
whose inputs are all its own, so that the truth is predicted up to N steps on from its own outputs.

It reads and draws step by step, each draw after what it has drawn before, with nothing hidden, from
the state of the window's beginning. Then the window is learned from as if that had been the text:
no gradient goes through a draw. What begins an example is always read, and no end is drawn, nor the
unknown: a text goes on as long as its targets do. The randomness of a step comes from the seed and
the number of the step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.readout import normalise
from charrnn.network.unfolded import State, Unfolded, Window
from charrnn.settings.training import Fitted
from charrnn.system import OWN_INPUTS
from charrnn.vocabulary import UNKNOWN


class OwnInputs:
    """A network of one step, which reads ahead of the one that learns."""

    def __init__(self, architecture: Architecture, config: Fitted) -> None:
        self.config = config
        self.is_on = config.own_inputs > 0 or config.free_running > 0
        if self.is_on:
            self._reader = Unfolded(architecture.plain, 1, config.batch)

    def read(self, p: Parameters, window: Window, state: State, step: int, done: float) -> Window:
        """The window with what the network reads in place of some of its inputs, when so much of
        the run is done.
        """
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
                x[t, lanes] = drawn(plain, reader.top[lanes], chances[t, lanes])
            begins = None if window.begins is None else window.begins[t : t + 1]
            here = Window(x[t : t + 1], window.y[t : t + 1], begins)
            if window.clock is not None and window.left is not None:
                here = replace(here, clock=window.clock[t : t + 1], left=window.left[t : t + 1])
            reader.read(plain, here)
        return replace(window, x=x)

    def places(self, rng: np.random.Generator, window: Window, done: float) -> NDArray[np.bool_]:
        """Which inputs are to be its own, (T, B)."""
        steps, lanes = window.x.shape
        own: NDArray[np.bool_] = rng.random(window.x.shape) < self.config.own_inputs * done
        length = min(self.config.free_running, steps)
        since = np.arange(steps)[:, None] - rng.integers(0, steps - length + 1, lanes)
        own |= (since >= 0) & (since < length)
        return own & (window.x > UNKNOWN)


def drawn(p: Parameters, h: Array, chances: Array) -> Integers:
    """A character for each of these states (R, H), as the network would go on if it went on."""
    o = h @ p["V"].T + p["c"]  # (10.10)
    p.architecture.head.logits(o)
    characters = o[:, UNKNOWN + 1 :]
    characters -= characters.max(1, keepdims=True)
    sums = chances * normalise(characters)
    chosen: Integers = np.argmax(np.add.accumulate(characters, 1) > sums[:, None], axis=1)
    return chosen + UNKNOWN + 1
