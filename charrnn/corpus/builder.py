"""A corpus while it is read: symbols numbered as they arrive, for the alphabet is not known yet.

It is kept in pieces. Whoever copies them into their last place frees each one on the way, so that
the corpus is never in memory twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from mmap import mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.lines_or_paragraphs import FileCut, Kind, cut_as_decided
from charrnn.corpus.segmentation import END_CODE
from charrnn.errors import CorpusError
from charrnn.vocabulary import END, UNKNOWN, Codes, Ids, codes_of, is_surrogate

Starts = NDArray[np.unsignedinteger[Any]]

BLOCK: Final = 1 << 17  # symbols worked on at a time
PIECE_BYTES: Final = 1 << 22


class Draft:
    """Symbols end to end, numbered by arrival: END and UNKNOWN, then 2, 3, 4 ..."""

    def __init__(self) -> None:
        self.characters: list[int] = []  # code points; characters[i] has the number i + 2
        self.size = 0
        self.examples = 0
        self._numbers: Ids = np.full(int(END_CODE) + 1, UNKNOWN, np.uint8)
        self._numbers[END_CODE] = END
        self._pieces: deque[Ids] = deque()
        self._room: Ids = np.empty(0, np.uint8)  # the rest of the last piece

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds the numbers given so far."""
        return self._numbers.dtype

    def add(self, codes: Codes) -> None:
        """Add code points, END_CODE after each example."""
        numbers = self._numbers.take(codes)
        if self._learn(codes[numbers == UNKNOWN]):
            numbers = self._numbers.take(codes)
        self.examples += int(np.count_nonzero(numbers == END))
        self.size += len(numbers)
        self._store(numbers)

    def starts(self) -> Starts:
        """Where each example starts, and where the last one ends: (examples + 1,)."""
        starts = np.empty(self.examples + 1, starts_type(self.size))
        starts[0] = at = done = 0
        self._close_piece()
        for block in (block for piece in self._pieces for block in blocks_of(piece)):
            ends = np.flatnonzero(block == END)
            starts[done + 1 : done + 1 + len(ends)] = ends + (at + 1)
            at += len(block)
            done += len(ends)
        return starts

    def drain(self) -> Iterator[Ids]:
        """The symbols in blocks. What has been given is gone from the draft, and freed."""
        self._close_piece()
        while self._pieces:
            yield from blocks_of(self._pieces.popleft())

    def join(self) -> Ids:
        """All symbols in one array, at the cost of the draft."""
        joined = np.empty(self.size, self._numbers.dtype)
        at = 0
        for block in self.drain():
            joined[at : at + len(block)] = block
            at += len(block)
        return joined

    def _learn(self, codes: Codes) -> bool:
        """Number the characters that are new. Halves of surrogate pairs stay unknown."""
        new = np.unique(codes[~is_surrogate(codes)])
        if not len(new):
            return False
        numbers = np.arange(len(new)) + len(self.characters) + 2
        self.characters += new.tolist()
        if numbers[-1] > np.iinfo(self._numbers.dtype).max:
            self._numbers = self._numbers.astype(np.min_scalar_type(int(numbers[-1])))
        self._numbers[new] = numbers
        return True

    def _store(self, numbers: Ids) -> None:
        if numbers.dtype != self._room.dtype:  # the alphabet has outgrown its type
            self._close_piece()
        while len(numbers):
            if not len(self._room):
                self._room = _new_piece(numbers.dtype)
                self._pieces.append(self._room)
            fits = min(len(numbers), len(self._room))
            self._room[:fits] = numbers[:fits]
            self._room = self._room[fits:]
            numbers = numbers[fits:]

    def _close_piece(self) -> None:
        """Cut the last piece where it ends; what was never touched takes no memory."""
        if len(self._room):
            last = self._pieces.pop()
            self._pieces.append(last[: -len(self._room)])
            self._room = self._room[:0]


def _new_piece(dtype: np.dtype[np.unsignedinteger[Any]]) -> Ids:
    """Memory from the system itself: malloc would keep what we free between what we need."""
    try:
        return np.frombuffer(mmap(-1, PIECE_BYTES), dtype)
    except OSError:
        raise CorpusError(
            "the corpus needs more memory than there is",
            "Learn from a part of it, or on a machine with more memory.",
        ) from None


def draft_of(
    texts: Iterable[Iterable[str]], kinds: Iterable[Kind]
) -> tuple[Draft, tuple[FileCut, ...]]:
    """All texts, each coming in blocks, and what the examples of each are."""
    draft = Draft()
    cuts = []
    for text, kind in zip(texts, kinds, strict=True):
        codes, found = cut_as_decided(text, kind)
        for block in codes:
            draft.add(block)
        cuts.append(found())
    return draft, tuple(cuts)


def starts_type(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The type of places among so many symbols: four bytes, eight where four are not enough."""
    return np.dtype(np.uint32 if size < 1 << 32 else np.uint64)


def blocks_of(ids: Ids) -> Iterator[Ids]:
    """Views of an array, a block each."""
    for at in range(0, len(ids), BLOCK):
        yield ids[at : at + BLOCK]


def ended_codes(texts: Iterable[str]) -> Iterator[Codes]:
    """The code points of texts that are an example each, however short or long they are."""
    ends: list[int] = []
    waiting: list[str] = []
    size = 0
    for text in texts:
        for at in range(0, len(text), BLOCK):
            waiting.append(text[at : at + BLOCK])
            size += len(waiting[-1])
            if size >= BLOCK:
                yield _with_ends(waiting, ends)
                ends, waiting, size = [], [], 0
        ends.append(size)
    yield _with_ends(waiting, ends)


def _with_ends(texts: list[str], ends: list[int]) -> Codes:
    return np.insert(codes_of("".join(texts)), ends, END_CODE)
