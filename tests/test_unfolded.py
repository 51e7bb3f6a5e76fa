"""The maths is right: against central differences, and against the book in plain Python."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from charrnn.network import Array
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.unfolded import Masks, Product, State, Unfolded, Window, sum_by_symbol
from charrnn.vocabulary import END
from tests.networks import (
    LANES,
    SHAPES,
    STEPS,
    SYMBOLS,
    begun,
    disagreement,
    masks_of,
    parameters_of,
    slopes,
    state_of,
    window,
)

ONE_LAYER = [
    Architecture(SYMBOLS, 5, 1, cell, forced=forced)
    for cell, forced in product(("tanh", "gru", "lstm", "output"), (False, True))
    if cell == "output" or not forced
]


def loss_of(p: Parameters, w: Window, h0: State, m: Masks | None, gradient: Parameters) -> float:
    return begun(p, h0).nats_and_gradient(p, w, gradient, 1.0, m)


# A network with as many units as symbols, and one with a vocabulary that takes the other path
OTHERS = [Architecture(7, 7, 1, "output"), Architecture(300, 5, 1)]


@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
@pytest.mark.parametrize(
    ("dropout", "idle"),
    [(True, False), (False, True), (True, True)],
    ids=["dropout", "idle", "dropout and idle"],
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


def loss_in_loops(p: Parameters, w: Window, h0: State) -> float:
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
            if w.begins is not None and w.begins[t, lane]:
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
    assert begun(p, h0).nats(p, w).sum() == expected


def test_two_short_windows_read_as_one_long_one() -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2)), window()
    whole = begun(p, state_of(p)).nats(p, w)
    assert w.begins is not None
    unfolded = begun(p, state_of(p))
    first = unfolded.nats(p, Window(w.x[:2], w.y[:2], w.begins[:2]))
    second = unfolded.nats(p, Window(w.x[2:], w.y[2:], w.begins[2:]))
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=1e-12)


def test_truncation_drops_the_gradient_and_keeps_the_state() -> None:
    p, w = parameters_of(ONE_LAYER[0]), window(resets=False)
    whole, first, second = p.like(), p.like(), p.like()
    unfolded = Unfolded(p.architecture, STEPS, LANES, np.float64)
    loss = unfolded.nats_and_gradient(p, w, whole)
    unfolded.states[0][0] = 0
    one = unfolded.nats_and_gradient(p, Window(w.x[:3], w.y[:3]), first)
    two = unfolded.nats_and_gradient(p, Window(w.x[3:], w.y[3:]), second)
    assert one + two == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(first["V"] + second["V"], whole["V"], rtol=1e-9)
    assert np.abs(first["W1"] + second["W1"] - whole["W1"]).max() > 1e-3


def test_outputs_too_large_for_exp_do_not_overflow() -> None:
    p = parameters_of(ONE_LAYER[0])
    p["c"][...] = np.linspace(-5000, 5000, SYMBOLS)
    gradient = p.like()
    assert 5000 < loss_of(p, window(), state_of(p), None, gradient) < math.inf
    assert np.isfinite(gradient.flat).all()


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("at_a_time", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 5, STEPS])
def test_slopes_are_the_same_however_many_steps_are_taken_at_a_time(
    cell: str, at_a_time: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, w = parameters_of(Architecture(SYMBOLS, 5, 2, cell)), window()
    assert w.begins is not None
    w = replace(w, x=w.x[:steps], y=w.y[:steps], begins=w.begins[:steps], clock=None, left=None)
    size, together, apart = np.getbufsize(), p.like(), p.like()
    loss_of(p, w, state_of(p), masks_of(p), together)
    numbers = at_a_time * LANES * p.architecture.hidden * p.architecture.cell.gates
    monkeypatch.setattr("charrnn.network.unfolded.AT_HAND", numbers)
    loss_of(p, w, state_of(p), masks_of(p), apart)
    np.testing.assert_array_equal(apart.flat, together.flat)
    assert np.getbufsize() == size  # numpy has its buffer back


@pytest.mark.parametrize("hidden", [5, 16, 48, 80, 256])
@pytest.mark.parametrize("gates", [1, 3])
def test_panels_multiply_as_the_whole_matrices_do(hidden: int, gates: int) -> None:
    rng = np.random.default_rng(0)
    rows, matrices = rng.standard_normal((4, hidden)), rng.standard_normal((gates, hidden, hidden))
    product = Product((gates,), 4, hidden, hidden, np.float64)
    product.hold(matrices)
    np.testing.assert_allclose(product(rows), rows @ matrices, rtol=1e-9, atol=1e-9)
    each = rng.standard_normal((gates, 4, hidden))
    expected = each @ matrices
    expected[:, 2] = 0
    np.testing.assert_allclose(product(each[:, None], [2]), expected, rtol=1e-9, atol=1e-9)
    single = Product((), 4, hidden, hidden, np.float64)
    single.hold(matrices[0])
    np.testing.assert_allclose(single(rows), rows @ matrices[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("symbols", [7, 300])
@pytest.mark.parametrize("short", [0, 1 << 17], ids=["in runs", "by a product"])
@pytest.mark.parametrize("gates", [1, 3])
def test_rows_are_summed_by_their_symbol(
    symbols: int, short: int, gates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charrnn.network.unfolded.SHORT", short)
    rng = np.random.default_rng(0)
    d_a, x = rng.standard_normal((gates, 50, 5)), rng.integers(0, symbols, 50).astype(np.uint16)
    found = rng.standard_normal((symbols, gates * 5))
    sum_by_symbol(list(d_a), x, found, np.empty((50, 5)))
    expected = np.zeros((symbols, gates * 5))
    np.add.at(expected, x, np.concatenate(d_a, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
