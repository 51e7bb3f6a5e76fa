"""Text in the numbers of a vocabulary that is known, as a corpus has it and as it streams by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.corpus import Examples, encode_draft, read_draft
from charrnn.corpus.segmentation import END_CODE
from charrnn.settings.corpus import Kind, Reading
from charrnn.texts import codes_in
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

ABC = Vocabulary(" abc")


def encode(kind: Kind, *blocks: str) -> Examples:
    draft, _ = read_draft([blocks], [kind])
    return encode_draft(draft, ABC)


def spelled(examples: Examples) -> list[str]:
    """The examples as text, once it is certain that each ends where the next starts."""
    assert examples.starts[0] == 0
    assert examples.starts[-1] == len(examples.ids)
    assert examples.characters == len(examples.ids) - len(examples)
    for i in range(len(examples)):
        assert np.flatnonzero(examples.nth(i) == END).tolist() == [len(examples.nth(i)) - 1]
    return [ABC.decode(examples.nth(i)) for i in range(len(examples))]


def test_examples_stand_end_to_end_each_with_its_end() -> None:
    examples = encode("lines", "ab\n", "cx\n")
    assert examples.ids.tolist() == [3, 4, END, 5, UNKNOWN, END]
    assert examples.starts.tolist() == [0, 3, 6]
    assert (len(examples), examples.characters) == (2, 4)
    assert examples.ids.dtype == np.uint8
    assert examples.starts.dtype == np.uint32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc\n", 3),
        ("a b c,\nb.\n\n" * 10, 10),
        ("a b c,\nb.\n \t\n" * 10, 10),
        ("a\nb\nc\n", 3),
        ("\n\na\nb\n\n\n", 2),
        ("a\nb\n \t\nc", 3),
        ("a", 1),
        ("", 0),
    ],
)
def test_a_corpus_and_a_stream_are_cut_by_one_rule(
    tmp_path: Path, text: str, expected: int
) -> None:
    assert len(encode("auto", text)) == expected
    path = tmp_path / "text.txt"
    path.write_text(text, newline="")
    codes = codes_in([str(path)], "auto", Reading())
    assert sum(np.count_nonzero(block == END_CODE) for block in codes) == expected


def test_auto_cuts_lines_though_the_vocabulary_knows_no_newline() -> None:
    assert spelled(encode("auto", "ab\nc")) == ["ab", "c"]


def test_an_ideographic_space_is_blank_though_the_vocabulary_does_not_know_it() -> None:
    assert spelled(encode("lines", "a\n\u3000\nb")) == ["a", "b"]


@pytest.mark.parametrize("kind", ["auto", "lines", "paragraphs", "files"])
@given(text=st.text("abcd \n\n"), size=st.integers(1, 20))
def test_examples_are_the_same_whatever_blocks_they_come_in(
    kind: Kind, text: str, size: int
) -> None:
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    assert spelled(encode(kind, *blocks)) == spelled(encode(kind, text))
