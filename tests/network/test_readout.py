"""The readout: outputs of any size."""

import math

import numpy as np

from charrnn.network.parameters import Architecture
from tests.networks import (
    SYMBOLS,
    loss_of,
    parameters_of,
    state_of,
    window,
)


def test_outputs_too_large_for_exp_do_not_overflow() -> None:
    p = parameters_of(Architecture(SYMBOLS, 5, 1))
    p["c"][...] = np.linspace(-5000, 5000, SYMBOLS)
    gradient = p.like()
    assert 5000 < loss_of(p, window(), state_of(p), None, gradient) < math.inf
    assert np.isfinite(gradient.flat).all()
