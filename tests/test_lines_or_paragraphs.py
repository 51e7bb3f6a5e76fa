"""Lines or paragraphs: one rule, held against what people have in their files."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from charrnn.corpus import segmentation
from charrnn.corpus.segmentation import LOOK, FileCut, choose_cut, common_cut, cut_file

DATA = Path(__file__).parent.parent / "data"
NAMES = (DATA / "given-names.txt").read_text("utf-8").split()
BY_LETTER = [[name for name in NAMES if name[0] == letter][:7] for letter in "abcdefghijklm"]
LOG = [f"2024-05-{day:02} 12:00:0{day % 10} [worker] job {day} done" for day in range(1, 31)]
WRAPPED = (
    "It was a dark night, and the rain\nfell in torrents, but for the\nodd moment of rest.\n\n"
)
CODE = "def f(x):\n    y = x + 1\n    return y\n\n\n"
LEVEL = "######\n#.@  #\n######\n\n"
POEM = "床前明月光，\n疑是地上霜。\n\n"

LISTS = {
    "nothing": "",
    "a line": "anna",
    "names": "\n".join(NAMES[:60]),
    "one blank line": "\n".join([*NAMES[:30], "", *NAMES[30:60]]),
    "a title": "My names\n\n" + "\n".join(NAMES[:60]),
    "a few gaps": "\n".join([*NAMES[:20], "", *NAMES[20:40], "", "", *NAMES[40:60], ""]),
    "gaps in a long list": "\n\n".join("\n".join(LOG) for _ in range(20)),
    "a log": "\n".join(LOG),
    "wide gaps": "\n\n".join(f"{name} of the green hills" for name in NAMES[:60]),
    "a letter each": "\n\n".join("\n".join(group) for group in BY_LETTER),
    "a letter each, in words": "\n\n".join(
        "\n".join(f"{name}, king of the hills." for name in group) for group in BY_LETTER
    ),
    "a theme each": "\n\n".join("\n".join(NAMES[at : at + 90 : 18]) for at in range(0, 900, 45)),
    "a short letter": WRAPPED * 3,
    "one long line": "word " * 30_000,
}
TEXTS = {
    "a book": WRAPPED * 40,
    "verses": (DATA / "verses.txt").read_text("utf-8"),
    "source code": CODE * 20,
    "levels": LEVEL * 20,
    "Chinese poems": POEM * 20,
    "speeches": "ROMEO:\nBut soft, what light is this?\nIt is the east.\n\n" * 20,
    "a book and its title": "A Dark Night\n\n" + WRAPPED * 40,
    "spaces in the blank lines": (WRAPPED * 40).replace("\n\n", "\n \t\n"),
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_a_list_is_lines(text: str) -> None:
    assert choose_cut(text) == "lines"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_many_short_paragraphs_are_examples(text: str) -> None:
    assert choose_cut(text) == "paragraphs"


@pytest.mark.parametrize("size", [1, 1000, LOOK - 1, LOOK, 10 * LOOK])
def test_the_same_characters_are_looked_at_in_whatever_blocks_they_come(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    looked_at = []

    def choose_cut(head: str) -> str:
        looked_at.append(head)
        return "lines"

    monkeypatch.setattr(segmentation, "choose_cut", choose_cut)
    text = ("a line\n" * 4000 + WRAPPED * 4000)[: 4 * LOOK]
    first = LOOK - 9 if size == 1 else 0  # single characters around the last that is looked at
    cuts = [0, *range(first, LOOK + 9, size)] if first else [*range(0, len(text), size)]
    blocks = (text[a:b] for a, b in itertools.pairwise([*cuts, len(text)]))
    codes, found = cut_file(blocks, "auto")
    assert sum(map(len, codes))
    assert looked_at == [text[:LOOK]]
    assert found().are == "lines"
    assert found().lines == sum(map(bool, text.split("\n")))


def test_all_of_a_corpus_is_one_kind_or_mixed() -> None:
    lines, paragraphs, empty = FileCut("lines", 3), FileCut("paragraphs", 9), FileCut("lines")
    assert common_cut([lines, lines]) == "lines"
    assert common_cut([lines, paragraphs]) == "mixed"
    assert common_cut([empty, paragraphs]) == "paragraphs"
    assert common_cut([empty]) == "lines"
