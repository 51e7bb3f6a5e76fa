"""Windows one after the other, and the fast ways of slopes, products and sums."""

from dataclasses import replace

import numpy as np
import pytest

from charrnn.network.heads import HEADS
from charrnn.network.parameters import Architecture
from charrnn.network.through_time import Unfolded
from charrnn.text.vocabulary import END as END_ID
from tests.networks import (
    LANES,
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
    w.y[-1] = END_ID, 3, END_ID
    idle = np.zeros(w.y.shape, np.bool_)
    idle[-1] = True
    found, expected = p.like(), p.like()
    nats = begun(p, h0).nats_and_gradient(p, replace(w, idle=idle), found, 1.0)
    before = begun(p, h0).nats_and_gradient(p, steps_of(w, slice(STEPS - 1)), expected, 1.0)
    assert nats == pytest.approx(before)
    np.testing.assert_allclose(found.flat, expected.flat, atol=1e-12)
