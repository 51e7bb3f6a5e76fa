"""One vector for a text: the state after its last character, however many are read beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn import analysis
from charrnn.analysis import embed
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.step import Network
from charrnn.vocabulary import END, codes_of
from tests.networks import babbler, vocabulary_of

Vectors = analysis.Vectors


def last_state(model: LanguageModel, text: str) -> Vectors:
    """Symbol after symbol."""
    network = Network(model.parameters)
    state = network.zeros(1)
    for x in [END, *model.vocabulary.encode(text).tolist()]:
        network.read(np.array([x]), state)
    found: Vectors = state[-len(model.architecture.cell.states)][0].astype(np.float32)
    return found


def gated(cell: str) -> LanguageModel:
    vocabulary = vocabulary_of("abcdefgh")
    p = Parameters.zeros(Architecture(vocabulary.symbols, 7, 2, cell))
    p.flat[...] = np.random.default_rng(0).standard_normal(p.flat.shape)
    return LanguageModel(p, vocabulary)


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
def test_a_vector_is_the_top_state_after_the_last_character(cell: str) -> None:
    model = gated(cell)
    texts = ["abc", "", "h", "aЖb", "abcdefgh" * 20]
    found = embed(model, texts)
    np.testing.assert_allclose(found, [last_state(model, text) for text in texts], atol=1e-7)


@given(st.lists(st.text("abcdefghЖ", max_size=9), min_size=1, max_size=9))
def test_a_text_has_the_same_vector_alone_and_among_others(texts: list[str]) -> None:
    model = babbler()
    together = embed(model, texts)
    np.testing.assert_allclose(together, [embed(model, [text])[0] for text in texts], atol=1e-7)


def test_more_texts_than_there_are_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["abc"[: i % 4] * (i % 5) for i in range(50)]
    whole = embed(babbler(), texts)
    monkeypatch.setattr(analysis, "EMBEDDING_LANES", 3)
    np.testing.assert_allclose(embed(babbler(), texts), whole, atol=1e-7)


def test_halves_of_surrogate_pairs_are_read_as_unknown() -> None:
    model = babbler()
    assert codes_of("\ud800")[0] == 0xD800
    np.testing.assert_allclose(embed(model, ["a\ud800"])[0], embed(model, ["aЖ"])[0], atol=1e-7)
