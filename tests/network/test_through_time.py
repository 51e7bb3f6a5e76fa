"""The unfolded network: cells by hand, gradients by differences, windows, products and steps."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from charrnn.network import readout
from charrnn.network.arrays import Array, Product, sum_by_symbol
from charrnn.network.cells import CELLS, Tanh
from charrnn.network.heads import HEADS
from charrnn.network.parameters import Architecture, Parameters, initial
from charrnn.network.through_time import Layer, Unfolded
from charrnn.text.vocabulary import END
from tests import networks
from tests.networks import STEPS, SYMBOLS, begun, loss_of, parameters_of, state_of, steps_of, window


def test_two_tanh_units_worked_by_hand() -> None:
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    layer = Layer(Tanh, 2, 1, 2, np.float64)
    layer.ux[...] = [[[1, 0]], [[0, 0]]]
    layer.forward([(), ()], W)
    np.testing.assert_allclose(layer.h[1:, 0], [[0.7616, 0], [0, 0.6420]], atol=5e-5)
    layer.d_h[...] = [[[0, 0]], [[0, 1]]]
    layer.backward([(), ()], W)
    np.testing.assert_allclose(layer.d_h[:, 0], [[0.2469, 0], [0, 0.5878]], atol=5e-5)


@pytest.mark.parametrize(
    ("cell", "inputs", "states", "slopes", "before"),
    [
        ("gru", [0, 0, 1], [0.8808], [0, 0.0596, 0.2100], [0.5]),
        ("lstm", [0, 0, 1, 0], [0.3534, 0.8808], [0.0476, 0.0626, 0.0525, 0.1767], [0, 0.1251]),
    ],
)
def test_a_gated_unit_worked_by_hand(
    cell: str, inputs: list[float], states: list[float], slopes: list[float], before: list[float]
) -> None:
    """The step of its docstring, and the way back."""
    layer = Layer(CELLS[cell], 1, 1, 1, np.float64)
    layer.states[-1][0] = 1
    layer.ux[:, 0, 0, 0] = inputs
    W: Array = np.zeros((len(inputs), 1))
    layer.forward([()], W, np.zeros(1) if cell == "gru" else None)
    layer.d_h[...] = 1
    layer.backward([()], W)
    np.testing.assert_allclose([s[1].item() for s in layer.states], states, atol=5e-5)
    np.testing.assert_allclose(np.ravel(layer.d_ux(1)), slopes, atol=6e-5)
    assert layer._d_before[-1].item() == pytest.approx(before[-1], abs=5e-5)


def test_an_lstm_forgets_little_before_it_has_learned_anything() -> None:
    p = initial(Architecture(7, 5, 2, "lstm"), np.zeros(7), np.random.default_rng(0))
    for name in ("b1", "b2"):
        np.testing.assert_array_equal(p[name], np.repeat([0, 1, 0, 0], 5))


def test_rotations_of_a_new_network_are_uniform() -> None:
    """A single unit has two of them: its state comes back, or turned round."""
    size, rngs = Architecture(3, 1, 1), map(np.random.default_rng, range(20))
    assert {initial(size, np.zeros(3), rng)["W1"].item() for rng in rngs} == {-1, 1}


# A network with as many units as symbols, one with a vocabulary that takes the other path, labels
OTHERS = [Architecture(7, 7, 1, "output"), Architecture(300, 5, 1)]
OTHERS += [Architecture(SYMBOLS, 5, 1, cell, labels=3) for cell in CELLS]
OTHERS += [Architecture(SYMBOLS, 5, 1, "output", forced=True, labels=3)]


@pytest.mark.parametrize(
    ("resets", "dropout", "idle"),
    [(True, True, True), (True, False, False), (False, True, False)],
    ids=["all", "without dropout", "carried, all count"],
)
@pytest.mark.parametrize("shape", [*networks.SHAPES, *OTHERS], ids=str)
def test_gradients_are_slopes(shape: Architecture, resets: bool, dropout: bool, idle: bool) -> None:
    """And a single wrong number would be noticed."""
    p = parameters_of(shape)
    w, h0, m = window(shape.symbols, resets=resets, idle=idle), state_of(p), networks.masks_of(p)
    if shape.labels:  # one of each lane
        w = replace(w, x=np.where(w.is_first, [7, 9, 8], w.x))
    gradient, masks = p.like(), m if dropout else None
    total = loss_of(p, w, h0, masks, gradient)
    if masks is None:
        assert total == pytest.approx(networks.nats_through_time(begun(p, h0), p, w).sum(), 1e-12)

    def loss(flat: Array) -> float:
        return loss_of(Parameters(shape, flat), w, h0, masks, p.like())

    measured = networks.slopes(p, loss)
    assert networks.disagreement(gradient, measured) < 1e-6
    for name in p:
        broken = gradient.copy()
        broken[name].reshape(-1)[1] += 0.01
        is_read = name != "V" or shape.symbols == SYMBOLS
        assert networks.disagreement(broken, measured) > 5e-6 or not is_read, name
    if shape.head_name == "length" and not shape.cell.feeds_back:
        assert not gradient["V"][END].any()  # which is never said


def test_truncation_drops_the_gradient_and_keeps_the_state() -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2)), window(resets=False)
    whole, first, second = p.like(), p.like(), p.like()
    unfolded = Unfolded(p.architecture, STEPS, networks.LANES, np.float64)
    loss = unfolded.nats_and_gradient(p, w, whole)
    for states in unfolded.states:
        states[0] = 0
    one = unfolded.nats_and_gradient(p, steps_of(w, slice(3)), first)
    two = unfolded.nats_and_gradient(p, steps_of(w, slice(3, None)), second)
    assert one + two == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(first["V"] + second["V"], whole["V"], rtol=1e-9)
    assert np.abs(first["W1"] + second["W1"] - whole["W1"]).max() > 1e-3


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("at_a_time", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 5, STEPS])
def test_pieces_have_equal_slopes(cell: str, at_a_time: int, steps: int, monkeypatch: Any) -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2, cell)), steps_of(window(), slice(steps))
    size, together, apart = np.getbufsize(), p.like(), p.like()
    loss_of(p, w, state_of(p), networks.masks_of(p), together)
    numbers = at_a_time * networks.LANES * p.architecture.hidden * p.architecture.cell.gates
    monkeypatch.setattr("charrnn.network.through_time.AT_HAND", numbers)
    loss_of(p, w, state_of(p), networks.masks_of(p), apart)
    np.testing.assert_array_equal(apart.flat, together.flat)
    assert np.getbufsize() == size  # numpy has its buffer back


@pytest.mark.parametrize("head", HEADS)
def test_fault_60_idle_lanes_have_no_loss_and_no_gradient(head: str, monkeypatch: Any) -> None:
    """ENDs after the last symbol of a lane count as little as characters do."""
    monkeypatch.setattr(readout, "LARGEST_BLOCK", 1)  # blocks of 16 rows, and of the last two
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
    p = parameters_of(Architecture(SYMBOLS, 5, 1))
    p["c"][...] = np.linspace(-5000, 5000, SYMBOLS)
    gradient = p.like()
    assert 5000 < loss_of(p, window(), state_of(p), None, gradient) < math.inf
    assert np.isfinite(gradient.flat).all()


@pytest.mark.parametrize("hidden", [5, 16, 48, 80, 256])
@pytest.mark.parametrize("gates", [(), (1,), (3,)])
def test_panels_multiply_as_the_whole_matrices_do(hidden: int, gates: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    rows, matrices = rng.standard_normal((4, hidden)), rng.standard_normal((*gates, hidden, hidden))
    product = Product(gates, 4, hidden, np.float64)
    product.hold(matrices)
    np.testing.assert_allclose(product(rows), rows @ matrices, rtol=1e-9, atol=1e-9)
    each = rng.standard_normal((*gates, 4, hidden))
    expected = each @ matrices
    expected[..., 2, :] = 0
    found = product(each[:, None] if gates else each, [2])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("symbols", [7, 3000])  # by a product, or in runs
@pytest.mark.parametrize("gates", [1, 3])
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_rows_are_summed_by_their_symbol(symbols: int, gates: int, at_once: int) -> None:
    rng = np.random.default_rng(0)
    d_a, x = rng.standard_normal((gates, 2000, 5)), rng.integers(0, symbols, 2000).astype(np.uint16)
    found = rng.standard_normal((symbols, gates * 5))
    sum_by_symbol(list(d_a), x, found, np.empty((at_once, 2000, 5)))
    expected = np.zeros((symbols, gates * 5))
    np.add.at(expected, x, np.concatenate(d_a, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
