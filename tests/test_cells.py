"""The gated cells: their equations in plain loops, their gradients, and all that a run does."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.corpus import from_texts
from charrnn.network import Array
from charrnn.network.architecture import Architecture
from charrnn.network.cells import Gru, Lstm
from charrnn.network.parameters import Parameters, initial
from charrnn.network.unfolded import Layer, State, Window
from charrnn.plan import fit_settings, memory_bytes
from charrnn.settings import CorpusConfig
from charrnn.training.loop import train
from charrnn.training.state import start
from tests.test_unfolded import (
    LANES,
    STEPS,
    assert_gradient_is_right,
    begun,
    loss_of,
    masks,
    window,
)

NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 4
CELLS = ["gru", "lstm"]


def network(cell: str, layers: int = 1, symbols: int = 7) -> Parameters:
    """A small network in float64 whose every number matters."""
    rng = np.random.default_rng(0)
    size = Architecture(symbols, 5, layers, cell)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    return p


def state(p: Parameters) -> State:
    """A state that is carried in from an earlier window."""
    rng = np.random.default_rng(2)
    shape = (LANES, p.architecture.hidden)
    return [np.tanh(rng.standard_normal(shape)) for _ in p.architecture.state_names]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
@pytest.mark.parametrize("dropout", [True, False], ids=["dropout", "whole"])
def test_the_gradient_is_what_central_differences_say(
    cell: str, layers: int, resets: bool, dropout: bool
) -> None:
    p = network(cell, layers)
    m = masks(p) if dropout else None
    assert_gradient_is_right(p, window(resets=resets, idle=True), state(p), m)


@pytest.mark.parametrize("cell", ["tanh", *CELLS])
@pytest.mark.parametrize("at_a_time", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 3, 5, STEPS])
def test_slopes_are_the_same_however_many_steps_are_taken_at_a_time(
    cell: str, at_a_time: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, w = network(cell, 2), window(resets=True)
    assert w.begins is not None
    w = Window(w.x[:steps], w.y[:steps], w.begins[:steps])
    every, some = p.like(), p.like()
    loss_of(p, w, state(p), masks(p), every)
    numbers = at_a_time * LANES * p.architecture.hidden * p.architecture.cell.gates
    monkeypatch.setattr("charrnn.network.unfolded.AT_HAND", numbers)
    loss_of(p, w, state(p), masks(p), some)
    np.testing.assert_array_equal(some.flat, every.flat)


def test_numpy_has_its_buffer_back_after_a_window() -> None:
    p, size = network("lstm"), np.getbufsize()
    loss_of(p, window(), state(p), None, p.like())
    assert np.getbufsize() == size


def sigmoid(a: float) -> float:
    return 1 / (1 + math.exp(-a))


def gru(a: list[float], w: list[float], h: list[float], d: list[float]) -> list[float]:
    """One step, written down number by number."""
    after, size = [], len(h)
    for j in range(size):
        r = sigmoid(a[j] + w[j])
        z = sigmoid(a[size + j] + w[size + j])
        n = math.tanh(a[2 * size + j] + r * (d[j] + w[2 * size + j]))
        after.append((1 - z) * n + z * h[j])
    return after


def lstm(a: list[float], w: list[float], c: list[float]) -> tuple[list[float], list[float]]:
    """One step, written down number by number."""
    size = len(c)
    h_after, c_after = [], []
    for j in range(size):
        i, f, g, o = (a[k * size + j] + w[k * size + j] for k in range(4))
        c_after.append(sigmoid(f) * c[j] + sigmoid(i) * math.tanh(g))
        h_after.append(sigmoid(o) * math.tanh(c_after[-1]))
    return h_after, c_after


def loss_in_loops(p: Parameters, w: Window, given: State) -> float:
    """The loss of a network of one layer, without an array operation."""
    U, W, V, b, c_ = (p[name].tolist() for name in ("U1", "W1", "V", "b1", "c"))
    total = 0.0
    for lane in range(w.x.shape[1]):
        states = [s[lane].tolist() for s in given]
        for t in range(len(w.x)):
            if w.begins is not None and w.begins[t, lane]:
                states = [[0.0] * len(s) for s in states]
            a = [b_i + u_i for b_i, u_i in zip(b, U[w.x[t, lane]], strict=True)]
            wh = [sum(x * y for x, y in zip(row, states[0], strict=True)) for row in W]
            if p.architecture.cell_name == "gru":
                states = [gru(a, wh, states[0], p["d1"].tolist())]
            else:
                states = list(lstm(a, wh, states[1]))
            h = states[0]
            o = [
                c_k + sum(v * y for v, y in zip(V_k, h, strict=True))
                for V_k, c_k in zip(V, c_, strict=True)
            ]
            total += math.log(sum(map(math.exp, o))) - o[w.y[t, lane]]
    return total


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("resets", [True, False])
def test_the_loss_is_that_of_the_equations_in_plain_loops(cell: str, resets: bool) -> None:
    p, w = network(cell), window(resets=resets)
    h0 = state(p)
    assert loss_of(p, w, h0, None, p.like()) == pytest.approx(loss_in_loops(p, w, h0), rel=1e-12)
    unfolded = begun(p, h0)
    assert unfolded.nats(p, w).sum() == pytest.approx(loss_in_loops(p, w, h0), rel=1e-12)


def one_step(cell: str, inputs: list[float]) -> Layer:
    """A layer of one unit after the step that its docstring works by hand, and the way back."""
    layer = Layer(Gru if cell == "gru" else Lstm, 1, 1, 1, np.float64)
    layer.states[-1][0] = 1
    layer.ux[:, 0, 0, 0] = inputs
    W: Array = np.zeros((len(inputs), 1))
    layer.forward([()], W, np.zeros(1) if cell == "gru" else None)
    layer.d[...] = 1
    layer.backward([()], W)
    return layer


def test_the_gru_worked_by_hand() -> None:
    layer = one_step("gru", [0, 0, 1])
    assert layer.h[1].item() == pytest.approx(0.8808, abs=5e-5)
    np.testing.assert_allclose(np.ravel(layer.d_ux(1)), [0, 0.0596, 0.2100], atol=5e-5)
    assert layer._d_before[0].item() == pytest.approx(0.5)


def test_the_lstm_worked_by_hand() -> None:
    layer = one_step("lstm", [0, 0, 1, 0])
    assert layer.states[1][1].item() == pytest.approx(0.8808, abs=5e-5)
    assert layer.h[1].item() == pytest.approx(0.3534, abs=5e-5)
    np.testing.assert_allclose(np.ravel(layer.d_ux(1)), [0.0476, 0.0626, 0.0525, 0.1767], atol=6e-5)
    assert layer._d_before[1].item() == pytest.approx(0.1251, abs=5e-5)


def test_an_lstm_forgets_little_before_it_has_learned_anything() -> None:
    p = initial(Architecture(7, 5, 2, "lstm"), np.zeros(7), np.random.default_rng(0))
    for name in ("b1", "b2"):
        assert p[name].reshape(4, 5).tolist() == [[0] * 5, [1] * 5, [0] * 5, [0] * 5]


@pytest.mark.parametrize("cell", ["tanh", *CELLS])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_plan_knows_the_memory_of_a_window(cell: str, layers: int) -> None:
    corpus = from_texts(NAMES * 40, CorpusConfig())
    settings = charrnn.TrainConfig(cell=cell, hidden=64, layers=layers, dropout=0.1, cores=1)
    base = fit_settings(settings, corpus)
    planned, taken = [], []
    for config in (replace(base, batch=32, bptt=200), replace(base, batch=16, bptt=100)):
        planned.append(memory_bytes(config, corpus))
        tracemalloc.start()
        run = train(start(corpus, config), corpus, config)
        next(run)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert planned[0] - planned[1] == pytest.approx(taken[0] - taken[1], rel=0.15)


@pytest.mark.parametrize("cell", CELLS)
def test_a_run_that_was_stopped_ends_in_the_bytes_of_one_that_was_not(
    tmp_path: Path, cell: str
) -> None:
    config = charrnn.TrainConfig(
        cell=cell,
        hidden=6,
        layers=2,
        batch=3,
        bptt=5,
        dropout=0.2,
        dropconnect=0.2,
        blank=0.1,
        epochs=3,
        check_every=7,
    )
    whole = charrnn.train(NAMES, config)
    events = sum(1 for _ in whole)
    whole.save(tmp_path / "whole.npz")
    part = charrnn.train(NAMES, config)
    for _ in zip(range(events // 2), part, strict=False):
        pass
    part.save(tmp_path / "parts.npz")
    part = charrnn.resume(tmp_path / "parts.npz", NAMES)
    list(part)
    part.save(tmp_path / "parts.npz")
    assert (tmp_path / "parts.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize("cell", CELLS)
def test_it_learns_names_by_heart(cell: str) -> None:
    size = charrnn.TrainConfig(cell=cell, hidden=32, layers=1, lr=0.01, epochs=120)
    config = replace(size, dropout=0.0, dropconnect=0.0, blank=0.0)
    learned = charrnn.fit(["anna", "bob", "clara"] * 5, config, holdout=0.0)
    assert learned.score(["anna", "bob", "clara"]).nats_per_character < 0.4
