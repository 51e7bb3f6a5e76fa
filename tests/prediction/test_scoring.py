"""A text has one score, whole or in stretches; sums, means, differences and the oddest example."""

import math
from collections import Counter

import numpy as np
import pytest

import charrnn
from charrnn.export.html import BOUNDS, band_of
from charrnn.prediction.losses import BITS, LONGEST_UNIT, Mean, Score, difference_of, oddest
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import Group, groups_of, score_ids, score_texts
from charrnn.text.vocabulary import END
from tests.networks import COIN, MANY, babbler, independent, model_of, peak_bytes, random_ids


def test_the_warm_up_of_a_stretch_is_long_enough() -> None:
    counting = model_of(hidden=5, layers=1, ends="length", clock=True, scale=0.5)
    for model in (charrnn.load("reber"), counting):
        ids = random_ids(model, 1000)[1:].astype(np.uint8)
        sizes, predictor = (300, 1000), model.predictor()
        cut, whole = (score_ids(predictor, ids, stretch=size)[0]["network"] for size in sizes)
        np.testing.assert_allclose(cut, whole, atol=1e-9)


def test_groups_depend_on_the_texts_alone() -> None:
    names = ["a" * (number % 9) for number in range(20_000)]
    groups = list(groups_of(iter(names)))
    assert [text for group in groups for text in group] == names
    assert [len(group) for group in groups] == [1 << 14, 20_000 - (1 << 14)]
    assert Counter(map(len, groups_of(["a" * (1 << 18), "b", "c"]))) == {1: 1, 2: 1}


def test_fault_40_many_characters_have_fewer_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor([babbler(MANY, hidden=4, layers=1)])
    group = Group([MANY[at] + MANY[-at] for at in range(120)])
    nats = score_texts(predictor, group).nats
    monkeypatch.setattr("charrnn.prediction.predictor.LOGITS_AT_ONCE", 10 * len(MANY))
    assert peak_bytes(lambda: score_texts(predictor, group)) < 50 * 8 * len(MANY)
    np.testing.assert_allclose(score_texts(predictor, group).nats, nats, rtol=1e-12)


@pytest.mark.parametrize("more", [79, 85, 95, 705, 715])
def test_large_outputs_cost_what_small_ones_do(more: float) -> None:
    model, texts = independent(COIN), Group(["ab", ""])
    nats = score_texts(Predictor([model]), texts).nats
    model.parameters["c"][...] += more
    np.testing.assert_allclose(score_texts(Predictor([model]), texts).nats, nats, rtol=1e-4)


@pytest.mark.parametrize("texts", [[], [""], ["Ж"], ["\ud800"]])
def test_each_figure_that_exists_is_a_number(texts: list[str]) -> None:
    score = score_texts(Predictor([babbler("abc")]), Group(texts)).total if texts else Score()
    for mean in (score, score.without_end):
        assert math.isfinite(mean.nats_per_character) == (mean.count > 0)
        assert math.isfinite(mean.perplexity) == (mean.count > 0)
    assert math.isfinite(score.bits_per_byte) == (score.bytes > 0)
    assert math.isfinite(Mean(1e6, 1).perplexity)


def test_scores_add_up() -> None:
    texts, predictor = ["abc", "d", "", "caЖ"], Predictor([babbler("abc")])
    apart = sum(score_texts(predictor, Group([text])).total for text in texts)
    assert isinstance(apart, Score)
    together = score_texts(predictor, Group(texts)).total
    assert together.nats == pytest.approx(apart.nats, rel=1e-9)
    assert (together.characters, together.ends, together.unknown, together.bytes) == (7, 4, 2, 8)
    assert together.bits_per_byte == pytest.approx(together.nats / math.log(2) / 8)


def test_a_bound_in_bits_begins_a_band() -> None:
    assert [band_of(bits / BITS + 1e-9) for bits in (0, *BOUNDS)] == [*range(7)]


def test_the_standard_error_is_that_of_a_mean_over_examples() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(2, 5, 600).astype(np.uint8)
    ids[9::10] = END
    nats, other = rng.random(600), rng.random(600)
    difference = difference_of(ids, nats, other)
    means = (nats - other).reshape(60, 10).mean(1)
    assert difference.nats_per_character == pytest.approx(means.mean())
    assert difference.standard_error == pytest.approx(means.std(ddof=1) / 60**0.5)


def test_a_long_example_is_cut_into_blocks_and_one_unit_has_no_error() -> None:
    ids, nats = np.full(1024, 2, np.uint8), np.repeat([0.0, 1.0, 2.0, 3.0], LONGEST_UNIT)
    assert difference_of(ids, nats, 0 * nats).standard_error == pytest.approx(1.25**0.5 / 3**0.5)
    assert math.isnan(difference_of(ids[:9], nats[:9], 0 * nats[:9]).standard_error)
    assert math.isnan(difference_of(ids[:0], nats[:0], nats[:0]).nats_per_character)


def test_the_oddest_example_is_known_from_20_on() -> None:
    ids, nats = np.tile(np.array([2, 3, END], np.uint8), 20), np.ones(60)
    nats[30:33] = 4, 5, 6
    assert oddest(ids, {"network": nats, "both": 2 * nats}) == {"network": 5, "both": 10}
    assert not any(oddest(ids[3:], {"network": nats[3:]}).values())
