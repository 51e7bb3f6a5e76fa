"""The optimisers: m and v are their moments.

    sgd       m = 0.9 m + g;  m = g with train --book;             p -= lr m
    adagrad   v = v + g^2;                                         p -= lr g / (sqrt v + e)
    rmsprop   v = 0.99 v + 0.01 g^2;                               p -= lr g / (sqrt v + e)
    adam      m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;     p -= lr m^ / (sqrt v^ + e)

where m^ = m / (1 - b1^step) and v^ = v / (1 - b2^step). Weight decay shrinks the matrices by lr
times the decay, apart from the moments.
"""

import math
from typing import Final

import numpy as np

from charrnn.network.arrays import Array
from charrnn.network.parameters import Parameters
from charrnn.settings.training import Schedule, UpdateRule

# The letters of the moments of each rule
MOMENTS: Final[dict[UpdateRule, str]] = {"adam": "mv", "rmsprop": "v", "adagrad": "v", "sgd": "m"}
Moments = dict[str, Array]

BETA1, BETA2 = 0.9, 0.999  # Adam's memory of past gradients and squares
DECAY_OF_SQUARES = 0.99  # RMSprop's memory of past squares
MOMENTUM, EPSILON = 0.9, 1e-8
LOWEST_RATE = 0.01  # of a schedule, as a share of the learning rate
ENOUGH_STEPS, HIGHEST_SYMBOL_RATE = 3000, 3.0  # of a run; with fewer, U1 and V have a higher rate


def initial_moments(rule: UpdateRule, p: Parameters) -> Moments:
    return {name: np.zeros_like(p.flat) for name in MOMENTS[rule]}


def rate(schedule: Schedule, step: int, warmup: int, done: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    remaining = 1.0 - done
    if schedule == "constant":
        return rising
    falling = remaining if schedule == "linear" else (1 - math.cos(math.pi * remaining)) / 2
    return rising * (LOWEST_RATE + (1 - LOWEST_RATE) * falling)


def clip(gradient: Array, norm: float, longest: float) -> None:
    """Shorten a gradient of this norm to ``longest``, unless that is 0."""
    if 0 < longest < norm:
        gradient *= longest / norm


def symbol_rate_factor(steps: float) -> float:
    """Return the factor of the rate of U1 and V: above 1 in a run of few steps.

    Rare symbols are seen too seldom to learn at the rate of W. In many steps that rate is enough,
    and a higher one learns small texts by heart.
    """
    return min(HIGHEST_SYMBOL_RATE, max(1.0, ENOUGH_STEPS / steps))


class Optimizer:
    """A rule for some parameters, and its memory for a step."""

    def __init__(
        self, rule: UpdateRule, p: Parameters, weight_decay: float = 0.0, momentum: float = MOMENTUM
    ) -> None:
        self.rule, self.weight_decay, self.momentum = rule, weight_decay, momentum
        self._p, self._matrices = p.flat, [array for array in p.values() if array.ndim == 2]
        change = p.like()
        self._change, self._scratch = change.flat, np.empty_like(p.flat)
        self._symbol_changes = change["U1"], change["V"]

    def update(
        self, g: Array, moments: Moments, step: int, lr: float, symbol_rate: float = 1.0
    ) -> None:
        """Update p and the moments in place. Steps count from 1; U1 and V have another rate."""
        if self.weight_decay:
            for matrix in self._matrices:
                matrix *= 1 - lr * self.weight_decay
        if self.rule == "sgd":
            m = moments["m"]
            m *= self.momentum
            m += g
            np.multiply(m, lr, out=self._change)
        elif self.rule == "adam":
            self._adam(g, moments["m"], moments["v"], step, lr)
        else:
            self._divide_by_root(g, moments["v"], lr)
        if symbol_rate != 1:
            for change in self._symbol_changes:
                change *= symbol_rate
        self._p -= self._change

    def _adam(self, g: Array, m: Array, v: Array, step: int, lr: float) -> None:
        scratch = self._scratch
        m *= BETA1
        np.multiply(g, 1 - BETA1, out=scratch)
        m += scratch
        v *= BETA2
        np.multiply(g, g, out=scratch)
        scratch *= 1 - BETA2
        v += scratch
        root = math.sqrt(1 - BETA2**step)
        # m^ / (sqrt v^ + e) = m root / ((1 - b1^step) (sqrt v + e root))
        np.sqrt(v, out=scratch)
        scratch += EPSILON * root
        np.divide(m, scratch, out=self._change)
        self._change *= lr * root / (1 - BETA1**step)

    def _divide_by_root(self, g: Array, v: Array, lr: float) -> None:
        """Make a step of adagrad, or of rmsprop, which forgets."""
        change = self._change
        np.multiply(g, g, out=change)
        if self.rule == "rmsprop":
            v *= DECAY_OF_SQUARES
            change *= 1 - DECAY_OF_SQUARES
        v += change
        np.sqrt(v, out=change)
        change += EPSILON
        np.divide(g, change, out=change)
        change *= lr
