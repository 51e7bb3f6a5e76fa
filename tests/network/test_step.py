"""One symbol at a time computes the same as a network unfolded over a window."""

import numpy as np
import pytest

from charrnn.network.parameters import Architecture
from charrnn.network.step import Network
from charrnn.network.through_time import Unfolded, Window
from charrnn.text.vocabulary import END
from tests.networks import SHAPES, SYMBOLS, nats_through_time, parameters_of

STEPS, LANES = 9, 4


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_steps_are_those_of_the_unfolded_network(shape: Architecture) -> None:
    p = parameters_of(shape)
    x = np.random.default_rng(1).integers(1, SYMBOLS, (STEPS + 1, LANES))
    x[0], y = END, x[1:]
    clock = np.repeat(np.arange(STEPS)[:, None], LANES, 1)
    to_come = np.array([9, 12, 40, 5000]) - clock
    window = Window(x[:-1], y, clock=clock, to_come=to_come)
    expected = nats_through_time(Unfolded(shape, STEPS, LANES, np.float64), p, window)
    network = Network(p)
    state = network.zeros(LANES, to_come=to_come[0])
    for t in range(STEPS):
        o = network.step(x[t], state)
        nats = np.logaddexp.reduce(o, 1) - o[np.arange(LANES), y[t]]
        np.testing.assert_allclose(nats, expected[t], rtol=1e-10)
