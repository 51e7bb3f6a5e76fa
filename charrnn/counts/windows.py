"""Stretches of a text as numbers, sorted: n-grams of every order are runs in that.

a window     so many symbols from some place on; it goes on to the next END, or to a break, and
             may begin with an END
its words    a symbol as its number plus 1, the first in the highest bits, as many as go into
             64; the rest in the next word, and 0 for what is beyond the window
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.sequence import Ids, break_of
from charrnn.vocabulary import END

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
