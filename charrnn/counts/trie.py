"""All n-grams of a text up to some length, each one's parent the n-gram without its last symbol.

    0                     nothing: the empty context
    1 .. K                the symbols, whether they occur or not
    K + 1 ..              the pairs that occur, then the triples ..

Numbers go up by order, and within an order by (parent, last symbol). So the children of a node
follow each other, and where ``key = parent K + symbol`` stands among all keys is the child's
number: one search finds it, in whatever order. A context is a node too: the one that spells it.

To find the n-grams, the text's windows of so many symbols are sorted once, a window packed into
one integer or a few; n-grams of every order are runs in that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.sequence import Ids, break_of
from charrnn.vocabulary import END

Numbers = NDArray[np.uint32]
Nodes = NDArray[np.int64]  # -1: there is none
Words = NDArray[np.uint64]

NONE = -1
WORD = 64  # bits
BLOCK = 1 << 18  # windows looked at at a time


@dataclass(frozen=True, eq=False)
class Trie:
    """The n-grams, and how often they occur."""

    symbols: int
    starts: tuple[int, ...]  # [n] is the first node of order n; one more for where the last ends
    keys: Nodes  # (N,) of the nodes from 1 on, ascending: parent K + symbol
    occurrences: Numbers  # (N,) of the same
    suffix: Nodes  # (M,) the context without its first symbol, of each node that may be a context

    @property
    def highest(self) -> int:
        """The longest n-grams are of so many symbols."""
        return len(self.starts) - 2

    def nodes_of(self, order: int) -> slice:
        """The nodes of an order, as indices of keys and counts."""
        return slice(self.starts[order] - 1, self.starts[order + 1] - 1)

    def children(self, nodes: Nodes, ids: NDArray[Any], order: int | None = None) -> Nodes:
        """The n-grams of these nodes and a symbol more, or NONE; ``order`` is that of the children,
        where they are all of one.
        """
        low, high = 0, len(self.keys)
        if order is not None:
            low, high = self.starts[order] - 1, self.starts[order + 1] - 1
        found = _found(self.keys[low:high], nodes * self.symbols + ids, low + 1)
        found[nodes < 0] = NONE
        return found


def trie_of(sequence: Ids, symbols: int, highest: int) -> Trie:
    """The n-grams of up to so many symbols."""
    windows = _Windows(sequence, symbols, highest)
    counted = sequence[sequence != break_of(symbols)]
    starts = [0, 1, 1 + symbols]
    keys = [np.arange(symbols, dtype=np.int64)]
    occurrences = [np.bincount(counted, minlength=symbols).astype(np.uint32)]
    suffix = [np.zeros(1, np.int64), np.zeros(symbols, np.int64)]
    node, before = windows.first(), 1  # at each window that of the order below, and what to add
    for order in range(2, highest + 1):
        begins, last, count, number = windows.of_order(order)
        parent = node[begins].astype(np.int64) + before
        keys.append(parent * symbols + last)
        occurrences.append(count)
        shorter = suffix[-1][parent - starts[-2]]
        suffix.append(_found(keys[-2], shorter * symbols + last, starts[-2]))
        node, before = number, starts[-1] - 1
        starts.append(starts[-1] + len(begins))
    return Trie(
        symbols,
        tuple(starts),
        np.concatenate(keys),
        np.concatenate(occurrences),
        np.concatenate(suffix[:highest]),
    )


def _found(keys: Nodes, wanted: Nodes, first: int) -> Nodes:
    """The nodes that have these keys, or NONE; the first of the keys belongs to ``first``."""
    if not len(keys):
        return np.full(wanted.shape, NONE, np.int64)
    at = keys.searchsorted(wanted)
    np.minimum(at, len(keys) - 1, out=at)
    return np.where(keys[at] == wanted, at + first, NONE)


def in_a_word(symbols: int) -> int:
    """How many symbols are packed into one integer."""
    return WORD // symbols.bit_length()


class _Windows:
    """Each stretch of the text that begins somewhere, sorted; it goes on to the next END, or break,
    or for as long as n-grams are.
    """

    def __init__(self, sequence: Ids, symbols: int, highest: int) -> None:
        # a symbol is packed as its number plus 1: 0 is what is beyond a window
        self.bits = symbols.bit_length()
        self.per_word = min(highest, in_a_word(symbols))
        self.sizes = [min(self.per_word, highest - at) for at in range(0, highest, self.per_word)]
        text = np.concatenate([np.array([END], sequence.dtype), sequence])
        words: list[Words] = [np.empty(len(text), np.uint64) for _ in self.sizes]
        self.count = 0
        for start in range(0, len(text), BLOCK):
            self._pack(text[start : start + BLOCK + highest], symbols, highest, words)
        words = [word[: self.count] for word in words]
        if len(words) == 1:
            words[0].sort()
        else:
            order = np.lexsort(words[::-1])
            words = [word[order] for word in words]
        self.words = words

    def _pack(self, text: Ids, symbols: int, highest: int, words: list[Words]) -> None:
        """Put the windows that begin in a block of the text behind those that are there."""
        lengths = _lengths(text, symbols, highest)[:BLOCK]
        kept = lengths > 1
        stop = self.count + int(np.count_nonzero(kept))
        for word, at in zip(words, range(0, highest, self.per_word), strict=True):
            size = min(self.per_word, highest - at)
            word[self.count : stop] = self._word(text, lengths, at, size)[kept]
        self.count = stop

    def _word(self, text: Ids, lengths: NDArray[np.uint8], at: int, size: int) -> Words:
        """The symbols at .. at + size of each window, those beyond its length 0."""
        word = np.zeros(len(lengths), np.uint64)
        bits = np.uint64(self.bits)
        for place in range(at, at + size):
            word <<= bits
            there = max(0, min(len(lengths), len(text) - place))
            word[:there] += text[place : place + there]
            word[:there] += np.uint64(1)
        beyond = (size - np.clip(lengths.astype(np.int64) - at, 0, size)).astype(np.uint64)
        beyond *= bits
        everything = beyond >= np.uint64(WORD)
        np.minimum(beyond, np.uint64(WORD - 1), out=beyond)
        word >>= beyond
        word <<= beyond
        word[everything] = 0
        return word

    def _shift(self, order: int) -> tuple[int, np.uint64]:
        """In which word the last symbol of an n-gram is, and how many bits come after it."""
        number, place = divmod(order - 1, self.per_word)
        return number, np.uint64(self.bits * (self.sizes[number] - 1 - place))

    def first(self) -> Numbers:
        """The first symbol of each window."""
        number, shift = self._shift(1)
        found = np.empty(self.count, np.uint32)
        for block in self._blocks():
            found[block] = (self.words[number][block] >> shift) - np.uint64(1)
        return found

    def of_order(self, order: int) -> tuple[NDArray[np.intp], Nodes, Numbers, Numbers]:
        """The n-grams of an order: the window at which each begins, its last symbol, how often it
        occurs; and at each window, how many have begun.
        """
        number, shift = self._shift(order)
        mask = np.uint64((1 << self.bits) - 1)
        is_one, is_new = np.empty((2, self.count), np.bool_)
        for block in self._blocks():
            up_to_here = self.words[number][block] >> shift
            is_one[block] = (up_to_here & mask) != 0
            is_new[block] = self._differs(number, shift, block)
        is_new &= is_one
        begins = np.flatnonzero(is_new)
        last = (self.words[number][begins] >> shift & mask).astype(np.int64) - 1
        count = np.zeros(0, np.uint32)
        if len(begins):
            count = np.add.reduceat(is_one, begins, dtype=np.uint32)
        return begins, last, count, np.cumsum(is_new, dtype=np.uint32)

    def _differs(self, number: int, shift: np.uint64, block: slice) -> NDArray[np.bool_]:
        """Which windows of a block begin otherwise than the one before, as far as that word."""
        differs = np.zeros(block.stop - block.start, np.bool_)
        for i, word in enumerate(self.words[: number + 1]):
            here = word[max(0, block.start - 1) : block.stop]
            here = here >> shift if i == number else here
            differs[len(differs) - len(here) + 1 :] |= here[1:] != here[:-1]
        if block.start == 0:
            differs[:1] = True
        return differs

    def _blocks(self) -> list[slice]:
        """The windows, as many at a time as need little memory beside them."""
        return [slice(at, min(at + BLOCK, self.count)) for at in range(0, self.count, BLOCK)]


def _lengths(text: Ids, symbols: int, highest: int) -> NDArray[np.uint8]:
    """How many symbols of each window belong together: to the END of its example and no further."""
    size = len(text)
    is_end, is_break = text == END, text == break_of(symbols)
    stops = np.zeros(size + 1, np.bool_)
    stops[1:] = is_end  # a window has the END that ends it, and may begin with one
    stops[:-1] |= is_break
    stops[size] = True
    place = np.flatnonzero(stops)
    at = np.arange(size)
    after = np.minimum(place.searchsorted(at + 1 + is_end), len(place) - 1)
    lengths: NDArray[np.uint8] = np.minimum(place[after] - at, highest).clip(0).astype(np.uint8)
    lengths[is_break] = 0
    return lengths
