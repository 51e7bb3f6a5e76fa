"""The counted text, its windows as sorted integers, and its packed form in a model file.

A sequence is the whole text, or evenly spaced pieces of a long one. It has END after each example
and a break where a piece begins within an example. A window has the symbols from some place on, up
to the next END or break; it may begin with END. In sorted windows, n-grams of any order are runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import END

Ids = NDArray[np.unsignedinteger[Any]]

PIECES = 64  # evenly spaced, since a corpus may be sorted


def break_of(symbols: int) -> int:
    """Return the id of a break: the one after the last symbol."""
    return symbols


def parts_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> list[Ids]:
    """Return the pieces of a text with breaks between them, as views of the ids."""
    parts: list[Ids] = []
    for start, stop in pieces_of(ids, most, pieces):
        if parts and parts[-1][-1] != END:
            parts.append(np.array([break_of(symbols)], np.min_scalar_type(break_of(symbols))))
        parts.append(ids[start:stop])
    return parts


def pieces_of(ids: Ids, most: int, pieces: int = PIECES) -> Iterator[tuple[int, int]]:
    """Yield where the text itself starts and stops, or evenly spaced pieces of it with about
    ``most`` symbols. Pieces are whole examples if they contain any.
    """
    if ids.size <= most:
        yield 0, ids.size
        return
    for i in range(pieces):
        start = i * ids.size // pieces
        part = ids[start:][: most // pieces]
        ends = np.flatnonzero(part == END)
        first, stop = (ends[0] + 1, ends[-1] + 1) if ends.size > 1 else (0, part.size)
        if stop > first:
            yield start + int(first), start + int(stop)


def sequence_of(ids: Ids, symbols: int, most: int, pieces: int = PIECES) -> Ids:
    """Return the parts as one array, of a type with room for a break."""
    dtype = np.min_scalar_type(break_of(symbols))
    parts = parts_of(ids, symbols, most, pieces)
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate([np.zeros(0, dtype), *parts], dtype=dtype)


def is_counted(sequence: Ids, symbols: int) -> NDArray[np.bool_]:
    """Return which of these are symbols: all but the breaks."""
    return np.asarray(sequence != break_of(symbols))


Words = list[NDArray[np.uint64]]  # each (N,)
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

WORD = 64  # bits
BLOCK = 1 << 18  # windows at a time


def bits_for(symbols: int) -> int:
    return break_of(symbols).bit_length()


def in_a_word(symbols: int) -> int:
    return WORD // bits_for(symbols)


@dataclass(frozen=True)
class Layout:
    """The position of each symbol of a window in its words."""

    symbols: int
    highest: int  # symbols of a window, at most

    @property
    def sizes(self) -> list[int]:
        each = in_a_word(self.symbols)
        return [min(each, self.highest - at) for at in range(0, self.highest, each)]

    def last(self, order: int) -> tuple[int, np.uint64]:
        """Return the word with the last symbol of an n-gram, and the number of bits after it."""
        number, place = divmod(order - 1, in_a_word(self.symbols))
        return number, np.uint64(bits_for(self.symbols) * (self.sizes[number] - 1 - place))

    @property
    def symbol(self) -> np.uint64:
        """The mask of a symbol in the lowest bits."""
        return np.uint64((1 << bits_for(self.symbols)) - 1)

    def pack(self, text: Ids, at: Places) -> Words:
        """Return the windows at these places of a text that continues for a window more."""
        words: Words = []
        goes_on = np.ones(len(at), np.bool_)
        place = 0
        for size in self.sizes:
            word = np.zeros(len(at), np.uint64)
            for _ in range(size):
                symbol = text[at + place]
                goes_on &= symbol != break_of(self.symbols)
                word <<= np.uint64(bits_for(self.symbols))
                word += (symbol.astype(np.uint64) + np.uint64(1)) * goes_on
                if place:
                    goes_on &= symbol != END
                place += 1
            words.append(word)
        return words

    def are(self, words: Words, order: int) -> Mask:
        """Return which windows are long enough to begin with an n-gram of this order."""
        number, shift = self.last(order)
        long_enough: Mask = (words[number] >> shift & self.symbol) != 0
        return long_enough

    def around(self) -> Ids:
        """Return breaks to put around a text, so that all its windows can be packed."""
        symbol = break_of(self.symbols)
        return np.full(self.highest, symbol, np.min_scalar_type(symbol))

    def cut(self, words: Words, order: int) -> Words:
        """Return the n-grams at the beginning of windows, as windows."""
        number, shift = self.last(order)
        nothing = [np.zeros_like(word) for word in words[number + 1 :]]
        return [*words[:number], words[number] >> shift << shift, *nothing]

    def without_first(self, words: Words) -> Words:
        """Return windows with 0 in place of their first symbol."""
        _, shift = self.last(1)
        return [words[0] & ((np.uint64(1) << shift) - np.uint64(1)), *words[1:]]


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows sorted by their words."""

    layout: Layout
    words: Words

    def __len__(self) -> int:
        return len(self.words[0])

    def blocks(self) -> list[slice]:
        """Return the windows in blocks that need little memory."""
        return [slice(at, min(at + BLOCK, len(self))) for at in range(0, len(self), BLOCK)]

    def grams(self, order: int) -> tuple[Mask, Mask]:
        """Return which windows begin with an n-gram, and which with another than the one before."""
        is_one, is_new = np.empty(len(self), np.bool_), self.are_new(order)
        for block in self.blocks():
            is_one[block] = self.layout.are([word[block] for word in self.words], order)
        is_new &= is_one
        return is_one, is_new

    def are_new(self, order: int) -> Mask:
        """Return which windows differ from the one before in their first ``order`` symbols."""
        number, shift = self.layout.last(order)
        is_new = np.zeros(len(self), np.bool_)
        is_new[:1] = True
        for block in self.blocks():
            for i, word in enumerate(self.words[: number + 1]):
                here = word[max(0, block.start - 1) : block.stop]
                here = here >> shift if i == number else here
                is_new[block.stop - len(here) + 1 : block.stop] |= here[1:] != here[:-1]
        return is_new


def sorted_windows(layout: Layout, words: Words) -> Windows:
    """Return sorted windows; the given words may change."""
    if len(words) == 1:
        words[0].sort()
        return Windows(layout, words)
    order = np.lexsort(words[::-1])
    return Windows(layout, [word[order] for word in words])


Bytes = NDArray[np.uint8]

PACKING_BLOCK = 1 << 16  # symbols at a time; they fill whole bytes


def packed_size(count: int, symbols: int) -> int:
    """Return the number of bytes for this many symbols."""
    return -(-count * bits_for(symbols) // 8)


def pack(sequence: Ids, symbols: int) -> Bytes:
    """Return the bytes of a sequence, (packed_size,)."""
    bits = bits_for(symbols)
    parts = [np.zeros(0, np.uint8)]
    for at in range(0, len(sequence), PACKING_BLOCK):
        wide = sequence[at : at + PACKING_BLOCK].astype(">u4").view(np.uint8).reshape(-1, 4)
        parts.append(np.packbits(np.unpackbits(wide, axis=1)[:, -bits:]))
    return np.concatenate(parts)


def unpack(packed: Bytes, count: int, symbols: int) -> Ids:
    """Return the packed symbols; raise ValueError if these are not the bytes of that many."""
    bits = bits_for(symbols)
    if len(packed) != packed_size(count, symbols):
        raise ValueError("the number of bytes does not fit the number of symbols")
    sequence: Ids = np.empty(count, np.min_scalar_type(break_of(symbols)))
    for at in range(0, count, PACKING_BLOCK):
        some = sequence[at : at + PACKING_BLOCK]
        taken = packed[at * bits // 8 :][: packed_size(len(some), symbols)]
        wide = np.zeros((len(some), 32), np.uint8)
        wide[:, -bits:] = np.unpackbits(taken)[: len(some) * bits].reshape(-1, bits)
        some[...] = np.packbits(wide, axis=1).view(">u4")[:, 0]
    if count and int(sequence.max()) > break_of(symbols):
        raise ValueError("a symbol is out of range")
    if not np.array_equal(
        pack(sequence[-(count % PACKING_BLOCK or PACKING_BLOCK) :], symbols)[-1:], packed[-1:]
    ):
        raise ValueError("there are bits beyond the last symbol")
    return sequence
