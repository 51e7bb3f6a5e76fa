"""One step at a time comes to what the unfolded network says, and so does every lane."""

import numpy as np
import pytest

from charrnn.network.rounding import on_grid
from charrnn.network.stepper import Stepper
from charrnn.network.unfolded import Unfolded, Window
from tests.speaking import babbler

STEPS, LANES = 30, 4


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_steps_say_what_the_unfolded_network_says(layers: int) -> None:
    p = babbler(layers=layers, dtype=np.float64).parameters
    x, y = np.random.default_rng(1).integers(0, p.architecture.symbols, (2, STEPS, LANES))
    unfolded = Unfolded(p.architecture, STEPS, LANES, np.float64).nats(p, Window(x, y))
    stepper = Stepper(p, LANES)
    state = stepper.zeros(LANES)
    for t in range(STEPS):
        o = stepper.step(x[t], state, t)
        nats = np.log(np.exp(o).sum(axis=1)) - o[np.arange(LANES), y[t]]
        np.testing.assert_allclose(nats, unfolded[t], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("hidden", [1, 2, 37, 256])
def test_a_lane_does_not_depend_on_its_neighbours(hidden: int) -> None:
    p = babbler(hidden=hidden).parameters
    for name in p:
        p[name][...] *= 3  # so that the smallest difference would soon be a large one
    stepper = Stepper(p, 64)
    every, alone = stepper.zeros(64), stepper.zeros(1)
    few = stepper.zeros(3)
    for t, x in enumerate(
        np.random.default_rng(1).integers(0, p.architecture.symbols, (STEPS, 64))
    ):
        o = stepper.step(x, every, t).copy()
        np.testing.assert_array_equal(stepper.step(x[9:10], alone, t)[0], o[9])
        np.testing.assert_array_equal(stepper.step(x[[50, 9, 63]], few, t)[1], o[9])


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.usefixtures("threads_always")
def test_threads_change_nothing(threads: int) -> None:
    p = babbler(hidden=37).parameters
    alone, together = Stepper(p, 64), Stepper(p, 64, threads)
    state, same = alone.zeros(64), alone.zeros(64)
    for lanes in (64, 50, 2, 1):
        x = np.random.default_rng(1).integers(0, p.architecture.symbols, lanes)
        state, same = [h[:lanes] for h in state], [h[:lanes] for h in same]
        np.testing.assert_array_equal(alone.step(x, state, 63), together.step(x, same, 63))
        for one, other in zip(state, same, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("largest", [1e-30, 1.0, 3e38])
def test_the_grid_is_as_fine_as_float32(largest: float) -> None:
    matrix = np.random.default_rng(1).standard_normal((20, 256))
    matrix *= largest / np.abs(matrix).max(1, keepdims=True)
    off = np.abs(on_grid(matrix, 22) - matrix)
    assert off.max() <= largest * 2.0**-22
    assert off.max() > 0
    assert not on_grid(np.zeros((2, 2)), 22).any()


def test_reading_moves_the_state_as_a_step_does() -> None:
    p = babbler().parameters
    stepper = Stepper(p, LANES)
    read, stepped = stepper.zeros(LANES), stepper.zeros(LANES)
    for t, x in enumerate(
        np.random.default_rng(1).integers(0, p.architecture.symbols, (STEPS, LANES))
    ):
        stepper.read(x, read, t)
        stepper.step(x, stepped, t)
    for one, other in zip(read, stepped, strict=True):
        np.testing.assert_array_equal(one, other)
