"""Sums, means, differences and the oddest example."""

import math

import numpy as np
import pytest

from charrnn.export.html import BOUNDS, band_of
from charrnn.prediction.losses import BITS, LONGEST_UNIT, Mean, Score, difference_of, oddest
from charrnn.text.vocabulary import END
from tests.networks import babbler, model_score


@pytest.mark.parametrize("texts", [[], [""], ["Ж"], ["\ud800"]])
def test_each_figure_that_exists_is_a_number(texts: list[str]) -> None:
    score = model_score(babbler("abc"), texts) if texts else Score()
    for mean in (score, score.without_end):
        assert math.isfinite(mean.nats_per_character) == (mean.count > 0)
        assert math.isfinite(mean.perplexity) == (mean.count > 0)
    assert math.isfinite(score.bits_per_byte) == (score.bytes > 0)
    assert math.isfinite(Mean(1e6, 1).perplexity)


def test_scores_add_up() -> None:
    texts = ["abc", "d", "", "caЖ"]
    apart = sum((model_score(babbler("abc"), [text]) for text in texts), Score())
    together = model_score(babbler("abc"), texts)
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
    found = oddest(ids, {"network": nats, "both": 2 * nats})
    assert found == {"network": 5, "both": 10}
    assert not any(oddest(ids[3:], {"network": nats[3:]}).values())
