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

from charrnn.network import Array
from charrnn.network.parameters import Parameters
from charrnn.settings import Rule, Schedule

MOMENTS: dict[Rule, str] = {"adam": "mv", "rmsprop": "v", "adagrad": "v", "sgd": "m"}
Moments = dict[str, Array]

BETA1, BETA2 = 0.9, 0.999  # Adam's memory of past gradients and squares
FORGET = 0.99  # RMSprop's memory of past squares
MOMENTUM = 0.9
TINY = 1e-8
FLOOR = 0.01  # the lowest rate of a schedule, as a share of the learning rate


def initial_moments(rule: Rule, p: Parameters) -> Moments:
    return {name: np.zeros_like(p.flat) for name in MOMENTS[rule]}


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


def clip(gradient: Array, longest: float) -> float:
    """Shorten the gradient to ``longest`` unless that is 0, and return its norm before that."""
    length = math.sqrt(float(np.dot(gradient, gradient)))
    if 0 < longest < length:
        gradient *= longest / length
    return length


class Optimizer:
    def __init__(self, rule: Rule, p: Parameters, weight_decay: float = 0.0) -> None:
        self.rule = rule
        self._a, self._b = np.empty_like(p.flat), np.empty_like(p.flat)
        self._decay = p.matrices() * weight_decay if weight_decay else None

    def update(self, p: Array, g: Array, moments: Moments, step: int, lr: float) -> None:
        """Update p and the moments in place with the gradient of a step, counted from 1."""
        if self._decay is not None:
            np.multiply(self._decay, p, out=self._a)
            self._a *= lr
            p -= self._a
        if self.rule == "sgd":
            m = moments["m"]
            m *= MOMENTUM
            m += g
            p -= np.multiply(m, lr, out=self._a)
        elif self.rule == "adam":
            self._adam(p, g, moments["m"], moments["v"], step, lr)
        else:
            self._divide_by_root(p, g, moments["v"], lr)

    def _adam(self, p: Array, g: Array, m: Array, v: Array, step: int, lr: float) -> None:
        a, b = self._a, self._b
        m *= BETA1
        np.multiply(g, 1 - BETA1, out=a)
        m += a
        v *= BETA2
        np.multiply(g, g, out=a)
        a *= 1 - BETA2
        v += a
        np.sqrt(v, out=a)
        a += TINY * math.sqrt(1 - BETA2**step)
        np.divide(m, a, out=b)
        b *= lr * math.sqrt(1 - BETA2**step) / (1 - BETA1**step)
        p -= b

    def _divide_by_root(self, p: Array, g: Array, v: Array, lr: float) -> None:
        """Take a step of adagrad, or of rmsprop, which forgets."""
        a = self._a
        np.multiply(g, g, out=a)
        if self.rule == "rmsprop":
            v *= FORGET
            a *= 1 - FORGET
        v += a
        np.sqrt(v, out=a)
        a += TINY
        np.divide(g, a, out=a)
        a *= lr
        p -= a
