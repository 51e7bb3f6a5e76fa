"""Each cell: by hand, its gradient by central differences, its loss by the book in plain Python.

And what outputs that are fed back forget.
"""

import math
from itertools import product

import numpy as np
import pytest

from charrnn.network.arrays import Array, Array64
from charrnn.network.cells import CELLS, Tanh
from charrnn.network.parameters import Architecture, LanguageModel, Parameters, initial
from charrnn.network.step import Network
from charrnn.network.through_time import LaneStates, Layer, Window
from charrnn.text.vocabulary import END, Vocabulary
from tests.networks import (
    SHAPES,
    SYMBOLS,
    begun,
    disagreement,
    loss_of,
    masks_of,
    nats_of,
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


# The gradient of each cell, and its loss

ONE_LAYER = [
    Architecture(SYMBOLS, 5, 1, cell, forced=forced)
    for cell, forced in product(("tanh", "gru", "lstm", "output"), (False, True))
    if cell == "output" or not forced
]
# A network with as many units as symbols, and one with a vocabulary that takes the other path
OTHERS = [Architecture(7, 7, 1, "output"), Architecture(300, 5, 1)]


@pytest.mark.parametrize(
    ("resets", "dropout", "idle"),
    [(True, True, True), (True, False, True), (False, True, False)],
    ids=["all", "without dropout", "carried, all count"],
)
@pytest.mark.parametrize("shape", [*SHAPES, *OTHERS], ids=str)
def test_the_gradient_is_what_central_differences_say(
    shape: Architecture, resets: bool, dropout: bool, idle: bool
) -> None:
    """And a single wrong number would be noticed."""
    p = parameters_of(shape)
    w, h0, m = window(shape.symbols, resets=resets, idle=idle), state_of(p), masks_of(p)
    gradient, masks = p.like(), m if dropout else None
    loss_of(p, w, h0, masks, gradient)

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


def sigmoid(a: float) -> float:
    return 1 / (1 + math.exp(-a))


def product_of(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def next_states(
    cell: str, a: list[float], wh: list[float], states: list[list[float]], d: list[float]
) -> list[list[float]]:
    """Take one step of a layer, number by number."""
    units = range(len(states[0]))
    gates = [a[k : k + len(units)] for k in range(0, len(a), len(units))]
    back = [wh[k : k + len(units)] for k in range(0, len(wh), len(units))]
    total = [[x + y for x, y in zip(*both, strict=True)] for both in zip(gates, back, strict=True)]
    if cell == "gru":
        r, z = ([sigmoid(x) for x in gate] for gate in total[:2])
        n = [math.tanh(gates[2][j] + r[j] * (d[j] + back[2][j])) for j in units]
        return [[(1 - z[j]) * n[j] + z[j] * states[0][j] for j in units]]
    if cell == "lstm":
        i, f, o = ([sigmoid(x) for x in total[k]] for k in (0, 1, 3))
        c = [f[j] * states[1][j] + i[j] * math.tanh(total[2][j]) for j in units]
        return [[o[j] * math.tanh(c[j]) for j in units], c]
    return [[math.tanh(x) for x in total[0]]]


def loss_in_loops(p: Parameters, w: Window, h0: LaneStates) -> float:
    """Return the loss by the equations of chapter 10, without an array operation.

    Where outputs are fed back, c goes back at the beginning of an example: the output of a state
    that is zero. Where the truth is fed back, the symbol before y(t) is x(t).
    """
    U, W, V, b, c = (p[name].tolist() for name in ("U1", "W1", "V", "b1", "c"))
    cell, d = p.architecture.cell_name, p["d1"].tolist() if "d1" in p else []
    total = 0.0
    for lane in range(w.x.shape[1]):
        states = [s[lane].tolist() for s in h0]
        o = [c_k + v_k for c_k, v_k in zip(c, product_of(V, states[0]), strict=True)]
        for t, x in enumerate(w.x[:, lane].tolist()):
            if w.is_first is not None and w.is_first[t, lane]:
                states, o = [[0.0] * len(s) for s in states], c
            if p.architecture.forced:
                o = [float(k == x) for k in range(len(c))]
            wh = product_of(W, o if cell == "output" else states[0])
            a = [b_i + u_i for b_i, u_i in zip(b, U[x], strict=True)]
            states = next_states(cell, a, wh, states, d)
            o = [c_k + v_k for c_k, v_k in zip(c, product_of(V, states[0]), strict=True)]
            total += math.log(sum(map(math.exp, o))) - o[w.y[t, lane]]
    return total


@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
@pytest.mark.parametrize("shape", ONE_LAYER, ids=str)
def test_the_loss_is_that_of_the_book_in_plain_loops(shape: Architecture, resets: bool) -> None:
    p, w = parameters_of(shape), window(resets=resets)
    h0 = state_of(p)
    expected = pytest.approx(loss_in_loops(p, w, h0), rel=1e-12)
    assert loss_of(p, w, h0, None, p.like()) == expected
    assert nats_through_time(begun(p, h0), p, w).sum() == expected


# Outputs that are fed back, figure 10.4


def outputs_after(p: Parameters, h: Array64, x: list[int]) -> Array64:
    """Return what the network puts out from a state (1, H) on, reading these symbols."""
    steps, state = Network(p), [h.copy()]
    return np.stack([steps.step(np.array([k]), state)[0].copy() for k in x])


@pytest.mark.parametrize(("cell", "is_alike"), [("output", True), ("tanh", False)])
def test_pasts_with_the_same_outputs_have_the_same_future_where_outputs_are_fed_back(
    cell: str, is_alike: bool
) -> None:
    p = parameters_of(Architecture(5, 12, 1, cell))
    h = np.tanh(np.random.default_rng(0).standard_normal((1, 12)))
    unseen = np.linalg.svd(p["V"])[2][-1]  # a direction that no output tells of
    other = h + 0.5 * unseen
    np.testing.assert_allclose(h @ p["V"].T, other @ p["V"].T, atol=1e-12)
    x = [2, 4, 3, 2, 0, 4]
    futures = outputs_after(p, h, x), outputs_after(p, other, x)
    assert np.allclose(*futures, atol=1e-4) is is_alike


def test_with_the_truth_fed_back_only_the_last_character_is_known() -> None:
    p = parameters_of(Architecture(10, 12, 1, "output", forced=True))
    model = LanguageModel(p, Vocabulary("abcdefgh", 0.01))
    after = [nats_of(model, model.vocabulary.encode(text))[-1] for text in ("abcdefa", "hhhhhfa")]
    assert after[0] == after[1]
