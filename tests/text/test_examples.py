"""Texts cut into lines, paragraphs or files."""

import numpy as np
import pytest

from charrnn.settings.corpus import Kind
from charrnn.text import examples as cutting
from charrnn.text.examples import excerpt_of, join_examples, split_examples, texts_of
from charrnn.text.vocabulary import END, Ids


@pytest.mark.parametrize(
    ("text", "kind", "examples", "lines"),
    [
        ("ab\n\ncd\nef", "lines", ["ab", "cd", "ef"], [1, 3, 4]),
        (" \n ab \n\t\ncd \n", "lines", [" ab ", "cd "], [2, 4]),
        ("ab\ncd\n\n\nef\n", "paragraphs", ["ab\ncd", "ef"], [1, 5]),
        ("\n\t\nab\n \n cd\nef", "paragraphs", ["ab", " cd\nef"], [3, 5]),
        ("ab\n\ncd\n", "files", ["ab\n\ncd\n"], [1]),
        ("a\u2028b\x0bc\x85d", "lines", ["a\u2028b\x0bc\x85d"], [1]),
        *(("", kind, [], []) for kind in ("lines", "paragraphs", "files")),
        *((" \n", kind, [], []) for kind in ("lines", "paragraphs", "files")),
    ],
)
def test_cuts(text: str, kind: Kind, examples: list[str], lines: list[int]) -> None:
    assert texts_of(split_examples(text, kind)) == examples
    assert cutting.line_numbers(text, kind).tolist() == lines
    assert split_examples(text, kind).tolist() == join_examples(examples).tolist()


POEM = "Day after day,\nday after day,\n\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (POEM * 10, "paragraphs"),
        (POEM * 9, "lines"),  # too few
        ("one line of it\n\n" * 20, "lines"),  # a list with gaps
        (("a line of a chapter\n" * 17 + "\n") * 10, "lines"),
        ("word two\nword\n\n" * 10, "lines"),
        ("word two\nor two\n\n" * 10, "lines"),
        ("word two\nword\n\n" * 9 + "word two\nword.\n\n" * 3, "paragraphs"),  # a quarter
        ("one line of it\n\n" * 9 + "a line of it\nand of it\n\n", "paragraphs"),  # a tenth
        (("a line of a chapter\n" * 16 + "\n") * 10, "paragraphs"),
        (POEM.replace("\n\n", "\n \t\n") * 10, "paragraphs"),
    ],
)
def test_lines_or_paragraphs(text: str, kind: str) -> None:
    assert cutting.choose_kind(text) == kind


def lines(count: int, length: int) -> Ids:
    """Return examples of this length in which no two characters are the same."""
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return ids


ONE_LONG = np.arange(100_000, dtype=np.uint32) + 2


@pytest.mark.parametrize("most", [2_000, 6_400, 15_000])
def test_an_excerpt_has_whole_examples_from_all_of_a_text(most: int) -> None:
    text = lines(1_000, 20)
    places, counts = excerpt_of(text, most)
    assert 0.8 * most < len(places) <= most
    assert counts.all()
    firsts = places[np.flatnonzero(np.diff(places, prepend=-9) > 1)]
    assert (text[firsts[1:] - 1] == END).all()
    assert text[places[-1]] == END
    assert (places[0], places[-1]) == (0, 19_999)
    assert np.diff(firsts).max() < 1.5 * np.diff(firsts).min()


@pytest.mark.parametrize("text", [ONE_LONG, lines(40, 10_000)], ids=["one", "forty"])
def test_a_piece_in_the_midst_of_an_example_begins_with_a_warm_up(text: Ids) -> None:
    places, counts = excerpt_of(text, 16_384)
    joints = np.flatnonzero(np.diff(places) != 1) + 1
    assert len(joints) >= 16
    assert all(not counts[joint : joint + cutting.WARM_UP].any() for joint in joints)
    assert (~counts).sum() == len(joints) * cutting.WARM_UP
    assert counts[0]
    tenths = np.bincount(10 * places // len(text))
    assert tenths.min() > 0.5 * tenths.mean()
    assert excerpt_of(text, len(text))[1].all()


@pytest.mark.parametrize("most", [1, 33, 255, 256, 1_000, 1_025])
def test_however_small_an_excerpt_is_some_of_it_counts(most: int) -> None:
    places, counts = excerpt_of(ONE_LONG, most)
    assert counts.any()
    assert 0 < len(places) <= most
