"""The maths is right: against central differences, and against the book in plain Python."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from charrnn.network import Array
from charrnn.network.architecture import Architecture
from charrnn.network.cells import Tanh
from charrnn.network.parameters import Parameters, initial
from charrnn.network.unfolded import Layer, Masks, Product, State, Unfolded, Window, sum_by_symbol

STEPS, LANES = 6, 3


def network(symbols: int = 7, hidden: int = 5, layers: int = 1, seed: int = 0) -> Parameters:
    """A small network in float64 whose every number matters."""
    rng = np.random.default_rng(seed)
    size = Architecture(symbols, hidden, layers)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    return p


def window(symbols: int = 7, resets: bool = True, idle: bool = False) -> Window:
    """Steps among which some begin an example, also in the middle and in two lanes at once."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, symbols, (2, STEPS, LANES))
    x[0, 0] = x[2, 1] = x[2, 2] = 0
    return Window(
        x, y, x == 0 if resets else None, np.arange(18).reshape(6, 3) > 15 if idle else None
    )


def counted(w: Window) -> Window:
    """The same with what was read and what is left at each place, and some ENDs to be said."""
    rng = np.random.default_rng(5)
    clock, left = rng.integers(0, 20, (2, *w.y.shape))
    y = w.y.copy()
    y[1, 0] = y[3, 2] = 0
    return replace(w, y=y, clock=clock, left=np.where(y == 0, 0, left + 1))


def state(p: Parameters, seed: int = 2) -> State:
    """A state that is carried in from an earlier window."""
    rng = np.random.default_rng(seed)
    shape = (LANES, p.architecture.hidden)
    return [np.tanh(rng.standard_normal(shape)) for _ in p.architecture.state_names]


def masks(p: Parameters) -> Masks:
    """A third of the units silent, the others louder."""
    rng = np.random.default_rng(3)
    shape = (p.architecture.layers, 1, LANES, p.architecture.hidden)
    return list((rng.random(shape) < 2 / 3) * 1.5)


def begun(p: Parameters, h0: State) -> Unfolded:
    """Return an unfolded network that goes on from this state."""
    unfolded = Unfolded(p.architecture, STEPS, LANES, np.float64)
    for own, given in zip(unfolded.states, h0, strict=True):
        own[0] = given
    return unfolded


def loss_of(p: Parameters, w: Window, h0: State, m: Masks | None, gradient: Parameters) -> float:
    unfolded = begun(p, h0)
    return unfolded.nats_and_gradient(p, w, gradient, 1.0, m)


Slopes = dict[str, tuple[Array, float]]  # for each array a direction, and the slope along it


def slopes(p: Parameters, loss: Callable[[Array], float]) -> Slopes:
    """Central differences of the loss along one random direction an array."""
    rng = np.random.default_rng(4)
    found = {}
    for name in p:
        direction = p.like()
        direction[name][...] = rng.standard_normal(p[name].shape)
        there, back = (loss(p.flat + e * direction.flat) for e in (1e-5, -1e-5))
        found[name] = direction.flat, (there - back) / 2e-5
    return found


def disagreement(gradient: Parameters, measured: Slopes) -> float:
    """How far the gradient is from the measured slopes, at the worst."""
    return max(
        abs(float(gradient.flat @ direction) - slope) / max(1.0, abs(slope))
        for direction, slope in measured.values()
    )


def assert_gradient_is_right(p: Parameters, w: Window, h0: State, m: Masks | None) -> None:
    """It is what central differences say, and a single wrong number would be noticed."""
    gradient = p.like()
    loss_of(p, w, h0, m, gradient)

    def loss(flat: Array) -> float:
        return loss_of(Parameters(p.architecture, flat), w, h0, m, p.like())

    measured = slopes(p, loss)
    assert disagreement(gradient, measured) < 1e-6
    for name in p:
        broken = gradient.copy()
        broken[name].reshape(-1)[1] += 0.01
        assert disagreement(broken, measured) > 1e-5, f"a wrong number in {name} goes unnoticed"


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
@pytest.mark.parametrize("dropout", [True, False], ids=["dropout", "whole"])
@pytest.mark.parametrize("idle", [True, False], ids=["idle", "busy"])
def test_the_gradient_is_what_central_differences_say(
    layers: int, resets: bool, dropout: bool, idle: bool
) -> None:
    p = network(layers=layers)
    m = masks(p) if dropout else None
    assert_gradient_is_right(p, window(resets=resets, idle=idle), state(p), m)


def test_a_large_vocabulary_takes_the_other_path_to_the_same_gradient() -> None:
    p = network(symbols=300)
    w, h0 = window(symbols=300), state(p)
    gradient = p.like()
    loss_of(p, w, h0, None, gradient)

    def loss(flat: Array) -> float:
        return loss_of(Parameters(p.architecture, flat), w, h0, None, p.like())

    assert disagreement(gradient, slopes(p, loss)) < 1e-6


def book_loss(p: Parameters, w: Window, h0: State) -> float:
    """The equations of chapter 10.2, number by number, without an array operation."""
    U, W, V, b, c = (p[name].tolist() for name in ("U1", "W1", "V", "b1", "c"))
    hidden = range(len(b))
    total = 0.0
    for lane in range(w.x.shape[1]):
        h = h0[0][lane].tolist()
        for t in range(len(w.x)):
            if w.begins is not None and w.begins[t, lane]:
                h = [0.0 for _ in hidden]
            a = [b[i] + sum(W[i][j] * h[j] for j in hidden) + U[w.x[t, lane]][i] for i in hidden]
            h = [math.tanh(a_i) for a_i in a]
            o = [c_k + sum(V_k[j] * h[j] for j in hidden) for V_k, c_k in zip(V, c, strict=True)]
            total += math.log(sum(math.exp(o_k) for o_k in o)) - o[w.y[t, lane]]
    return total


@pytest.mark.parametrize("resets", [True, False])
def test_the_loss_is_that_of_the_book_in_plain_loops(resets: bool) -> None:
    p = network()
    w, h0 = window(resets=resets), state(p)
    assert loss_of(p, w, h0, None, p.like()) == pytest.approx(book_loss(p, w, h0), rel=1e-12)
    unfolded = begun(p, h0)
    assert unfolded.nats(p, w).sum() == pytest.approx(book_loss(p, w, h0), rel=1e-12)


def test_the_example_worked_by_hand() -> None:
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    layer = Layer(Tanh, 2, 1, 2, np.float64)
    layer.ux[...] = [[[1, 0]], [[0, 0]]]
    layer.forward([(), ()], W)
    np.testing.assert_allclose(layer.h[1:, 0], [[0.7616, 0], [0, 0.6420]], atol=5e-5)
    layer.d[...] = [[[0, 0]], [[0, 1]]]
    layer.backward([(), ()], W)
    np.testing.assert_allclose(layer.d[:, 0], [[0.2469, 0], [0, 0.5878]], atol=5e-5)


def test_two_short_windows_read_as_one_long_one() -> None:
    p, w = network(layers=2), window()
    unfolded = begun(p, state(p))
    whole = unfolded.nats(p, w)
    assert w.begins is not None
    unfolded = begun(p, state(p))
    first = unfolded.nats(p, Window(w.x[:2], w.y[:2], w.begins[:2]))
    second = unfolded.nats(p, Window(w.x[2:], w.y[2:], w.begins[2:]))
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=1e-12)


def test_truncation_drops_the_gradient_and_keeps_the_state() -> None:
    p, w = network(), window(resets=False)
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
    p = network()
    p["c"][...] = np.linspace(-5000, 5000, 7)
    gradient = p.like()
    loss = loss_of(p, window(), state(p), None, gradient)
    assert math.isfinite(loss)
    assert loss > 5000
    assert np.isfinite(gradient.flat).all()


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


def test_first_values_are_what_they_are_said_to_be() -> None:
    log_frequencies = np.array([math.log(0.25), -math.inf, math.log(0.5), math.log(0.25)])
    p = initial(Architecture(4, 8, 2), log_frequencies, np.random.default_rng(0))
    for name in ("W1", "W2"):
        np.testing.assert_allclose(p[name] @ p[name].T, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(p["c"][[0, 2, 3]], np.log([0.25, 0.5, 0.25]), rtol=1e-6)
    assert not p["U1"][1].any()
    assert p.flat.dtype == np.float32
