"""Gradient clipping, the schedule of the rate, and four optimisers, in place on flat arrays.

    sgd       m = 0.9 m + g;                                       p -= lr m
    adagrad   v = v + g^2;                                         p -= lr g / (sqrt v + e)
    rmsprop   v = 0.99 v + 0.01 g^2;                               p -= lr g / (sqrt v + e)
    adam      m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;     p -= lr m^ / (sqrt v^ + e)

where m^ = m / (1 - b1^step) and v^ = v / (1 - b2^step). Weight decay shrinks the matrices by lr
times the decay, apart from the moments.
"""

from __future__ import annotations

import math

import numpy as np

from charrnn.default_settings import Rule, Schedule
from charrnn.network import Array
from charrnn.network.parameters import Parameters

MOMENTS: dict[Rule, str] = {"adam": "mv", "rmsprop": "v", "adagrad": "v", "sgd": "m"}
Moments = dict[str, Array]

BETA1, BETA2 = 0.9, 0.999  # Adam's memory of past gradients and squares
FORGET = 0.99  # RMSprop's memory of past squares
MOMENTUM = 0.9
TINY = 1e-8
FLOOR = 0.01  # the lowest rate of a schedule, as a share of the learning rate
ENOUGH_STEPS, MOST_HASTE = 3000, 3.0


def initial_moments(rule: Rule, p: Parameters) -> Moments:
    return {name: np.zeros_like(p.flat) for name in MOMENTS[rule]}


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    remaining = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = remaining if schedule == "linear" else (1 - math.cos(math.pi * remaining)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


def clip(gradient: Array, longest: float) -> float:
    """Shorten the gradient to ``longest`` unless that is 0, and return its norm before that."""
    length = math.sqrt(float(np.dot(gradient, gradient)))
    if 0 < longest < length:
        gradient *= longest / length
    return length


def haste(steps: float) -> float:
    """Return the factor of the rate of U1 and V: above 1 in a run of few steps.

    Their rows are those of symbols, and the rare ones are seen too seldom to learn at the rate
    of W. In many steps that rate is enough, and a higher one learns small texts by heart.
    """
    return min(MOST_HASTE, max(1.0, ENOUGH_STEPS / steps))


class Optimizer:
    """A rule, and its memory for a step."""

    def __init__(self, rule: Rule, p: Parameters, weight_decay: float = 0.0) -> None:
        self.rule = rule
        change = p.like()
        self._change, self._room = change.flat, np.empty_like(p.flat)
        self._of_symbols = change["U1"], change["V"]
        self._decay = p.matrices() * weight_decay if weight_decay else None

    def update(
        self, p: Array, g: Array, moments: Moments, step: int, lr: float, faster: float = 1.0
    ) -> None:
        """Update p and the moments in place with the gradient of a step, counted from 1.

        The rate of U1 and V is ``faster`` times lr.
        """
        if self._decay is not None:
            np.multiply(self._decay, p, out=self._room)
            self._room *= lr
            p -= self._room
        if self.rule == "sgd":
            m = moments["m"]
            m *= MOMENTUM
            m += g
            np.multiply(m, lr, out=self._change)
        elif self.rule == "adam":
            self._adam(g, moments["m"], moments["v"], step, lr)
        else:
            self._divide_by_root(g, moments["v"], lr)
        if faster != 1:
            for matrix in self._of_symbols:
                matrix *= faster
        p -= self._change

    def _adam(self, g: Array, m: Array, v: Array, step: int, lr: float) -> None:
        change, room = self._change, self._room
        m *= BETA1
        np.multiply(g, 1 - BETA1, out=room)
        m += room
        v *= BETA2
        np.multiply(g, g, out=room)
        room *= 1 - BETA2
        v += room
        np.sqrt(v, out=room)
        room += TINY * math.sqrt(1 - BETA2**step)
        np.divide(m, room, out=change)
        change *= lr * math.sqrt(1 - BETA2**step) / (1 - BETA1**step)

    def _divide_by_root(self, g: Array, v: Array, lr: float) -> None:
        """Make a step of adagrad, or of rmsprop, which forgets."""
        change = self._change
        np.multiply(g, g, out=change)
        if self.rule == "rmsprop":
            v *= FORGET
            change *= 1 - FORGET
        v += change
        np.sqrt(v, out=change)
        change += TINY
        np.divide(g, change, out=change)
        change *= lr
