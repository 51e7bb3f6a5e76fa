"""The text that is counted: all of it, or evenly spaced pieces of a long one, one after the other.

    ids of symbols, END after each example; BREAK where a piece begins within an example

What stands before a break is not what comes before it in the text, so no context reaches across.
The text itself begins as after an END.

Stretches of a text as numbers, sorted: n-grams of every order are runs in that.

a window     so many symbols from some place on; it goes on to the next END, or to a break, and
             may begin with an END
its words    a symbol as its number plus 1, the first in the highest bits, as many as go into
             64; the rest in the next word, and 0 for what is beyond the window

The counted text in as few bits as its symbols take, for a file: 7 for each of up to 127 symbols.

symbol     a      b      ..
bits       0101101 0101110 ..           one after the other, the last byte filled up with zeros"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import END

Ids = NDArray[np.unsignedinteger[Any]]

PIECES = 64  # evenly spaced, for a corpus may be sorted


def break_of(symbols: int) -> int:
    """The number that stands for a break among so many symbols: the one after the last."""
    return symbols


def parts_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> list[Ids]:
    """The text itself, or about so many symbols of it in pieces, whole examples where there are
    any: views of the ids, one after the other, and breaks between them.
    """
    if ids.size <= most:
        return [ids]
    parts: list[Ids] = []
    for i in range(pieces):
        start = i * ids.size // pieces
        cut = ids[start : start + most // pieces]
        ends = np.flatnonzero(cut == END)
        whole = cut[ends[0] + 1 : ends[-1] + 1] if ends.size > 1 else cut
        if not whole.size:
            continue
        if parts and parts[-1][-1] != END:
            parts.append(np.array([break_of(symbols)], np.min_scalar_type(break_of(symbols))))
        parts.append(whole)
    return parts


def sequence_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> Ids:
    """The parts as one, of a type that has room for a break."""
    dtype = np.min_scalar_type(break_of(symbols))
    parts = parts_of(ids, symbols, most, pieces)
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate([np.zeros(0, dtype), *parts], dtype=dtype)


def is_counted(sequence: Ids, symbols: int) -> NDArray[np.bool_]:
    """Which of these are symbols: all but the breaks."""
    return np.asarray(sequence != break_of(symbols))


Words = list[NDArray[np.uint64]]  # each (N,)
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

WORD = 64  # bits
BLOCK = 1 << 18  # windows looked at at a time


def in_a_word(symbols: int) -> int:
    """How many symbols are packed into one integer."""
    return WORD // symbols.bit_length()


@dataclass(frozen=True)
class Layout:
    """Where in its words each symbol of a window is."""

    symbols: int
    highest: int  # symbols of a window, at most

    @property
    def bits(self) -> int:
        """Those of a symbol."""
        return self.symbols.bit_length()

    @property
    def sizes(self) -> list[int]:
        """How many symbols are in each word."""
        each = in_a_word(self.symbols)
        return [min(each, self.highest - at) for at in range(0, self.highest, each)]

    def last(self, order: int) -> tuple[int, np.uint64]:
        """In which word the last symbol of an n-gram is, and how many bits come after it."""
        number, place = divmod(order - 1, in_a_word(self.symbols))
        return number, np.uint64(self.bits * (self.sizes[number] - 1 - place))

    @property
    def symbol(self) -> np.uint64:
        """The bits of a symbol, where none come after it."""
        return np.uint64((1 << self.bits) - 1)

    def pack(self, text: Ids, at: Places) -> Words:
        """The windows that begin at these places of a text, which goes on for a window more."""
        words: Words = []
        goes_on = np.ones(len(at), np.bool_)
        place = 0
        for size in self.sizes:
            word = np.zeros(len(at), np.uint64)
            for _ in range(size):
                symbol = text[at + place]
                goes_on &= symbol != break_of(self.symbols)
                word <<= np.uint64(self.bits)
                word += (symbol.astype(np.uint64) + np.uint64(1)) * goes_on
                if place:
                    goes_on &= symbol != END
                place += 1
            words.append(word)
        return words

    def are(self, words: Words, order: int) -> Mask:
        """Which windows are long enough to begin with an n-gram."""
        number, shift = self.last(order)
        found: Mask = (words[number] >> shift & self.symbol) != 0
        return found

    def around(self) -> Ids:
        """What may stand around a text, so that all its windows can be packed."""
        symbol = break_of(self.symbols)
        return np.full(self.highest, symbol, np.min_scalar_type(symbol))

    def cut(self, words: Words, order: int) -> Words:
        """The n-grams with which windows begin, as windows."""
        number, shift = self.last(order)
        nothing = [np.zeros_like(word) for word in words[number + 1 :]]
        return [*words[:number], words[number] >> shift << shift, *nothing]

    def without_first(self, words: Words) -> Words:
        """Windows with 0 in the place of their first symbol."""
        _, shift = self.last(1)
        return [words[0] & ((np.uint64(1) << shift) - np.uint64(1)), *words[1:]]


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows, sorted by their words."""

    layout: Layout
    words: Words

    def __len__(self) -> int:
        return len(self.words[0])

    def blocks(self) -> list[slice]:
        """The windows, as many at a time as need little memory beside them."""
        return [slice(at, min(at + BLOCK, len(self))) for at in range(0, len(self), BLOCK)]

    def grams(self, order: int) -> tuple[Mask, Mask]:
        """Which windows are long enough to begin with an n-gram; which begin with another one than
        the window before.
        """
        number, shift = self.layout.last(order)
        is_one, is_new = np.empty((2, len(self)), np.bool_)
        for block in self.blocks():
            is_one[block] = self.layout.are([word[block] for word in self.words], order)
            is_new[block] = self._differs(number, shift, block)
        is_new &= is_one
        return is_one, is_new

    def are_new(self) -> Mask:
        """Which windows are not the same as the one before."""
        number, shift = self.layout.last(self.layout.highest)
        parts = [self._differs(number, shift, block) for block in self.blocks()]
        return np.concatenate([np.zeros(0, np.bool_), *parts])

    def _differs(self, number: int, shift: np.uint64, block: slice) -> Mask:
        """Which windows of a block begin otherwise than the one before, as far as that word."""
        differs = np.zeros(block.stop - block.start, np.bool_)
        for i, word in enumerate(self.words[: number + 1]):
            here = word[max(0, block.start - 1) : block.stop]
            here = here >> shift if i == number else here
            differs[len(differs) - len(here) + 1 :] |= here[1:] != here[:-1]
        if block.start == 0:
            differs[:1] = True
        return differs


def sorted_windows(layout: Layout, words: Words) -> Windows:
    """They in order; those that were given may change."""
    if len(words) == 1:
        words[0].sort()
        return Windows(layout, words)
    order = np.lexsort(words[::-1])
    return Windows(layout, [word[order] for word in words])


Bytes = NDArray[np.uint8]

PACKING_BLOCK = 1 << 16  # symbols at a time; so many fill whole bytes


def bits_for(symbols: int) -> int:
    """What one symbol takes, a break among them."""
    return break_of(symbols).bit_length()


def packed_size(count: int, symbols: int) -> int:
    """The bytes of so many."""
    return -(-count * bits_for(symbols) // 8)


def pack(sequence: Ids, symbols: int) -> Bytes:
    """The bytes, (packed_size,)."""
    bits = bits_for(symbols)
    parts = [np.zeros(0, np.uint8)]
    for at in range(0, len(sequence), PACKING_BLOCK):
        wide = sequence[at : at + PACKING_BLOCK].astype(">u4").view(np.uint8).reshape(-1, 4)
        parts.append(np.packbits(np.unpackbits(wide, axis=1)[:, -bits:]))
    return np.concatenate(parts)


def unpack(packed: Bytes, count: int, symbols: int) -> Ids:
    """The symbols again; ValueError where these are not the bytes of so many symbols."""
    bits = bits_for(symbols)
    if len(packed) != packed_size(count, symbols):
        raise ValueError("not as many bytes as the symbols take")
    sequence: Ids = np.empty(count, np.min_scalar_type(break_of(symbols)))
    for at in range(0, count, PACKING_BLOCK):
        some = sequence[at : at + PACKING_BLOCK]
        taken = packed[at * bits // 8 :][: packed_size(len(some), symbols)]
        wide = np.zeros((len(some), 32), np.uint8)
        wide[:, -bits:] = np.unpackbits(taken)[: len(some) * bits].reshape(-1, bits)
        some[...] = np.packbits(wide, axis=1).view(">u4")[:, 0]
    if count and int(sequence.max()) > break_of(symbols):
        raise ValueError("a symbol that there is not")
    if not np.array_equal(
        pack(sequence[-(count % PACKING_BLOCK or PACKING_BLOCK) :], symbols)[-1:], packed[-1:]
    ):
        raise ValueError("bits beyond the last symbol")
    return sequence
