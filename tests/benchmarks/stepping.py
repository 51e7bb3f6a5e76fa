"""Characters a second of one training step, clipping and Adam included, and of whole training."""

from __future__ import annotations

import numpy as np

from charrnn.network.crew import Crew
from charrnn.network.network import Window
from charrnn.network.parameters import Size, initial
from charrnn.optimizer import Optimizer, clip, initial_moments
from tests.benchmarks.measuring import Work

SHAPES = ((65, 128, 64, 64), (65, 256, 64, 64), (65, 512, 64, 100), (28, 64, 32, 16))


def step(symbols: int, hidden: int, lanes: int, steps: int, workers: int) -> Work:
    """One step on random symbols."""
    rng = np.random.default_rng(0)
    size = Size(symbols, hidden, 1)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng)
    gradient, moments = p.like(), initial_moments("adam", p)
    crew = Crew(size, steps, lanes, workers)
    optimizer = Optimizer("adam", p)
    x, y = rng.integers(0, symbols, (2, steps, lanes))
    window = Window(x, y)
    count = 0

    def work() -> None:
        nonlocal count
        count += 1
        crew.nats_and_gradient(p, window, gradient, crew.share)
        clip(gradient.flat, 5.0)
        optimizer.update(p.flat, gradient.flat, moments, count, 0.001)

    return work
