"""A corpus that makes figures doubtful is told of; one that does not is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import checks
from charrnn.corpus.checks import Warned, repeated, warnings
from charrnn.corpus.corpus import Corpus, Examples, from_texts, read_files
from charrnn.settings.corpus import CorpusConfig

NAMES = [f"{a}{b}{c}" for a in "bdk" for b in "aeiou" for c in "nrst"]


def spelled(corpus: Corpus, examples: Examples) -> list[str]:
    return [corpus.vocabulary.decode(examples.nth(i)) for i in range(len(examples))]


def test_names_that_stand_there_once_are_above_doubt() -> None:
    assert warnings(from_texts(NAMES)) == []
    assert warnings(from_texts(NAMES, CorpusConfig(holdout=0))) == []


def test_held_out_examples_that_are_also_learned_from_are_counted() -> None:
    corpus = from_texts(NAMES * 6)
    held_out = spelled(corpus, corpus.held_out)
    known = sum(text in spelled(corpus, corpus.train) for text in held_out)
    assert warnings(corpus) == [Warned("repeated", known, 36)]
    assert known > 30


@given(
    st.lists(st.text("ab", max_size=3), min_size=2, max_size=40).filter(any),
    st.floats(0.05, 0.9),
    st.integers(1, 7),
)
def test_repeats_are_what_comparing_all_with_all_finds(
    texts: list[str], share: float, block: int
) -> None:
    corpus = from_texts(texts, CorpusConfig(holdout=share))
    train = Counter(bytes(corpus.train.nth(i)) for i in range(len(corpus.train)))
    held_out = [bytes(corpus.held_out.nth(i)) for i in range(len(corpus.held_out))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "BLOCK", block)
        found = repeated(corpus.train, corpus.held_out)
    assert found == (sum(text in train for text in held_out), len(held_out))


def test_of_very_many_examples_some_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LOOKED_FOR", 10)
    corpus = from_texts(["ab"] * 1000)
    assert repeated(corpus.train, corpus.held_out) == (10, 10)


def test_of_a_very_large_training_part_the_beginning_is_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, held_out = from_texts(["ab", "cd", "ef", "ab"], CorpusConfig(holdout=0)), "ef"
    vocabulary = train.vocabulary
    ids = np.append(vocabulary.encode(held_out), 0).astype(np.uint8)
    for symbols, found in ((6, 0), (7, 1)):
        monkeypatch.setattr(checks, "LOOKED_THROUGH", symbols)
        assert repeated(train.train, Examples(ids, np.array([0, 3], np.uint32))) == (found, 1)


def test_texts_of_the_same_letters_in_another_order_are_not_the_same() -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.permutation(list("abcdefghij"))) for _ in range(2000)]
    corpus = from_texts(sorted(set(texts)))
    assert repeated(corpus.train, corpus.held_out)[0] == 0


def test_more_than_a_third_held_out_is_told(tmp_path: Path) -> None:
    corpus = from_texts(["ab", "c" * 9, "de"], CorpusConfig(holdout=0.4))
    held_out, everything = corpus.held_out.characters, 13
    expected = [Warned("much held out", held_out, everything)] if 3 * held_out > everything else []
    assert warnings(corpus) == expected
    halved = from_texts(NAMES, CorpusConfig(holdout=0.5))
    assert warnings(halved) == [Warned("much held out", 90, 180)]
    path = tmp_path / "names.txt"
    path.write_text("\n".join(NAMES))
    beside = read_files([str(path)], valid=[str(path)])
    assert [one.kind for one in warnings(beside)] == ["repeated"]


def test_one_example_to_learn_from_is_too_few_unless_a_whole_file_was_wished(
    tmp_path: Path,
) -> None:
    assert Warned("few examples", 1, 2) in warnings(from_texts(["ab", "cd"]))
    path = tmp_path / "book.txt"
    path.write_text("a line\nand another\n")
    assert warnings(read_files([str(path)], CorpusConfig("files"))) == []
