"""A text has one score, to the last bit, however it arrives and whoever computes it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn.corpus.segmentation import END_CODE, stream_of
from charrnn.network.parameters import LanguageModel
from charrnn.network.rounding import OFTEN, UNIT, settles
from charrnn.network.stepper import Stepper
from charrnn.scoring.pieces import Gatherer, score_blocks
from charrnn.scoring.score import Score, tally
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, Codes, Ids, codes_of
from tests.scoring import score_texts
from tests.speaking import babbler


def network(gain: float, layers: int = 2) -> LanguageModel:
    """One that forgets, or with a gain well above 1 one that is chaotic and never does."""
    model = babbler(hidden=24, layers=layers, seed=3)
    for name, array in model.parameters.items():
        if name.startswith("W"):
            array[...] *= gain
    model.parameters["V"][...] *= 0.5
    return LanguageModel(model.parameters, model.vocabulary)


def text(model: LanguageModel, count: int, ends: int) -> Ids:
    """So many symbols, END now and then."""
    rng = np.random.default_rng(1)
    ids = rng.integers(1, model.vocabulary.symbols, count).astype(model.vocabulary.dtype)
    ids[rng.integers(0, count, ends)] = END
    ids[-1] = END
    return ids


def symbol_after_symbol(model: LanguageModel, ids: Ids) -> list[float]:
    """What each costs where nothing is read side by side."""
    scorer = NetworkScorer(model)
    return [float(scorer.read(ids[at : at + 1])[0][0]) for at in range(len(ids))]


@pytest.mark.parametrize("gain", [0.5, 1.0, 3.0], ids=["forgets", "remembers", "chaotic"])
@pytest.mark.parametrize("ends", [0, 9, 300])
@pytest.mark.usefixtures("threads_always")
def test_chunks_and_threads_change_no_bit(gain: float, ends: int) -> None:
    model = network(gain)
    ids = text(model, 1500, ends)
    whole, ranks = NetworkScorer(model, ranking=True).read(ids)
    for threads in (2, 3):
        nats, same_ranks = NetworkScorer(model, threads, ranking=True).read(ids)
        np.testing.assert_array_equal(nats, whole)
        np.testing.assert_array_equal(same_ranks, ranks)
    np.testing.assert_array_equal(symbol_after_symbol(model, ids[:300]), whole[:300])


@settings(max_examples=8)
@given(st.lists(st.integers(0, 5000), max_size=6), st.sampled_from([0.5, 3.0]))
def test_pieces_cut_anywhere_change_no_bit(cuts: list[int], gain: float) -> None:
    model = network(gain)
    ids = text(model, 5000, 20)
    whole = NetworkScorer(model).read(ids)[0]
    scorer = NetworkScorer(model)
    bounds = [0, *sorted(cuts), 5000]
    parts = [scorer.read(ids[start:stop])[0] for start, stop in pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    apart = sum(
        (tally(ids[a:b], part) for (a, b), part in zip(pairwise(bounds), parts, strict=True)),
        Score(),
    )
    assert apart == tally(ids, whole)


def test_the_sum_is_that_of_the_examples_and_of_the_characters() -> None:
    model = network(3.0)
    texts = ["abc" * n for n in (0, 1, 40, 100)] + ["h", "gfe" * 30]
    scorer = NetworkScorer(model)
    codes = (np.append(codes_of(text), 0x110000).astype(np.uint32) for text in texts)
    gatherer, total = Gatherer(), Score()
    rows: list[float] = []
    characters: list[float] = []
    for piece in score_blocks(scorer, codes, symbols=50):
        total += piece.score()
        characters += piece.nats.tolist()
        found = gatherer.add(piece)
        rows += [] if found is None else found.nats.tolist()
    assert total.nats == math.fsum(characters) == math.fsum(rows)
    assert rows == [score_texts(scorer, [text]).nats for text in texts]
    assert [nats / UNIT % 1 for nats in characters] == [0.0] * len(characters)


@pytest.mark.parametrize("size", [70, 5000])
def test_an_example_of_more_than_8192_nats_has_one_score_however_it_arrives(size: int) -> None:
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("abcdefgh"), n)) for n in (2000, 3000, 4000, 6000)]
    codes = np.concatenate([*stream_of(texts)])
    model = network(3.0)
    model.parameters["V"][...] *= 20

    def scores(blocks: Iterable[Codes]) -> tuple[list[float], list[float], Score]:
        gatherer, total = Gatherer(), Score()
        rows: list[float] = []
        characters: list[float] = []
        for block in score_blocks(NetworkScorer(model), blocks, symbols=1):
            total += block.score()
            characters += block.nats.tolist()
            ended = gatherer.add(block)
            rows += [] if ended is None else ended.nats.tolist()
        return rows, characters, total

    whole = scores([codes])
    in_blocks = scores(codes[at : at + size] for at in range(0, len(codes), size))
    assert in_blocks == whole
    rows, characters, total = whole
    ends = np.flatnonzero(codes == END_CODE) + 1
    exact = [math.fsum(characters[start:stop]) for start, stop in pairwise([0, *ends])]
    assert rows == exact
    assert min(rows) > 100_000  # sums of floats round from 8192 on
    assert total.units == sum(int(nats / UNIT) for nats in characters)


def test_readers_who_began_differently_come_to_the_same_state() -> None:
    model = network(0.9)
    stepper = Stepper(model.parameters, 2)
    state = stepper.zeros(2)
    for h in state:
        h[1] = 0.5
    for index, x in enumerate(text(model, 20 * OFTEN, 0)):
        stepper.read(np.array([x, x], np.intp), state, index)
    for h in state:
        np.testing.assert_array_equal(h[0], h[1])


def test_settling_moves_no_score_by_more_than_rounding_does() -> None:
    model = network(0.7)
    ids = text(model, 6000, 0)
    exact = NetworkScorer(model).read(ids)[0]
    assert settles(OFTEN - 1)
    assert not settles(OFTEN)
    fast = NetworkScorer(model, fast=True).read(ids)[0]
    assert exact.sum() == pytest.approx(fast.sum(), rel=1e-6)
    np.testing.assert_allclose(exact, fast, atol=2e-3)
