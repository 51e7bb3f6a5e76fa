"""Scores, draws, fillings and vectors of random networks against those of ``tests.plain``."""

import math
import re
from dataclasses import replace
from itertools import pairwise, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from charrnn.errors import SettingError
from charrnn.model import load
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.prediction.embed import embed
from charrnn.prediction.filling import FillConfig, Filled, fill
from charrnn.prediction.predictor import EVEN, Predictor
from charrnn.prediction.sampling import Sampler
from charrnn.prediction.scoring import Group, score_ids, score_texts
from charrnn.settings.drawing import SampleConfig
from charrnn.text.counts import Ngrams
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END, Vocabulary
from tests.networks import SHAPES, babbler, drawing_lengths, independent
from tests.plain import PlainNetwork, cost, plain_costs, plain_draw
from tests.program import Program
from tests.text.test_counts import Dictionaries

CHARACTERS = "abcde"


@st.composite
def models(draw: st.DrawFn, ends: tuple[str, ...] = ("symbol", "halt", "length")) -> LanguageModel:
    """A network of any shape with random parameters."""
    shape = draw(st.sampled_from([shape for shape in SHAPES if shape.head_name in ends]))
    scale, seed = draw(st.sampled_from([0.1, 0.6, 2.0])), draw(st.integers(0, 1 << 32))
    p = Parameters.zeros(shape, np.float64)
    p.flat[...] = scale * np.random.default_rng(seed).standard_normal(p.flat.shape)
    return LanguageModel(p, Vocabulary(CHARACTERS, draw(st.sampled_from([0.0, 0.01, 0.5]))))


TEXTS = st.one_of(st.text("abcde", max_size=20), st.text("ab", max_size=9), st.text(max_size=9))
LISTS = st.lists(TEXTS, min_size=1, max_size=20)


@settings(max_examples=settings().max_examples * 4)
@given(models(), LISTS, st.integers(1, 60))
def test_scores_and_ranks(model: LanguageModel, texts: list[str], stretch: int) -> None:
    predictor = Predictor([model])
    scored = score_texts(predictor, Group(texts), ranking=True)
    costs, ranks = zip(*[plain_costs(model, text) for text in texts], strict=True)
    np.testing.assert_allclose(scored.nats, np.concatenate(costs), rtol=1e-9, atol=1e-9)
    assert scored.ranks is not None
    counts = scored.ids != END if model.architecture.head_name == "length" else slice(None)
    np.testing.assert_array_equal(scored.ranks[counts], np.concatenate(ranks)[counts])
    nats, cut = score_ids(predictor, scored.ids, ranking=True, stretch=stretch, warm_up=1000)
    np.testing.assert_allclose(nats["network"], scored.nats, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(cut, scored.ranks)


WAYS = st.builds(
    SampleConfig,
    temperature=st.sampled_from([0.0, 0.3, 1.0, 1.7]),
    top_k=st.sampled_from([None, 1, 3]),
    top_p=st.sampled_from([None, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 2**64 - 1),
    max_characters=st.integers(1, 9),
)


@settings(max_examples=settings().max_examples * 4)
@given(models(("symbol", "halt")), WAYS, st.text("abcdeЖ", max_size=4))
def test_draws(model: LanguageModel, config: SampleConfig, prime: str) -> None:
    numbers, attempts = [0, 1, 2, 3, 4, 2**40], [0, 0, 0, 0, 7, 1]
    found = [*Sampler(model, config, prime).samples(numbers, attempts)]
    for sample, number, attempt in zip(found, numbers, attempts, strict=True):
        text, nats, ended = plain_draw(model, config, prime, number, attempt)
        assert (sample.number, sample.text, sample.ended) == (number, text, ended)
        np.testing.assert_allclose(sample.nats, nats, rtol=1e-9)


@given(models(("length",)), st.text("abЖ", max_size=3), st.integers(0, 9))
def test_draws_of_a_length_cost_as_their_text(model: LanguageModel, prime: str, seed: int) -> None:
    config = SampleConfig(max_characters=30, seed=seed)
    for sample in Sampler(model, config, prime).samples(range(4)):
        assert sample.text.startswith(prime)
        if sample.ended == "end":
            costs, _ = plain_costs(model, sample.text)
            np.testing.assert_allclose(sample.nats, sum(costs), rtol=1e-9)


def fillings(text: str) -> set[str]:
    """Return every text that a pattern stands for."""
    any_of = {"_": [*CHARACTERS]}
    any_of["*"] = ["".join(some) for n in range(3) for some in product(CHARACTERS, repeat=n)]
    return {"".join(parts) for parts in product(*(any_of.get(c, [c]) for c in text))}


@settings(max_examples=settings().max_examples * 2)
@given(models(("symbol", "halt")), st.text("ab_*Ж", max_size=4))
def test_fillings(model: LanguageModel, text: str) -> None:
    assume(len(re.findall("[_*]", text)) < 3)
    found = fill(Predictor([model]), text, FillConfig(count=4000, max_gap=2))
    log_p = {one: -sum(plain_costs(model, one)[0]) for one in fillings(text)}
    total = np.logaddexp.reduce([*log_p.values()])
    shown = {one.text: one.probability for one in found.fillings}
    assert shown.keys() == log_p.keys()
    assert found.left_out == 0
    for one, log in log_p.items():
        np.testing.assert_allclose(shown[one], np.exp(log - total), rtol=1e-7)
    assert list(shown.values()) == sorted(shown.values(), reverse=True)


@settings(max_examples=settings().max_examples * 2)
@given(models(), LISTS)
def test_vectors(model: LanguageModel, texts: list[str]) -> None:
    expected = []
    for text in texts:
        network = PlainNetwork(model, len(text))
        for x in [END, *model.vocabulary.encode(text).tolist()]:
            network.step(x)
        expected.append(network.states[model.architecture.layers][0])
    np.testing.assert_allclose(embed(model, texts), expected, rtol=1e-6, atol=1e-7)


def knowledge(learned: list[int], context: list[int], highest: int) -> tuple[float, float, float]:
    """Return what counts know of a context, by looking for it: its length, and how often it is."""
    length, times = 1, learned[1:].count(context[-1])  # the END before the text is no n-gram
    for longer in range(2, highest):
        last = context[-longer:]
        places = [i for i in range(len(learned)) if learned[i : i + longer] == last]
        if len(last) == longer and END not in last[1:] and places:
            length, times = longer, len(places)
    return 1.0, length / (highest - 1), math.log1p(times) / 5


WEIGHTS = st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0, -0.3]), min_size=6, max_size=6)


@settings(max_examples=settings().max_examples * 2)
@given(
    st.lists(models(("symbol", "halt")), min_size=1, max_size=3),
    st.lists(st.text("abcde", max_size=6), min_size=1, max_size=20),
    st.lists(st.text("abcdeЖ", max_size=9), min_size=1, max_size=9),
    WEIGHTS | st.just([*EVEN]),
    st.sampled_from([1, 1 << 22]),  # rows made beforehand, or not
)
def test_mixtures_with_counts(
    networks: list[LanguageModel], train: list[str], texts: list[str], mixture: Any, ready: int
) -> None:
    networks = [replace(one, vocabulary=networks[0].vocabulary) for one in networks]
    vocabulary, symbols = networks[0].vocabulary, networks[0].vocabulary.symbols
    learned = [tuple(vocabulary.encode(text).tolist()) for text in train]
    with patch("charrnn.text.counts.READY", ready):
        counts = Ngrams(vocabulary.encode_codes(join_examples(train)), symbols)
    plain = Dictionaries(learned, counts.highest, symbols)
    stream = [END, *(symbol for example in learned for symbol in (*example, END))]
    predictor = Predictor(networks, counts, "both", mixture)
    found = score_texts(predictor, Group(texts))
    expected: dict[str, list[float]] = {"network": [], "counts": [], "both": []}
    for text in texts:
        readers, context = [PlainNetwork(one) for one in networks], list[int]()
        ids = [END, *vocabulary.encode(text).tolist(), END]
        for x, y in pairwise(ids):
            context.append(x)
            p = np.mean([np.exp(reader.log_p(x)) for reader in readers], axis=0)
            last = tuple(context[-counts.highest + 1 :])
            q = np.array([plain.probability(last, k) for k in range(symbols)])
            a, b = np.reshape(mixture, (2, 3)) @ knowledge(stream, context, counts.highest)
            both = a * np.log(p + 1e-300) + b * np.log(q)
            for use, logs in {"network": np.log(p), "counts": np.log(q), "both": both}.items():
                expected[use].append(cost(networks[0], logs - np.logaddexp.reduce(logs), y))
    cut, _ = score_ids(predictor, found.ids, stretch=3, warm_up=99)
    for use, nats in found.nats_by_use.items():
        np.testing.assert_allclose(nats, np.array(expected[use]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(cut[use], nats, rtol=1e-9, atol=1e-9)


def filled(model: LanguageModel, text: str, **how: Any) -> Filled:
    return fill(Predictor([model]), text, FillConfig(**{"count": 4000, "max_gap": 3} | how))


@pytest.mark.parametrize("beam", [1, 64])
def test_a_narrow_beam_says_how_much_it_left_out(beam: int, monkeypatch: Any) -> None:
    model = babbler("abcdefgh", hidden=6)
    whole = filled(model, "____", beam=4096)
    monkeypatch.setattr("charrnn.prediction.filling.OUTPUTS", 40 * model.vocabulary.symbols)
    narrow = filled(model, "____", beam=beam)
    assert (len(narrow.fillings), 0 < narrow.left_out < 1) == (min(beam, 40), True)
    tried = {one.text for one in narrow.fillings}
    missed = sum(one.probability for one in whole.fillings if one.text not in tried)
    assert missed <= narrow.left_out + 1e-12


def test_counts_and_several_networks_fill_in_and_lengths_do_not() -> None:
    model = independent({"a": 0.5, "b": 0.2, "": 0.3})
    both = fill(Predictor([model, model]), "_", FillConfig())
    assert [one.text for one in both.fillings] == ["a", "b"]
    assert load("dinosaurs").fill("Tyr_nnosa_rus", beam=1).fillings[-1].text == "Tyrannosaurus"
    with pytest.raises(SettingError, match="length"):
        filled(drawing_lengths(), "a_")


def test_the_command_reads_a_text_a_line_from_standard_input(well_trained: Program) -> None:
    well_trained.run("fill", "-", stdin=b"\xff_").says("not UTF-8", "\ufffd (U+FFFD)")
    ran = well_trained.run("fill", "-", "--json", "-n", "2", stdin="an_a\r\n\nЖ_".encode())
    assert [row["text"] for row in ran.rows] == ["an_a", "", "Ж_"]
    assert ran.rows[1]["fillings"] == [{"text": "", "probability": 1.0}]
    assert ran.err == "not in the vocabulary, read as unknown: Ж (U+0416)\n"
