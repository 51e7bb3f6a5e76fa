"""Learning while reading: it helps where a text repeats itself, and leaves no trace."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn.errors import DivergedError, SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import initial
from charrnn.network.unfolded import Unfolded, Window
from charrnn.scoring import dynamic
from charrnn.scoring.dynamic import STEPS, DynamicScorer
from charrnn.scoring.scorer import Scorer
from charrnn.vocabulary import END, Ids, Vocabulary

ABC = Vocabulary("abc", novelty=0.01)


def model(layers: int = 1, carry: bool = False) -> LanguageModel:
    size = Architecture(5, 16, layers)
    return LanguageModel(initial(size, np.full(5, -1.5), np.random.default_rng(0)), ABC, carry)


def encode(text: str) -> Ids:
    ids: Ids = np.append(ABC.encode(text), END).astype(ABC.dtype)
    return ids


REFRAIN = encode("abcabbcca" * 40)


def test_the_first_window_costs_what_it_costs_without_learning() -> None:
    abc = model()
    static = Scorer(abc).read(REFRAIN)[0]
    dynamic = DynamicScorer(abc, 0.01).read(REFRAIN)[0]
    np.testing.assert_allclose(dynamic[:STEPS], static[:STEPS], rtol=1e-6)
    assert abs(dynamic[STEPS:] - static[STEPS:]).min() > 1e-6


@pytest.mark.parametrize("layers", [1, 2])
def test_what_comes_back_is_learned(layers: int) -> None:
    abc = model(layers)
    static = Scorer(abc).read(REFRAIN)[0].mean()
    dynamic = DynamicScorer(abc, 0.01).read(REFRAIN)[0]
    assert dynamic.mean() < 0.85 * static
    assert dynamic[-STEPS:].mean() < 0.7 * dynamic[:STEPS].mean()


def test_at_first_every_number_moves_by_the_rate() -> None:
    p = model().parameters
    gradient = p.like()
    line = np.append(END, REFRAIN[:STEPS])[:, None].astype(np.intp)
    window = Window(line[:-1], line[1:], line[:-1] == END)
    Unfolded(p.architecture, STEPS, 1).nats_and_gradient(p, window, gradient, 1 / STEPS)
    moved = p.copy()
    moved.flat -= 0.01 * np.sign(gradient.flat)
    first = Unfolded(p.architecture, STEPS, 1)
    first.nats(p, window)
    again = np.append(line[-1], REFRAIN[STEPS : 2 * STEPS])[:, None].astype(np.intp)
    expected = first.nats(moved, Window(again[:-1], again[1:], again[:-1] == END))[:, 0]
    found = DynamicScorer(LanguageModel(p, Vocabulary("abc")), 0.01).read(REFRAIN)[0][
        STEPS : 2 * STEPS
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-3)


@settings(max_examples=20)
@given(st.lists(st.integers(0, len(REFRAIN)), max_size=6), st.booleans())
def test_windows_do_not_depend_on_how_the_text_arrives(cuts: list[int], carry: bool) -> None:
    abc = model(carry=carry)
    whole, ranks = DynamicScorer(abc, 0.01, ranking=True).read(REFRAIN)
    scorer = DynamicScorer(abc, 0.01, ranking=True)
    bounds = [0, *sorted(cuts), len(REFRAIN)]
    parts = [scorer.read(REFRAIN[start:stop]) for start, stop in pairwise(bounds)]
    np.testing.assert_allclose(np.concatenate([nats for nats, _ in parts]), whole, rtol=1e-4)
    assert ranks is not None
    assert ranks.min() == 1


def test_nothing_of_it_stays() -> None:
    abc = model()
    p = abc.parameters
    before = p.flat.copy()
    scorer = DynamicScorer(abc, 0.01)
    first = scorer.read(REFRAIN)[0]
    assert (p.flat == before).all()
    scorer.begin()
    assert (scorer.read(REFRAIN)[0] == first).all()


def test_a_rate_far_too_large_is_told() -> None:
    with pytest.raises(DivergedError, match="out of bounds") as told:
        DynamicScorer(model(), 1e6).read(REFRAIN)
    assert "0.0002" in told.value.hint


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e30, 1e300, math.nan, math.inf])
def test_a_rate_is_a_number_from_0_to_a_million(rate: float) -> None:
    with pytest.raises(SettingError, match="rate cannot be"):
        DynamicScorer(model(), rate)


def test_where_gradients_are_usually_large_a_number_moves_little() -> None:
    abc = model()
    huge = np.full_like(abc.parameters.flat, 1e12)
    static = Scorer(abc).read(REFRAIN)[0]
    tempered = DynamicScorer(replace(abc, squares=huge), 0.01).read(REFRAIN)[0]
    np.testing.assert_allclose(tempered, static, rtol=1e-3)


def test_numbers_are_pulled_back_to_where_they_began(monkeypatch: pytest.MonkeyPatch) -> None:
    def farthest(pull: float) -> float:
        monkeypatch.setattr(dynamic, "PULL", pull)
        abc = model()
        scorer = DynamicScorer(abc, 0.001)
        scorer.read(REFRAIN)
        return float(np.abs(scorer._p.flat - abc.parameters.flat).max())

    windows = len(REFRAIN) // STEPS
    assert farthest(1.0) <= 0.001 * math.sqrt(windows)  # no farther than one step goes
    assert farthest(1.0) < 0.5 * farthest(0.0)
