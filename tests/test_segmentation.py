"""Lines, paragraphs and files, cut as plain Python would cut the whole text."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.segmentation import END_CODE, cut, is_space
from charrnn.settings.corpus import Cut

TEXTS = st.text("ab \t\n\n\n\u3000\u2028é")


def examples(text: str, kind: Cut, block: int = 1000, keep_blank: bool = False) -> list[str]:
    """What cutting makes of a text that comes in blocks, as Python strings."""
    blocks = [text[at : at + block] for at in range(0, len(text), block)]
    pieces = list(cut(blocks, kind, keep_blank))
    assert all(piece.dtype == np.uint32 for piece in pieces)
    codes = np.concatenate([np.empty(0, np.uint32), *pieces]).tolist()
    assert not codes or codes[-1] == END_CODE
    found = "".join("■" if code == END_CODE else chr(code) for code in codes).split("■")
    return found[:-1]


@given(TEXTS, st.integers(1, 9))
def test_lines_are_what_python_says_but_the_blank_ones(text: str, block: int) -> None:
    assert examples(text, "lines", block) == [line for line in text.split("\n") if line.strip()]


@given(TEXTS, st.integers(1, 9))
def test_paragraphs_are_runs_of_lines_that_are_not_blank(text: str, block: int) -> None:
    runs = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    expected = ["\n".join(lines) for visible, lines in runs if visible]
    assert examples(text, "paragraphs", block) == expected


@given(TEXTS, st.integers(1, 9))
def test_a_file_is_one_example_unless_it_is_blank(text: str, block: int) -> None:
    assert examples(text, "files", block) == ([text] if text.strip() else [])


@given(TEXTS, st.integers(1, 9))
def test_every_line_can_be_kept(text: str, block: int) -> None:
    expected = text.removesuffix("\n").split("\n") if text else []
    assert examples(text, "lines", block, keep_blank=True) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("lines", ["  ab ", "cd", "ef"]),
        ("paragraphs", ["  ab \ncd", "ef"]),
        ("files", ["\n  ab \ncd\n \nef\n"]),
    ],
)
def test_spaces_within_a_line_stay_and_blank_lines_go(kind: Cut, expected: list[str]) -> None:
    assert examples("\n  ab \ncd\n \nef\n", kind) == expected


def test_white_space_is_what_python_says_it_is() -> None:
    codes = np.arange(0x110000, dtype=np.uint32)
    assert is_space(codes).tolist() == [chr(code).isspace() for code in codes.tolist()]


def test_a_carriage_return_that_was_kept_is_a_character() -> None:
    assert examples("ab\r\n\r\ncd\r\n", "lines") == ["ab\r", "cd\r"]
