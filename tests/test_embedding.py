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
from charrnn.network.stepper import Stepper
from charrnn.scoring.streams import stream_of
from charrnn.vocabulary import END, Codes, codes_of
from tests.speaking import babbler, vocabulary_of

Vectors = analysis.Vectors


def vectors_of(model: LanguageModel, texts: list[str]) -> Vectors:
    found = list(embed(model, stream_of(texts)))
    assert [text for some in found for text in some.texts] == texts
    return np.concatenate([some.vectors for some in found])


def last_state(model: LanguageModel, text: str) -> Vectors:
    """Symbol after symbol."""
    stepper = Stepper(model.parameters, 1)
    state = stepper.zeros(1)
    for index, x in enumerate([END, *model.vocabulary.encode(text).tolist()]):
        stepper.read(np.array([x]), state, index)
    each = len(model.architecture.cell.states)
    found: Vectors = state[-each][0].astype(np.float32)
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
    found = vectors_of(model, texts)
    np.testing.assert_array_equal(found, [last_state(model, text) for text in texts])


@given(st.lists(st.text("abcdefghЖ", max_size=9), min_size=1, max_size=9))
def test_a_text_has_the_same_vector_alone_and_among_others(texts: list[str]) -> None:
    model = babbler()
    together = vectors_of(model, texts)
    np.testing.assert_array_equal(together, [vectors_of(model, [text])[0] for text in texts])


def test_more_texts_than_there_are_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["abc"[: i % 4] * (i % 5) for i in range(50)]
    whole = vectors_of(babbler(), texts)
    monkeypatch.setattr(analysis, "LANES", 3)
    np.testing.assert_array_equal(vectors_of(babbler(), texts), whole)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_it_does_not_matter_how_a_text_arrives(size: int) -> None:
    model, texts = babbler(), ["abc", "", "hgfedcba", "b"]
    codes = np.concatenate(list(stream_of(texts)))
    blocks: list[Codes] = [codes[at : at + size] for at in range(0, len(codes), size)]
    found = list(embed(model, blocks))
    assert [text for some in found for text in some.texts] == texts
    np.testing.assert_array_equal(
        np.concatenate([some.vectors for some in found]), vectors_of(model, texts)
    )


def test_halves_of_surrogate_pairs_are_read_as_unknown() -> None:
    model = babbler()
    assert codes_of("\ud800")[0] == 0xD800
    np.testing.assert_array_equal(vectors_of(model, ["a\ud800"])[0], vectors_of(model, ["aЖ"])[0])
