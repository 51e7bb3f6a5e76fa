"""Text in the numbers of a vocabulary that is known, whole or in batches."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.drafting import Kind
from charrnn.corpus.examples import Examples, encode_examples, example_batches
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

ABC = Vocabulary(" abc")
each_kind = pytest.mark.parametrize("kind", ["lines", "paragraphs", "files"])
TEXTS = st.text("abcd \n\n")


def spelled(examples: Examples) -> list[str]:
    """The examples as text, once it is certain that each ends where the next starts."""
    assert examples.starts[0] == 0
    assert examples.starts[-1] == len(examples.ids)
    assert examples.characters == len(examples.ids) - len(examples)
    for i in range(len(examples)):
        assert np.flatnonzero(examples.nth(i) == END).tolist() == [len(examples.nth(i)) - 1]
    return [ABC.decode(examples.nth(i)) for i in range(len(examples))]


def in_blocks(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def test_examples_stand_end_to_end_each_with_its_end() -> None:
    examples = encode_examples(["ab\n", "cx\n"], ABC, "lines")
    assert examples.ids.tolist() == [3, 4, END, 5, UNKNOWN, END]
    assert examples.starts.tolist() == [0, 3, 6]
    assert (len(examples), examples.characters) == (2, 4)
    assert examples.ids.dtype == np.uint8
    assert examples.starts.dtype == np.uint32


def test_auto_takes_paragraphs_where_blank_lines_separate_them_else_lines() -> None:
    for text, expected in {
        "a\nb\n\nc\n": 2,
        "a\nb\nc\n": 3,
        "\n\na\nb\n\n\n": 2,
        "a\nb\n \t\nc": 2,
        "a": 1,
        "": 0,
    }.items():
        assert len(encode_examples([text], ABC, "auto")) == expected
        assert sum(map(len, example_batches([text], ABC, "auto", 2))) == expected


def test_auto_cuts_lines_though_the_vocabulary_knows_no_newline() -> None:
    assert spelled(encode_examples(["ab\nc"], ABC, "auto")) == ["ab", "c"]


def test_an_ideographic_space_is_blank_though_the_vocabulary_does_not_know_it() -> None:
    assert spelled(encode_examples(["a\n\u3000\nb"], ABC, "lines")) == ["a", "b"]


@each_kind
@given(text=TEXTS, block=st.integers(1, 20), symbols=st.integers(1, 20))
def test_batches_hold_the_same_examples_in_the_same_order(
    kind: Kind, text: str, block: int, symbols: int
) -> None:
    batches = list(example_batches(in_blocks(text, block), ABC, kind, symbols))
    whole = encode_examples([text], ABC, kind)
    assert [example for batch in batches for example in spelled(batch)] == spelled(whole)
    assert all(len(batch) == 1 or len(batch.ids) <= symbols for batch in batches)


@given(TEXTS, st.integers(1, 20))
def test_every_line_can_be_kept_also_an_empty_one(text: str, symbols: int) -> None:
    lines = text.replace("d", "\ufffd").removesuffix("\n").split("\n") if text else []
    batches = list(example_batches([text], ABC, "lines", symbols, keep_blank=True))
    assert [example for batch in batches for example in spelled(batch)] == lines
    assert spelled(encode_examples([text], ABC, "lines", keep_blank=True)) == lines


def test_batches_are_filled_as_far_as_examples_fit() -> None:
    batches = example_batches(["ab\n" * 100], ABC, "lines", 10)
    assert [len(batch.ids) for batch in batches] == [9] * 33 + [3]


def test_a_long_stream_of_batches_needs_no_more_memory_than_a_short_one() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        total = sum(
            map(len, example_batches(("ab c\n" * 1000 for _ in range(count)), ABC, "lines", 20_000))
        )
        assert total == count * 1000
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(400) < 1.2 * peak(40)
