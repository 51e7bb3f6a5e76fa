"""Windows one after the other, the fast ways of slopes, large outputs, and single steps."""

import math
from dataclasses import replace

import numpy as np
import pytest

from charrnn.network.heads import HEADS
from charrnn.network.parameters import Architecture
from charrnn.network.step import Network
from charrnn.network.through_time import Unfolded, Window
from charrnn.text.vocabulary import END
from tests.networks import (
    LANES,
    SHAPES,
    STEPS,
    SYMBOLS,
    begun,
    loss_of,
    masks_of,
    nats_through_time,
    parameters_of,
    state_of,
    steps_of,
    window,
)

PLAIN = Architecture(SYMBOLS, 5, 1)


def test_two_short_windows_read_as_one_long_one() -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2)), window()
    whole = nats_through_time(begun(p, state_of(p)), p, w)
    unfolded = begun(p, state_of(p))
    parts = [
        nats_through_time(unfolded, p, steps_of(w, steps)) for steps in (slice(2), slice(2, None))
    ]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)


def test_truncation_drops_the_gradient_and_keeps_the_state() -> None:
    p, w = parameters_of(PLAIN), window(resets=False)
    whole, first, second = p.like(), p.like(), p.like()
    unfolded = Unfolded(p.architecture, STEPS, LANES, np.float64)
    loss = unfolded.nats_and_gradient(p, w, whole)
    unfolded.states[0][0] = 0
    one = unfolded.nats_and_gradient(p, steps_of(w, slice(3)), first)
    two = unfolded.nats_and_gradient(p, steps_of(w, slice(3, None)), second)
    assert one + two == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(first["V"] + second["V"], whole["V"], rtol=1e-9)
    assert np.abs(first["W1"] + second["W1"] - whole["W1"]).max() > 1e-3


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("at_a_time", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 5, STEPS])
def test_slopes_are_the_same_however_many_steps_are_taken_at_a_time(
    cell: str, at_a_time: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2, cell)), steps_of(window(), slice(steps))
    size, together, apart = np.getbufsize(), p.like(), p.like()
    loss_of(p, w, state_of(p), masks_of(p), together)
    numbers = at_a_time * LANES * p.architecture.hidden * p.architecture.cell.gates
    monkeypatch.setattr("charrnn.network.through_time.AT_HAND", numbers)
    loss_of(p, w, state_of(p), masks_of(p), apart)
    np.testing.assert_array_equal(apart.flat, together.flat)
    assert np.getbufsize() == size  # numpy has its buffer back


@pytest.mark.parametrize("head", HEADS)
def test_fault_60_idle_lanes_have_no_loss_and_no_gradient(head: str) -> None:
    """ENDs after the last symbol of a lane count as little as characters do."""
    p = parameters_of(Architecture(SYMBOLS, 5, 1, head_name=head))
    w, h0 = window(), state_of(p)
    w.y[-1] = END, 3, END
    idle = np.zeros(w.y.shape, np.bool_)
    idle[-1] = True
    found, expected = p.like(), p.like()
    nats = begun(p, h0).nats_and_gradient(p, replace(w, idle=idle), found, 1.0)
    before = begun(p, h0).nats_and_gradient(p, steps_of(w, slice(STEPS - 1)), expected, 1.0)
    assert nats == pytest.approx(before)
    np.testing.assert_allclose(found.flat, expected.flat, atol=1e-12)


def test_outputs_too_large_for_exp_do_not_overflow() -> None:
    p = parameters_of(PLAIN)
    p["c"][...] = np.linspace(-5000, 5000, SYMBOLS)
    gradient = p.like()
    assert 5000 < loss_of(p, window(), state_of(p), None, gradient) < math.inf
    assert np.isfinite(gradient.flat).all()


@pytest.mark.quick
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_single_steps_are_those_of_the_unfolded_network(shape: Architecture) -> None:
    p, lanes, steps = parameters_of(shape), 4, 9
    x = np.random.default_rng(1).integers(1, SYMBOLS, (steps + 1, lanes))
    x[0], y = END, x[1:]
    clock = np.repeat(np.arange(steps)[:, None], lanes, 1)
    to_come = np.array([9, 12, 40, 5000]) - clock
    whole = Window(x[:-1], y, x[:-1] == END, clock=clock, to_come=to_come)
    expected = nats_through_time(Unfolded(shape, steps, lanes, np.float64), p, whole)
    network = Network(p)
    state = network.zeros(lanes, to_come=to_come[0])
    for t in range(steps):
        o = network.step(x[t], state)
        nats = np.logaddexp.reduce(o, 1) - o[np.arange(lanes), y[t]]
        np.testing.assert_allclose(nats, expected[t], rtol=1e-10)
