"""What the examples of a file are where nobody says: its lines, or its paragraphs.

A blank line alone is no paragraph structure: a list has a title, or a gap somewhere. So examples
are lines, unless the first LOOK characters of the file show all of this:

    many      there are at least FEWEST paragraphs
    short     they have at most LONGEST lines each, on average: more is a chapter, or a group
    whole     at least one in SOME has more than one line: else it is a list with wide gaps
    no list   it is not a list in groups, which is one whose groups begin each line with the same
              letter, another one than the group before; or one whose lines are a word or two, and
              whose groups do not end in a full stop or another mark

It is asked for each file on its own, and sees the same characters however they arrive: in a corpus
and in a stream, at once or letter by letter, the answer is the same. A stream gives its first line
once there are LOOK characters, or no more; who wants it sooner says what the examples are.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, Literal

from charrnn.corpus.segmentation import Cut, LineCount, LineNumbers, cut
from charrnn.settings.corpus import Kind as Kind
from charrnn.vocabulary import Codes

LOOK: Final = 1 << 16  # characters of a file that are looked at
FEWEST: Final = 10  # of which a tenth held out is one
LONGEST: Final = 16  # lines: a sonnet and a bit
SOME: Final = 10
WORDS: Final = 2  # in a line of a list, at most
ENDING_IN_A_MARK: Final = 0.25  # of the groups of a list, at most
KEEPING_A_LETTER: Final = 0.75  # of the groups of an alphabetical list, at least


@dataclass(frozen=True)
class FileCut:
    """What the examples of a file are; where that was decided here, also what was counted."""

    are: Cut
    lines: int = 0  # that are not blank
    blank_lines: int = 0
    paragraphs: int = 0


def are_all(cuts: Sequence[FileCut]) -> str:
    """What all examples are: "mixed", where files differ. One without a line does not count."""
    kinds = {each.are for each in cuts if each.lines} or {each.are for each in cuts}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def cut_as_decided(
    texts: Iterable[str], kind: Kind, keep_blank: bool = False, begins: LineNumbers | None = None
) -> tuple[Iterator[Codes], Callable[[], FileCut]]:
    """The code points of a text, END_CODE after each example; and, at their end, how it was cut."""
    if kind != "auto":
        return cut(texts, kind, keep_blank, begins=begins), lambda: FileCut(kind)
    head, texts = _begun(texts)
    count, are = LineCount(), cut_of(head)
    return cut(texts, are, keep_blank, count, begins), lambda: FileCut(are, **vars(count))


def _begun(texts: Iterable[str]) -> tuple[str, Iterator[str]]:
    """The first LOOK characters of a text; and all of it."""
    texts = iter(texts)
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= LOOK:
            break
    return "".join(held)[:LOOK], chain(held, texts)


def cut_of(head: str) -> Literal["lines", "paragraphs"]:
    """The examples of a text that begins so: the rule above."""
    groups = _groups(head)
    lines = sum(map(len, groups))
    many = len(groups) >= FEWEST
    short = lines <= LONGEST * len(groups)
    whole = SOME * sum(len(group) > 1 for group in groups) >= len(groups)
    return "paragraphs" if many and short and whole and not _is_list(groups) else "lines"


def _groups(head: str) -> list[list[str]]:
    """The lines of each paragraph; not the last line, if it may not be whole."""
    groups: list[list[str]] = [[]]
    lines = head.split("\n")
    for line in lines[:-1] if len(head) == LOOK else lines:
        if visible := line.strip():
            groups[-1].append(visible)
        elif groups[-1]:
            groups.append([])
    return groups if groups[-1] else groups[:-1]


def _is_list(groups: list[list[str]]) -> bool:
    lines = [line for group in groups for line in group]
    words = sum(len(line.split()) for line in lines)
    marked = sum(not _is_word_character(group[-1][-1]) for group in groups)
    if words <= WORDS * len(lines) and marked < ENDING_IN_A_MARK * len(groups):
        return True
    initials = [{line[0].casefold() for line in group} for group in groups if len(group) > 1]
    keeping = sum(
        len(here) == 1 and here != before and min(here).isalpha()
        for before, here in pairwise([set(), *initials])
    )
    return keeping >= KEEPING_A_LETTER * len(initials)


def _is_word_character(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
