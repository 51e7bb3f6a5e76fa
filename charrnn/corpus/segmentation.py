"""Text to examples: code points in, the same code points out, with END_CODE after each example.

    lines        ab⏎⏎cd⏎ef    ->  ab■cd■ef■
    paragraphs   ab⏎cd⏎⏎⏎ef⏎  ->  ab⏎cd■ef■
    files        ab⏎cd⏎       ->  ab⏎cd⏎■

Blank lines are dropped; they separate paragraphs. ``choose_cut`` chooses for ``auto``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.settings.corpus import Cut, Kind
from charrnn.vocabulary import REPLACEMENT, Codes, Ids, codes_of

END_CODE: Final = np.uint32(0x110000)  # the first number that is not a code point
NEWLINE: Final = np.uint32(ord("\n"))
# str.isspace by code point. U+3000 is the last space; the entry after it stands for all others.
SPACES: Final = np.array([chr(code).isspace() for code in range(0x3002)])

BLOCK: Final = 1 << 17  # symbols worked on at a time
LOOK: Final = 1 << 16  # characters


@dataclass(frozen=True)
class FileCut:
    """The kind of examples in a file; and under ``auto`` the counts behind the choice."""

    are: Cut
    lines: int = 0  # not blank
    blank_lines: int = 0
    paragraphs: int = 0


class LineNumbers:
    """A count of the lines of a text; reports the line numbers on which its examples begin."""

    def __init__(self, report: Callable[[NDArray[np.int64]], None] | None = None) -> None:
        self._report = report
        self._line = 1  # in which the next block begins
        self.lines = self.blank_lines = self.paragraphs = 0

    def watch(self, blocks: Iterable[Codes], kind: Cut, keep_blank: bool) -> Iterator[Codes]:
        """Pass on the blocks of a text whose blank lines are empty, and count their lines."""
        before = np.ones(2, np.bool_)  # whether the last two were newlines: so a text begins
        for codes in blocks:
            newline = np.concatenate((before, codes == NEWLINE))
            starts, ends = newline[1:-1], newline[2:]
            visible = starts & ~ends
            paragraphs = visible & newline[:-2]
            self.lines += int(np.count_nonzero(visible))
            self.blank_lines += int(np.count_nonzero(starts & ends))
            self.paragraphs += int(np.count_nonzero(paragraphs))
            begins = starts if keep_blank else paragraphs if kind == "paragraphs" else visible
            if kind == "files":  # its blocks begin with the one example
                begins = np.zeros(len(codes), np.bool_)
                begins[0] = before.all() and self._line == 1
            line_ends = np.flatnonzero(ends)
            if self._report is not None and begins.any():
                self._report(self._line + np.searchsorted(line_ends, np.flatnonzero(begins)))
            self._line += len(line_ends)
            before = newline[-2:]
            yield codes


def cut_file(
    texts: Iterable[str], kind: Kind, keep_blank: bool = False, lines: LineNumbers | None = None
) -> tuple[Iterator[Codes], Callable[[], FileCut]]:
    """Cut the text of one file; return its blocks, and how it was cut for after the last one."""
    if kind != "auto":
        return cut(texts, kind, keep_blank, lines), lambda: FileCut(kind)
    texts = iter(texts)
    held, size = [], 0
    while size < LOOK and (text := next(texts, None)) is not None:
        held.append(text)
        size += len(text)
    texts = chain(held, texts)
    are, count = choose_cut("".join(held)[:LOOK]), lines or LineNumbers()
    return cut(texts, are, keep_blank, count), lambda: FileCut(
        are, count.lines, count.blank_lines, count.paragraphs
    )


def cut(
    texts: Iterable[str], kind: Cut, keep_blank: bool = False, lines: LineNumbers | None = None
) -> Iterator[Codes]:
    """Yield the code points of a text that comes in blocks, END_CODE after each example."""
    blocks: Iterator[Codes] = (codes_of(text) for text in texts if text)
    if kind == "files":
        blocks = _from_first_visible(blocks)
    elif kind == "paragraphs" or not keep_blank:
        blocks = _empty_blank_lines(blocks)
    if lines is not None:
        blocks = lines.watch(blocks, kind, keep_blank)
    if kind == "files":
        return blocks
    return _end_at_gaps(blocks) if kind == "paragraphs" else _end_lines(blocks, keep_blank)


def common_cut(cuts: Sequence[FileCut]) -> str:
    """Return the kind of all examples; "mixed" where files differ. Empty files do not count."""
    kinds = {each.are for each in cuts if each.lines} or {each.are for each in cuts}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def is_space(codes: Codes) -> NDArray[np.bool_]:
    """Return which code points are white space, newlines included."""
    return SPACES.take(codes, mode="clip")


def whole_examples(blocks: Iterable[Codes]) -> Iterator[Codes]:
    """Join the blocks of a stream so that each ends in END_CODE; a rest without one comes last."""
    begun: list[Codes] = []
    for codes in blocks:
        ends = np.flatnonzero(codes == END_CODE)
        after = int(ends[-1]) + 1 if len(ends) else 0
        if after:
            yield np.concatenate([*begun, codes[:after]])
            begun = []
        begun.append(codes[after:])
    if any(map(len, begun)):
        yield np.concatenate(begun)


def text_of(codes: Codes) -> str:
    """Return the text of code points, with a newline for each END_CODE."""
    characters = np.where(codes == END_CODE, NEWLINE, codes).astype("<u4")
    return characters.tobytes().decode("utf-32-le", "surrogatepass")


def texts_in(codes: Codes) -> list[str]:
    """Return the text of each example that ends in a block of whole examples."""
    text = text_of(codes)
    bounds = [-1, *np.flatnonzero(codes == END_CODE).tolist()]
    return [text[before + 1 : end] for before, end in pairwise(bounds)]


def stream_of(texts: Iterable[str]) -> Iterator[Codes]:
    """Yield the code points of texts, END_CODE after each, in blocks of about BLOCK symbols."""
    ends: list[int] = []
    waiting: list[str] = []
    size = 0

    def block() -> Codes:
        return np.insert(codes_of("".join(waiting)), ends, END_CODE)

    for text in texts:
        for at in range(0, len(text), BLOCK):
            waiting.append(text[at : at + BLOCK])
            size += len(waiting[-1])
            if size >= BLOCK:
                yield block()
                ends, waiting, size = [], [], 0
        ends.append(size)
    yield block()


def codes_of_ids(ids: Ids, characters: Codes) -> Iterator[Codes]:
    """Yield the code points of ids: END_CODE for END, U+FFFD for UNKNOWN."""
    codes = np.concatenate([[END_CODE, REPLACEMENT], characters]).astype(np.uint32)
    return (codes[ids[at : at + BLOCK]] for at in range(0, len(ids), BLOCK))


def _from_first_visible(blocks: Iterator[Codes]) -> Iterator[Codes]:
    """Yield all blocks, then END; nothing if the text is all white space."""
    held = []
    for codes in blocks:
        held.append(codes.astype(np.uint16))  # wide enough for every space
        if not is_space(codes).all():
            yield from (spaces.astype(np.uint32) for spaces in held[:-1])
            yield codes
            yield from blocks
            yield np.array([END_CODE])


def _empty_blank_lines(blocks: Iterator[Codes]) -> Iterator[Codes]:
    """Yield the same lines, those of white space alone without it."""
    held: list[NDArray[np.uint16]] = []  # the spaces at the beginning of a line
    begun = False  # whether more than spaces of this line has come
    for codes in blocks:
        newlines = np.flatnonzero(codes == NEWLINE)
        unfinished = codes[-1] != NEWLINE
        starts = np.concatenate(([0], newlines + 1))[: len(newlines) + unfinished]
        first = codes[starts]
        suspect = is_space(first) & (first != NEWLINE)
        suspect[0] &= not begun
        if not held and not suspect.any():  # nearly always
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
    """Replace each newline by END; drop those of empty lines, unless they are kept."""
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
    """Replace two newlines or more by one END; drop those at either end of the text."""
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


def choose_cut(head: str) -> Literal["lines", "paragraphs"]:
    """Return the examples of a text that begins so: paragraphs if many are short, else lines.

    A paragraph has at most 16 lines on average: more is a chapter. One in ten has several lines:
    else the text is a list with gaps.
    """
    lines = head.split("\n")
    lines = lines[:-1] if len(head) == LOOK else lines  # the last one may be incomplete
    visible = [line.strip() for line in lines]
    groups = [list(group) for is_visible, group in groupby(visible, bool) if is_visible]
    many = len(groups) >= 10  # a tenth held out is one
    short = sum(map(len, groups)) <= 16 * len(groups)
    multi_line = 10 * sum(len(group) > 1 for group in groups) >= len(groups)
    return "paragraphs" if many and short and multi_line and not _is_list(groups) else "lines"


def _is_list(groups: list[list[str]]) -> bool:
    """Return whether paragraphs are the groups of a list.

    Its lines have a word or two, and few groups end in a full stop or another mark. Or all lines of
    a group begin with one letter, and those of the next group with another.
    """
    lines = [line for group in groups for line in group]
    words = sum(len(line.split()) for line in lines)
    marked = sum(unicodedata.category(group[-1][-1])[0] not in "LMN" for group in groups)
    if words <= 2 * len(lines) and 4 * marked < len(groups):
        return True
    initials = [{line[0].casefold() for line in group} for group in groups if len(group) > 1]
    keeping = sum(
        len(here) == 1 and here != before and min(here).isalpha()
        for before, here in pairwise([set(), *initials])
    )
    return 4 * keeping >= 3 * len(initials)
