"""Text made NFC or NFKC, block by block, as if it were done all at once.

Text is cut only before characters that join no other. There is one exception: a letter under a
heap of marks. Putting marks in order takes a time that grows with the square of their number, so
after every HEAP of them, counted from the first, the order begins anew. No language has so many.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import codes_of

HEAP: Final = 128  # marks
FIRST_MARK: Final = 0x300
MARKS_END: Final = 0x1F000  # there are none beyond


def normalized(texts: Iterable[str], form: Literal["NFC", "NFKC"]) -> Iterator[str]:
    """The same text in that form, however it was cut into blocks."""
    held: list[str] = []  # what a mark in the next block could still change
    marks = 0  # that it ends in
    for text in texts:
        start = 0
        cuts, marks = _heaps(text, marks)
        for cut in cuts:
            yield unicodedata.normalize(form, "".join([*held, text[start:cut]]))
            held, start = [], cut
        safe = _last_safe_cut(text, start)
        if safe is not None:
            yield unicodedata.normalize(form, "".join([*held, text[start:safe]]))
            held, start = [], safe
        held.append(text[start:])
    yield unicodedata.normalize(form, "".join(held))


def _heaps(text: str, before: int) -> tuple[list[int], int]:
    """Where each HEAP of marks in a row is full, some having stood before; those at the end."""
    if text.isascii():
        return [], 0 if text else before
    is_mark = _marks().take(codes_of(text), mode="clip")
    others = np.concatenate(([-1 - before], np.flatnonzero(~is_mark), [len(text)]))
    marks = np.diff(others) - 1
    cuts = [
        at
        for i in np.flatnonzero(marks >= HEAP).tolist()
        for at in range(int(others[i]) + 1 + HEAP, int(others[i + 1]) + 1, HEAP)
    ]
    return cuts, int(marks[-1]) % HEAP


@cache
def _marks() -> NDArray[np.bool_]:
    """By code point, whether it is a mark that changes places with others; the last is none."""
    places = [unicodedata.combining(chr(code)) for code in range(FIRST_MARK, MARKS_END)]
    return np.concatenate((np.zeros(FIRST_MARK, np.bool_), np.array(places) > 0, [False]))


def _last_safe_cut(text: str, start: int) -> int | None:
    """The last place before which nothing can reach across: at a character that joins no other."""
    safe = range(len(text) - 1, start - 1, -1)
    return next((at for at in safe if joins_nothing(text[at])), None)


def joins_nothing(character: str) -> bool:
    """Whether a character never melts into the one before it, whatever the form.

    Latin, Greek, Cyrillic, the Hebrew and Arabic letters, kana, ideographs and Hangul syllables:
    not all there are, but no text goes on for long without one of them, or a space.
    """
    return (
        character < "\u0300"
        or "\u0370" <= character < "\u0483"
        or "\u05d0" <= character < "\u05eb"
        or "\u0620" <= character < "\u064b"
        or "\u3041" <= character < "\u3097"
        or "\u30a1" <= character < "\u30fb"
        or "\u3400" <= character < "\ua000"
        or "\uac00" <= character < "\ud7a4"
    )
