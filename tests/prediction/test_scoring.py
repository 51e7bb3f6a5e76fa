"""A text has one score, alone or among others, whole or in stretches; sums, and the oddest."""

import math
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import charrnn
from charrnn.network.parameters import Architecture, LanguageModel, initial
from charrnn.prediction.predictor import MIXABLE_HEADS, Predictor
from charrnn.prediction.scoring import Group, groups_of, score_ids, score_texts
from charrnn.system.packaged import path_of
from charrnn.text.counts import Ngrams
from charrnn.text.vocabulary import END, Vocabulary
from tests.networks import MANY, SHAPES, babbler, peak_bytes

CHARACTERS = "abcde"
ONE_PASS = 1 << 30  # symbols of a stretch, so that no text is cut
FEWER = [a for a in SHAPES if (a.layers == 2 or a.cell_name == "output") and not a.clock]
MIXED = [a for a in FEWER if a.head_name in MIXABLE_HEADS]
MODELS = [(a, False) for a in FEWER] + [(a, True) for a in MIXED]
LOSSES = {  # model -> nats per character of some 200 texts of a corpus
    "dinosaurs": ("dinosaurs", "\n", 1.475878),
    "given-names": ("given-names", "\n", 4.39134),
    "latin": ("given-names", "\n", 4.885185),
    "reber": ("reber", "\n", 0.359226),
    "verses": ("verses", "\n\n", 1.264941),
}


def predictor_of(shape: Architecture, with_counts: bool = False, seed: int = 1) -> Predictor:
    """Return a network with random parameters that forgets, and the counts of a random text."""
    rng = np.random.default_rng(seed)
    log_frequencies = np.log(np.full(shape.symbols, 1 / shape.symbols))
    p = initial(shape, log_frequencies, rng, radius=0.8)
    for name, array in p.items():
        if name[0] in "Vcbd":
            array += 0.3 * rng.standard_normal(array.shape)
    vocabulary = Vocabulary(CHARACTERS, novelty=0.01)
    text = rng.integers(2, shape.symbols, 500).astype(np.uint8)
    text[6::7] = END
    counts = Ngrams(text, shape.symbols) if with_counts else None
    return Predictor([LanguageModel(p, vocabulary)], counts)


@cache
def texts() -> list[str]:
    """Return 1,000 texts of up to 40 characters, some of them empty, some characters new."""
    rng = np.random.default_rng(2)
    sizes = np.minimum(rng.geometric(0.1, 1000) - 1, 40)
    return ["".join(rng.choice(list(CHARACTERS + "?"), size)) for size in sizes]


@pytest.mark.parametrize(("shape", "with_counts"), MODELS, ids=str)
def test_all_short_texts_have_a_probability_of_1(shape: Architecture, with_counts: bool) -> None:
    """Sum over all texts of 0 to 2 characters, and over all beginnings of 3 characters."""
    predictor, size = predictor_of(shape, with_counts), 3
    short = ["".join(text) for n in range(size + 1) for text in product(CHARACTERS + "?", repeat=n)]
    group = score_texts(predictor, Group(short))
    weights = np.array(
        [math.exp(text.count("?") * predictor.vocabulary.unseen_nats) for text in short]
    )
    sizes = np.array([len(text) for text in short])
    lengths = predictor.head.lengths
    for nats in group.nats_by_use.values():
        p = weights * np.exp(-group.totals(nats))
        if lengths is not None:
            expected = np.exp(-lengths.nats(predictor.model.parameters, np.arange(size + 1)))
            np.testing.assert_allclose(np.bincount(sizes, p), expected, rtol=1e-9)
            continue
        without_end = weights * np.exp(-group.totals(np.where(group.ids == END, 0, nats)))
        total = p[sizes < size].sum() + without_end[sizes == size].sum()
        assert total == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("shape", "with_counts"), MODELS, ids=str)
def test_stretches_are_one_pass(shape: Architecture, with_counts: bool) -> None:
    predictor, size = predictor_of(shape, with_counts), 1000
    ids = np.random.default_rng(3).integers(1, 7, size).astype(np.uint8)
    ids[[40, 41, size // 2, size - 1]] = END
    cut, ranks = score_ids(predictor, ids, ranking=True, stretch=300)
    whole, same_ranks = score_ids(predictor, ids, ranking=True, stretch=ONE_PASS)
    assert ranks is not None
    assert same_ranks is not None
    assert (ranks == same_ranks).all()
    for use, nats in whole.items():
        assert cut[use].mean() == pytest.approx(nats.mean(), abs=1e-6)
        np.testing.assert_allclose(cut[use], nats, rtol=0, atol=1e-3)


def test_groups_depend_on_the_texts_alone() -> None:
    names = texts() * 20
    groups = list(groups_of(iter(names)))
    assert [text for group in groups for text in group] == names
    assert [len(group) for group in groups] == [1 << 14, 20_000 - (1 << 14)]
    assert Counter(map(len, groups_of(["a" * (1 << 18), "b", "c"]))) == {1: 1, 2: 1}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_the_models_of_the_package(name: str) -> None:
    corpus, gap, expected = LOSSES[name]
    model = charrnn.load(name)
    blocks = list(filter(str.strip, Path(path_of(corpus)).read_text("utf-8").split(gap)))
    score = model.score(blocks[:: 1 + len(blocks) // 200])
    assert score.nats_per_character == pytest.approx(expected, abs=1e-4)


def test_fault_40_many_characters_have_fewer_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor([babbler(MANY, hidden=4, layers=1)])
    texts = [MANY[at] + MANY[-at] for at in range(120)]
    group = Group(texts)
    nats = score_texts(predictor, group).nats
    monkeypatch.setattr("charrnn.prediction.predictor.LOGITS_AT_ONCE", 10 * len(MANY))
    assert peak_bytes(lambda: score_texts(predictor, group)) < 50 * 8 * len(MANY)
    np.testing.assert_allclose(score_texts(predictor, group).nats, nats, rtol=1e-12)
