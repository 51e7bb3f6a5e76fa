"""Each cell worked by hand, what it starts from, and what outputs that are fed back forget."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.network import Array, Array64
from charrnn.network.architecture import Architecture
from charrnn.network.cells import CELLS, Tanh
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.network.step import Network
from charrnn.network.unfolded import Layer
from charrnn.vocabulary import Vocabulary
from tests.networks import nats_of, parameters_of


def test_two_tanh_units_worked_by_hand() -> None:
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    layer = Layer(Tanh, 2, 1, 2, np.float64)
    layer.ux[...] = [[[1, 0]], [[0, 0]]]
    layer.forward([(), ()], W)
    np.testing.assert_allclose(layer.h[1:, 0], [[0.7616, 0], [0, 0.6420]], atol=5e-5)
    layer.d[...] = [[[0, 0]], [[0, 1]]]
    layer.backward([(), ()], W)
    np.testing.assert_allclose(layer.d[:, 0], [[0.2469, 0], [0, 0.5878]], atol=5e-5)


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
    layer.d[...] = 1
    layer.backward([()], W)
    np.testing.assert_allclose([s[1].item() for s in layer.states], states, atol=5e-5)
    np.testing.assert_allclose(np.ravel(layer.d_ux(1)), slopes, atol=6e-5)
    assert layer._d_before[-1].item() == pytest.approx(before[-1], abs=5e-5)


def test_an_lstm_forgets_little_before_it_has_learned_anything() -> None:
    p = initial(Architecture(7, 5, 2, "lstm"), np.zeros(7), np.random.default_rng(0))
    for name in ("b1", "b2"):
        assert p[name].reshape(4, 5).tolist() == [[0] * 5, [1] * 5, [0] * 5, [0] * 5]


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


def recalled(cell: str, *, forced: bool = False) -> float:
    """Return the nats of a character that is the first of its text, after some tossed coins.

    Whatever is remembered, all that outputs should say on the way is: a and b are as likely.
    """
    tossed = random.Random(0)
    sides = ["".join(tossed.choices("ab", k=9)) for _ in range(300)]
    texts = [side + side[0] for side in sides]
    size: dict[str, Any] = {"hidden": 24, "layers": 1, "bptt": 11, "batch": 20, "epochs": 40}
    whole: dict[str, Any] = {"dropout": 0, "dropconnect": 0, "blank": 0}
    config = charrnn.TrainConfig(cell=cell, teacher_forcing=forced, lr=0.01, **size, **whole)
    learned = charrnn.fit(texts[:250], config, holdout=0.0)
    return float(np.mean([learned.surprisal(text).nats[9] for text in texts[250:]]))


def test_a_state_remembers_what_outputs_tell_nothing_of_and_outputs_do_not() -> None:
    assert recalled("tanh") < 0.1
    assert recalled("output") > 0.6  # tossing up would cost 0.69
    assert recalled("output", forced=True) > 0.6
