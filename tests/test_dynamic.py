"""Learning while reading: it helps where a text repeats itself, and leaves no trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.counts.kneser_ney import Counts, GrowingCounts
from charrnn.errors import DivergedError, SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, initial
from charrnn.network.rounding import Array
from charrnn.network.unfolded import Unfolded, Window
from charrnn.scoring import predictor
from charrnn.scoring.pieces import Floats
from charrnn.scoring.predictor import STEPS, DynamicScorer, MixedScorer, Predictor, Use
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, Ids, Vocabulary

ABC = Vocabulary("abc", novelty=0.01)


def model(layers: int = 1, carry: bool = False) -> LanguageModel:
    size = Architecture(5, 16, layers)
    return LanguageModel(initial(size, np.full(5, -1.5), np.random.default_rng(0)), ABC, carry)


def encode(text: str) -> Ids:
    ids: Ids = np.append(ABC.encode(text), END).astype(ABC.dtype)
    return ids


REFRAIN = encode("abcabbcca" * 80)


def test_the_first_window_costs_what_it_costs_without_learning() -> None:
    abc = model()
    static = NetworkScorer(abc).read(REFRAIN)[0]
    mixed = DynamicScorer(abc, 0.01).read(REFRAIN)[0]
    np.testing.assert_allclose(mixed[:STEPS], static[:STEPS], rtol=1e-5)
    assert abs(mixed[STEPS:] - static[STEPS:]).min() > 1e-6


@pytest.mark.parametrize("layers", [1, 2])
def test_what_comes_back_is_learned(layers: int) -> None:
    abc = model(layers)
    static = NetworkScorer(abc).read(REFRAIN)[0].mean()
    mixed = DynamicScorer(abc, 0.01).read(REFRAIN)[0]
    assert mixed.mean() < 0.85 * static
    assert mixed[-STEPS:].mean() < 0.7 * mixed[:STEPS].mean()


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
    with pytest.raises(DivergedError, match="diverged") as told:
        DynamicScorer(model(), 1e6).read(REFRAIN)
    assert "0.0002" in told.value.hint


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e30, 1e300, math.nan, math.inf])
def test_a_rate_is_a_number_from_0_to_a_million(rate: float) -> None:
    with pytest.raises(SettingError, match="rate cannot be"):
        DynamicScorer(model(), rate)


def test_where_gradients_are_usually_large_a_number_moves_little() -> None:
    abc = model()
    huge = np.full_like(abc.parameters.flat, 1e12)
    static = NetworkScorer(abc).read(REFRAIN)[0]
    tempered = DynamicScorer(replace(abc, squares=huge), 0.01).read(REFRAIN)[0]
    np.testing.assert_allclose(tempered, static, rtol=1e-3)


def test_numbers_are_pulled_back_to_where_they_began(monkeypatch: pytest.MonkeyPatch) -> None:
    def farthest(pull: float) -> float:
        monkeypatch.setattr(predictor, "PULL", pull)
        abc = model()
        scorer = DynamicScorer(abc, 0.001)
        scorer.read(REFRAIN)
        return float(np.abs(scorer._p.flat - abc.parameters.flat).max())

    windows = len(REFRAIN) // STEPS
    assert farthest(1.0) <= 0.001 * math.sqrt(windows)  # no farther than one step goes
    assert farthest(1.0) < 0.5 * farthest(0.0)


# Causality: who reads on does not know what is to come


TEXT = encode("abcabbccabacabcc" * 16)
COUNTED = encode("abcacbbacabc" * 20)


def mixture(use: Use) -> MixedScorer:
    """A network that learns and counts that grow while they read, or one of both."""
    counts = Counts(COUNTED, ABC.symbols)
    return MixedScorer(Predictor((model(),), counts, use), rate=0.01, ranking=True)


READERS: dict[str, Callable[[], DynamicScorer | MixedScorer]] = {
    "a network alone": lambda: DynamicScorer(model(), 0.01, ranking=True),
    "network": lambda: mixture("network"),
    "counts": lambda: mixture("counts"),
    "both": lambda: mixture("both"),
    "several": lambda: MixedScorer(Predictor((model(), model(2))), rate=0.01, ranking=True),
}


def knows_nothing_of_what_is_to_come(scorer: DynamicScorer | MixedScorer, place: int) -> bool:
    """Whether another symbol at that place leaves all that was said before it as it was."""
    changed = TEXT.copy()
    changed[place] = 2 + (changed[place] - 1) % 3
    assert changed[place] != TEXT[place]
    said = []
    for ids in (TEXT, changed):
        scorer.begin()
        nats, ranks = scorer.read(ids)
        assert ranks is not None
        said.append((nats, ranks))
    (nats, ranks), (others, other_ranks) = said
    assert (nats[place:] != others[place:]).any()
    is_same = (nats == others) & (ranks == other_ranks)
    return bool(is_same[:place].all())


@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("place", [1, STEPS - 1, STEPS, STEPS + 1, 3 * STEPS + 7, 126])
def test_a_later_character_changes_no_earlier_nat(who: str, place: int) -> None:
    assert knows_nothing_of_what_is_to_come(READERS[who](), place)


def learning_first(scorer: DynamicScorer) -> None:
    """Let it learn from a window before it says what the window cost: the order that is wrong."""
    right = scorer._nats

    def wrong() -> Array:
        if len(scorer._line) == STEPS + 1:
            states = [state[0].copy() for state in scorer._unfolded.states]
            right()
            scorer._p.flat[...] -= 0.01 * scorer._gradient.flat
            for state, before in zip(scorer._unfolded.states, states, strict=True):
                state[0] = before
        return right()

    scorer._nats = wrong  # type: ignore[method-assign]


def test_a_network_that_learns_before_it_speaks_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = DynamicScorer.begin

    def beginning_wrongly(scorer: DynamicScorer) -> None:
        begin(scorer)
        learning_first(scorer)

    monkeypatch.setattr(DynamicScorer, "begin", beginning_wrongly)
    for who in ("a network alone", "network", "both", "several"):
        assert not knows_nothing_of_what_is_to_come(READERS[who](), STEPS + 9)


def test_counts_that_count_before_they_speak_are_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = GrowingCounts.read

    def counting_first(counts: GrowingCounts, ids: Ids) -> Floats:
        read(counts, ids)
        return read(counts, ids)

    monkeypatch.setattr(GrowingCounts, "read", counting_first)
    for who in ("counts", "both"):
        assert not knows_nothing_of_what_is_to_come(READERS[who](), STEPS + 9)
