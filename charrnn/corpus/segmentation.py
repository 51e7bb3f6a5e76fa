"""Text to examples: code points in, the same code points out, with an END after each example.

    lines        ab⏎⏎cd⏎ef    ->  ab■cd■ef■
    paragraphs   ab⏎cd⏎⏎⏎ef⏎  ->  ab⏎cd■ef■
    files        ab⏎cd⏎       ->  ab⏎cd⏎■

Blank lines come to nothing; they separate paragraphs. It happens block by block, and nothing is
kept but what the next block decides about: spaces that may turn out to be a blank line.

What the examples of a file are where nobody says: its lines, or its paragraphs.

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
once there are LOOK characters, or no more; who wants it sooner says what the examples are."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.settings.corpus import Cut as Cut
from charrnn.settings.corpus import Kind as Kind
from charrnn.vocabulary import Codes, codes_of

END_CODE: Final = np.uint32(0x110000)  # the first number that is no code point
NEWLINE: Final = np.uint32(ord("\n"))
# by code point, what str.isspace says; the last of all is U+3000, and what follows is none
SPACES: Final = np.array([chr(code).isspace() for code in range(0x3002)])


def cut(
    texts: Iterable[str],
    kind: Cut,
    keep_blank: bool = False,
    count: LineCount | None = None,
    begins: LineNumbers | None = None,
) -> Iterator[Codes]:
    """The code points of one text that comes in blocks, END_CODE after each example.

    With keep_blank, every line is an example, also one that is empty; else they can be counted.
    Who wants to know on which line each of them begins is told by then.
    """
    blocks: Iterator[Codes] = (codes_of(text) for text in texts if text)
    if kind == "files":
        blocks = _from_first_visible(blocks)
        return blocks if begins is None else begins.of_all(blocks)
    if kind == "lines" and keep_blank:
        blocks = blocks if begins is None else begins.of_lines(blocks)
        return _end_lines(blocks, keep_blank)
    blocks = _blank_lines_emptied(blocks)
    if count is not None:
        blocks = count.passed(blocks)
    if begins is not None:
        blocks = begins.of_visible(blocks, kind)
    return _end_at_gaps(blocks) if kind == "paragraphs" else _end_lines(blocks, keep_blank)


class LineCount:
    """How many lines there are, how many that are blank, and how many paragraphs."""

    def __init__(self) -> None:
        self.lines = self.blank_lines = self.paragraphs = 0

    def passed(self, blocks: Iterable[Codes]) -> Iterator[Codes]:
        """The blocks, in which a blank line is an empty one, each counted."""
        before = np.ones(2, np.bool_)  # whether the last two were newlines: so a text begins
        for codes in blocks:
            newline = np.concatenate((before, codes == NEWLINE))
            starts, is_blank = newline[1:-1], newline[2:]
            begins = starts & ~is_blank
            self.lines += int(np.count_nonzero(begins))
            self.blank_lines += int(np.count_nonzero(starts & is_blank))
            self.paragraphs += int(np.count_nonzero(begins & newline[:-2]))
            before = newline[-2:]
            yield codes


class LineNumbers:
    """Tells on which line of a text each example begins, in their order."""

    def __init__(self, tell: Callable[[NDArray[np.int64]], None]) -> None:
        self._tell = tell
        self._line = 1  # in which the next block begins

    def of_all(self, blocks: Iterable[Codes]) -> Iterator[Codes]:
        """The blocks of a text that is one example."""
        for i, codes in enumerate(blocks):
            if not i:
                self._tell(np.ones(1, np.int64))
            yield codes

    def of_lines(self, blocks: Iterable[Codes]) -> Iterator[Codes]:
        """The blocks of a text of which each line is one."""
        starts = True
        for codes in blocks:
            newline = codes == NEWLINE
            self._note(np.concatenate(([starts], newline[:-1])), newline)
            starts = bool(newline[-1])
            yield codes

    def of_visible(self, blocks: Iterable[Codes], kind: Cut) -> Iterator[Codes]:
        """The blocks of a text, blank lines emptied, whose other lines or paragraphs are."""
        before = np.ones(2, np.bool_)
        for codes in blocks:
            newline = np.concatenate((before, codes == NEWLINE))
            begins = newline[1:-1] & ~newline[2:]
            if kind == "paragraphs":
                begins &= newline[:-2]
            self._note(begins, newline[2:])
            before = newline[-2:]
            yield codes

    def _note(self, begins: NDArray[np.bool_], newline: NDArray[np.bool_]) -> None:
        ends = np.flatnonzero(newline)
        if begins.any():
            self._tell(self._line + np.searchsorted(ends, np.flatnonzero(begins)))
        self._line += len(ends)


def is_space(codes: Codes) -> NDArray[np.bool_]:
    """Which code points are white space, newlines among them."""
    return SPACES.take(codes, mode="clip")


def _from_first_visible(blocks: Iterator[Codes]) -> Iterator[Codes]:
    """All of it, then END; nothing, if there is nothing in it but space."""
    held = []
    for codes in blocks:
        held.append(codes.astype(np.uint16))  # wide enough for every space
        if not is_space(codes).all():
            yield from (spaces.astype(np.uint32) for spaces in held[:-1])
            yield codes
            yield from blocks
            yield np.array([END_CODE])


def _blank_lines_emptied(blocks: Iterator[Codes]) -> Iterator[Codes]:
    """The same lines, but those with nothing in them except space become empty."""
    held: list[NDArray[np.uint16]] = []  # spaces that a line began with
    begun = False  # whether the line has gone beyond them
    for codes in blocks:
        newlines = np.flatnonzero(codes == NEWLINE)
        unfinished = codes[-1] != NEWLINE
        starts = np.concatenate(([0], newlines + 1))[: len(newlines) + unfinished]
        first = codes[starts]
        suspect = is_space(first) & (first != NEWLINE)
        suspect[0] &= not begun
        if not held and not suspect.any():  # as nearly always
            begun = bool(unfinished)
            yield codes
            continue
        visible = np.logical_or.reduceat(~is_space(codes), starts)
        visible[0] |= begun
        if visible[0]:
            yield from (spaces.astype(np.uint32) for spaces in held)
        if visible[0] or len(newlines):
            held = []
        if unfinished and not visible[-1]:
            held.append(codes[starts[-1] :].astype(np.uint16))
        begun = bool(unfinished and visible[-1])
        keep = visible.repeat(np.diff(starts, append=len(codes)))
        keep[newlines] = True
        yield codes[keep]


def _end_lines(blocks: Iterator[Codes], keep_blank: bool) -> Iterator[Codes]:
    """Every newline becomes END; those of empty lines go, unless they are to be kept."""
    ended = True  # whether a new line begins here
    for codes in blocks:
        if not len(codes):
            continue
        newline = codes == NEWLINE
        marked = np.where(newline, END_CODE, codes)
        if not keep_blank:
            empty = newline & np.concatenate(([ended], newline[:-1]))
            marked = marked[~empty] if empty.any() else marked
        ended = bool(newline[-1])
        yield marked
    if not ended:
        yield np.array([END_CODE])


def _end_at_gaps(blocks: Iterator[Codes]) -> Iterator[Codes]:
    """A newline alone stays; two or more become one END; those at either end of the text go."""
    gap = 0  # newlines since the last other character
    begun = False
    for codes in blocks:
        others = np.flatnonzero(codes != NEWLINE)
        if not len(others):
            gap += len(codes)
            continue
        gap += int(others[0])
        if begun and gap:
            yield np.array([NEWLINE if gap == 1 else END_CODE])
        body = codes[others[0] : others[-1] + 1]  # neither begins nor ends with a newline
        newline = body == NEWLINE
        repeated = newline[1:] & newline[:-1]
        if repeated.any():
            follows = np.concatenate(([False], repeated))
            leads = np.concatenate((repeated, [False])) & ~follows
            body = np.where(leads, END_CODE, body)[~follows]
        yield body
        gap = len(codes) - 1 - int(others[-1])
        begun = True
    if begun:
        yield np.array([END_CODE])


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
