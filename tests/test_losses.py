"""Sums of surprisals against sums that are known, differences, and the oddest."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from charrnn.losses import (
    BITS,
    BLOCK,
    BOUNDS,
    Mean,
    Score,
    band_names,
    band_of,
    difference_of,
    oddest,
)
from charrnn.mixture import Predictor
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.surprisals import score_with
from charrnn.system import path_of
from charrnn.vocabulary import END, SCALARS, Vocabulary
from tests.networks import END as OUTSIDE
from tests.networks import markov, score_texts


def model(novelty: float = 0.01) -> LanguageModel:
    p = initial(Architecture(5, 8, 1), np.full(5, -1.0), np.random.default_rng(0))
    p["V"][...] *= 10
    return LanguageModel(p, Vocabulary("abc", novelty))


def test_a_network_without_knowledge_is_unsure_among_all_symbols() -> None:
    blank = LanguageModel(Parameters.zeros(Architecture(5, 3, 1)), Vocabulary("abc"))
    assert score_texts(blank, ["abba", "c"]).perplexity == pytest.approx(5)


def test_bigram_frequencies_score_their_entropy() -> None:
    names = Path(path_of("dinosaurs")).read_text("utf-8").splitlines()
    pairs = Counter(pair for name in names for pair in pairwise([OUTSIDE, *name, OUTSIDE]))
    firsts = Counter(first for first, _ in pairs.elements())
    after: dict[str, dict[str, float]] = {first: {} for first in firsts}
    for (first, second), count in pairs.items():
        after[first][second] = count / firsts[first]
    entropy = -sum(n * math.log(after[first][second]) for (first, second), n in pairs.items())
    bigrams = markov(after)
    score = score_texts(bigrams, names)
    assert score.characters + score.ends == pairs.total()
    known = -pairs.total() * math.log1p(-bigrams.vocabulary.novelty)
    assert score.nats == pytest.approx(entropy + known, rel=1e-6)


@pytest.mark.parametrize("novelty", [0.0, 0.01])
def test_a_new_character_is_dear_and_never_impossible(novelty: float) -> None:
    group = score_with(Predictor([model(novelty)]), ["aЖb", "\ud800", "𝒳"])
    unknown = group.nats[group.ids == 1]
    assert len(unknown) == 3
    assert (math.log(SCALARS - 3) < unknown).all()
    assert (unknown < 60).all()


def test_the_likeliest_symbol_has_rank_1() -> None:
    one = model()
    scored = score_with(Predictor([one]), ["abcabcaabbcd"], ranking=True)
    assert scored.ranks is not None
    assert scored.ranks[-2] == 5  # d, never seen, comes after END, a, b and c
    for t, text in enumerate(["", "a", "ab", "abc"]):
        others = [score_with(Predictor([one]), [text + y]).nats[t] for y in ("a", "b", "c", "")]
        assert scored.ranks[t] == 1 + sum(nats < scored.nats[t] - 1e-9 for nats in others)


@pytest.mark.parametrize("texts", [[], [""], ["Ж"], ["\ud800"]])
def test_each_figure_that_exists_is_a_number(texts: list[str]) -> None:
    score = score_texts(model(), texts) if texts else Score()
    for mean in (score, score.without_end):
        assert math.isfinite(mean.nats_per_character) == (mean.count > 0)
        assert math.isfinite(mean.perplexity) == (mean.count > 0)
    assert math.isfinite(score.bits_per_byte) == (score.bytes > 0)
    assert math.isfinite(Mean(1e6, 1).perplexity)


def test_scores_add_up() -> None:
    texts = ["abc", "d", "", "caЖ"]
    apart = sum((score_texts(model(), [text]) for text in texts), Score())
    together = score_texts(model(), texts)
    assert together.nats == pytest.approx(apart.nats, rel=1e-9)
    assert (together.characters, together.ends, together.unknown, together.bytes) == (7, 4, 2, 8)
    assert together.bits_per_byte == pytest.approx(together.nats / math.log(2) / 8)


def test_a_bound_in_bits_begins_a_band() -> None:
    assert [band_of(bits / BITS + 1e-9) for bits in (0, *BOUNDS)] == [*range(7)]
    assert band_names() == ["<1", "1-2", "2-3", "3-5", "5-7", "7-10", ">10"]


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
    ids, nats = np.full(1024, 2, np.uint8), np.repeat([0.0, 1.0, 2.0, 3.0], BLOCK)
    assert difference_of(ids, nats, 0 * nats).standard_error == pytest.approx(1.25**0.5 / 3**0.5)
    assert math.isnan(difference_of(ids[:9], nats[:9], 0 * nats[:9]).standard_error)
    assert math.isnan(difference_of(ids[:0], nats[:0], nats[:0]).nats_per_character)


def test_the_oddest_example_is_known_from_20_on() -> None:
    ids, nats = np.tile(np.array([2, 3, END], np.uint8), 20), np.ones(60)
    nats[30:33] = 4, 5, 6
    found = oddest(ids, {"network": nats, "both": 2 * nats})
    assert found == {"network": 5, "counts": None, "both": 10}
    assert not any(oddest(ids[3:], {"network": nats[3:]}).values())
