"""Each cell: worked by hand, and its gradient by central differences; see `test_plainly`, too."""

import numpy as np
import pytest

from charrnn.network.arrays import Array
from charrnn.network.cells import CELLS, Tanh
from charrnn.network.parameters import Architecture, Parameters, initial
from charrnn.network.through_time import Layer
from charrnn.text.vocabulary import END
from tests.networks import (
    SHAPES,
    SYMBOLS,
    begun,
    disagreement,
    loss_of,
    masks_of,
    nats_through_time,
    parameters_of,
    slopes,
    state_of,
    window,
)


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
        assert p[name].reshape(4, 5).tolist() == [[0] * 5, [1] * 5, [0] * 5, [0] * 5]


def test_rotations_of_a_new_network_are_uniform() -> None:
    """A single unit has two of them: its state comes back, or turned round."""
    size, rngs = Architecture(3, 1, 1), map(np.random.default_rng, range(20))
    turns = [initial(size, np.zeros(3), rng)["W1"].item() for rng in rngs]
    assert set(turns) == {-1, 1}


# A network with as many units as symbols, and one with a vocabulary that takes the other path
OTHERS = [Architecture(7, 7, 1, "output"), Architecture(300, 5, 1)]


@pytest.mark.parametrize(
    ("resets", "dropout", "idle"),
    [(True, True, True), (True, False, False), (False, True, False)],
    ids=["all", "without dropout", "carried, all count"],
)
@pytest.mark.parametrize("shape", [*SHAPES, *OTHERS], ids=str)
def test_gradients_are_slopes(shape: Architecture, resets: bool, dropout: bool, idle: bool) -> None:
    """And a single wrong number would be noticed."""
    p = parameters_of(shape)
    w, h0, m = window(shape.symbols, resets=resets, idle=idle), state_of(p), masks_of(p)
    gradient, masks = p.like(), m if dropout else None
    total = loss_of(p, w, h0, masks, gradient)
    if masks is None:
        assert total == pytest.approx(nats_through_time(begun(p, h0), p, w).sum(), rel=1e-12)

    def loss(flat: Array) -> float:
        return loss_of(Parameters(shape, flat), w, h0, masks, p.like())

    measured = slopes(p, loss)
    assert disagreement(gradient, measured) < 1e-6
    for name in p:
        broken = gradient.copy()
        broken[name].reshape(-1)[1] += 0.01
        is_read = name != "V" or shape.symbols == SYMBOLS
        assert disagreement(broken, measured) > 1e-5 or not is_read, name
    if shape.head_name == "length" and not shape.cell.feeds_back:
        assert not gradient["V"][END].any()  # which is never said
