"""Outputs that are fed back, figure 10.4: the equations, the gradient, and what is lost by it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import charrnn
from charrnn.network import Array64
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.network.step import Network
from charrnn.network.unfolded import State, Window
from charrnn.vocabulary import Vocabulary
from tests.networks import nats_of
from tests.test_unfolded import (
    LANES,
    assert_gradient_is_right,
    begun,
    counted,
    loss_of,
    masks,
    window,
)

HEADS = ["symbol", "halt"]


def network(
    *, forced: bool = False, head: str = "symbol", symbols: int = 7, hidden: int = 5
) -> Parameters:
    """A small network in float64 whose every number matters."""
    rng = np.random.default_rng(0)
    size = Architecture(symbols, hidden, 1, "output", head, forced=forced)
    p = initial(size, np.log(np.full(symbols, 1 / symbols)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    return p


def state(p: Parameters) -> State:
    rng = np.random.default_rng(2)
    return [np.tanh(rng.standard_normal((LANES, p.architecture.hidden)))]


@pytest.mark.parametrize("forced", [False, True], ids=["outputs", "truth"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
@pytest.mark.parametrize("dropout", [True, False], ids=["dropout", "whole"])
@pytest.mark.parametrize("hidden", [5, 7])
def test_the_gradient_is_what_central_differences_say(
    forced: bool, head: str, resets: bool, dropout: bool, hidden: int
) -> None:
    p = network(forced=forced, head=head, hidden=hidden)
    m = masks(p) if dropout else None
    assert_gradient_is_right(p, window(resets=resets, idle=True), state(p), m)


@pytest.mark.parametrize("forced", [False, True], ids=["outputs", "truth"])
@pytest.mark.parametrize("head", ["symbol", "length"])
def test_the_gradient_is_right_with_a_clock_and_a_length_too(forced: bool, head: str) -> None:
    size = Architecture(7, 5, 1, "output", head, requested=("clock",), forced=forced)
    rng = np.random.default_rng(0)
    p = initial(size, np.log(np.full(7, 1 / 7)), rng, np.float64)
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    assert_gradient_is_right(p, counted(window()), state(p), None)


def loss_in_loops(p: Parameters, w: Window, h0: State) -> float:
    """The equations of figure 10.4, number by number; those of figure 10.6, if the truth goes back.

    What goes back at the beginning of an example is c, the output of a state that is zero.
    """
    U, W, V, b, c = (p[name].tolist() for name in ("U1", "W1", "V", "b1", "c"))
    units, symbols = range(len(b)), range(len(c))
    total = 0.0
    for lane in range(w.x.shape[1]):
        o = [c[k] + sum(V[k][j] * h0[0][lane][j] for j in units) for k in symbols]
        for t in range(len(w.x)):
            x = w.x[t, lane]
            if w.begins is not None and w.begins[t, lane]:
                o = list(c)
            if p.architecture.forced:  # the symbol before y(t) is x(t)
                o = [1.0 if k == x else 0.0 for k in symbols]
            a = [b[i] + sum(W[i][k] * o[k] for k in symbols) + U[x][i] for i in units]
            h = [math.tanh(a_i) for a_i in a]
            o = [c[k] + sum(V[k][j] * h[j] for j in units) for k in symbols]
            total += math.log(sum(map(math.exp, o))) - o[w.y[t, lane]]
    return total


@pytest.mark.parametrize("forced", [False, True], ids=["outputs", "truth"])
@pytest.mark.parametrize("resets", [True, False], ids=["resets", "carried"])
def test_the_loss_is_that_of_the_figure_in_plain_loops(forced: bool, resets: bool) -> None:
    p, w = network(forced=forced), window(resets=resets)
    h0 = state(p)
    expected = loss_in_loops(p, w, h0)
    assert loss_of(p, w, h0, None, p.like()) == pytest.approx(expected, rel=1e-12)
    unfolded = begun(p, h0)
    assert unfolded.nats(p, w).sum() == pytest.approx(expected, rel=1e-12)


def model(*, forced: bool = False, gain: float = 1.0) -> LanguageModel:
    vocabulary = Vocabulary("abcdefgh", 0.01)
    size = Architecture(vocabulary.symbols, 12, 1, "output", forced=forced)
    p = initial(size, np.full(vocabulary.symbols, -1.0), np.random.default_rng(0))
    p["V"][...] *= 10
    p["W1"][...] *= gain
    return LanguageModel(p, vocabulary)


def outputs_after(p: Parameters, h: Array64, x: list[int]) -> Array64:
    """What the network puts out from a state (1, H) on, reading these symbols."""
    steps, state = Network(p), [h.copy()]
    return np.stack([steps.step(np.array([k]), state)[0].copy() for k in x])


@pytest.mark.parametrize(("cell", "is_alike"), [("output", True), ("tanh", False)])
def test_pasts_with_the_same_outputs_have_the_same_future_where_outputs_are_fed_back(
    cell: str, is_alike: bool
) -> None:
    rng = np.random.default_rng(0)
    p = initial(Architecture(5, 12, 1, cell), np.full(5, -1.0), rng, np.float64)
    p.flat[...] = 0.5 * rng.standard_normal(p.flat.shape)
    h = np.tanh(rng.standard_normal((1, 12)))
    unseen = np.linalg.svd(p["V"])[2][-1]  # a direction that no output tells of
    other = h + 0.5 * unseen
    np.testing.assert_allclose(h @ p["V"].T, other @ p["V"].T, atol=1e-12)
    x = [2, 4, 3, 2, 0, 4]
    futures = outputs_after(p, h, x), outputs_after(p, other, x)
    assert np.allclose(*futures, atol=1e-4) is is_alike


def test_with_the_truth_fed_back_only_the_last_character_is_known() -> None:
    one = model(forced=True)
    after = [nats_of(one, one.vocabulary.encode(text))[-1] for text in ("abcdefa", "hhhhhfa")]
    assert after[0] == after[1]


def recalled(cell: str, *, forced: bool = False) -> float:
    """The nats of a character that is the first of its text, after twelve that are tossed up.

    Whatever is remembered, all that outputs should say on the way is: a and b are as likely.
    """
    tossed = random.Random(0)
    sides = ["".join(tossed.choices("ab", k=13)) for _ in range(600)]
    texts = [side + side[0] for side in sides]
    config = charrnn.TrainConfig(
        cell=cell,
        teacher_forcing=forced,
        hidden=24,
        layers=1,
        dropout=0,
        dropconnect=0,
        blank=0,
        bptt=15,
        batch=20,
        lr=0.01,
        epochs=40,
    )
    learned = charrnn.fit(texts[:400], config, holdout=0.0)
    return float(np.mean([learned.surprisal(text).nats[13] for text in texts[400:]]))


def test_a_state_remembers_what_outputs_tell_nothing_of_and_outputs_do_not() -> None:
    assert recalled("tanh") < 0.1
    assert recalled("output") > 0.6  # tossing up would cost 0.69
    assert recalled("output", forced=True) > 0.6
