"""Texts cut into lines, paragraphs or files."""

import pytest

from charrnn.settings.corpus import Kind
from charrnn.text.examples import choose_kind, join_examples, line_numbers, split_examples, texts_of


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "kind", "examples", "lines"),
    [
        ("ab\n\ncd\nef", "lines", ["ab", "cd", "ef"], [1, 3, 4]),
        (" \n ab \n\t\ncd \n", "lines", [" ab ", "cd "], [2, 4]),
        ("ab\ncd\n\n\nef\n", "paragraphs", ["ab\ncd", "ef"], [1, 5]),
        ("\n\t\nab\n \n cd\nef", "paragraphs", ["ab", " cd\nef"], [3, 5]),
        ("ab\n\ncd\n", "files", ["ab\n\ncd\n"], [1]),
        ("a\u2028b\x0bc\x85d", "lines", ["a\u2028b\x0bc\x85d"], [1]),
        *(
            (text, kind, [], [])
            for kind in ("lines", "paragraphs", "files")
            for text in ("", " \n")
        ),
    ],
)
def test_cuts(text: str, kind: Kind, examples: list[str], lines: list[int]) -> None:
    assert texts_of(split_examples(text, kind)) == examples
    assert line_numbers(text, kind).tolist() == lines
    assert split_examples(text, kind).tolist() == join_examples(examples).tolist()


POEM = "Day after day,\nday after day,\n\n"
WORDS = "".join(f"{letter}a\n{letter}b\n\n" for letter in "abcdefghijkl")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (POEM * 10, "paragraphs"),
        (POEM * 9, "lines"),  # too few
        ("one line of it\n\n" * 20, "lines"),  # a list with gaps
        (("a line of a chapter\n" * 17 + "\n") * 10, "lines"),
        (WORDS, "lines"),  # an alphabet
        ("word two\nword\n\n" * 10, "lines"),
        (POEM.replace("\n\n", "\n \t\n") * 10, "paragraphs"),
    ],
)
def test_lines_or_paragraphs(text: str, kind: str) -> None:
    assert choose_kind(text) == kind
