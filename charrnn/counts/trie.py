"""All n-grams of a text up to some length, each one's parent the n-gram without its last symbol.

    0                     nothing: the empty context
    1 .. K                the symbols, whether they occur or not
    K + 1 ..              the pairs that occur, then the triples ..

Numbers go up by order, and within an order by (parent, last symbol). So the children of a node
follow each other, and where ``key = parent K + symbol`` stands among all keys is the child's
number: one search finds it, in whatever order. A context is a node too: the one that spells it.

To find the n-grams, the text's windows of so many symbols are sorted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import BLOCK, Ids, Layout, break_of, sorted_windows
from charrnn.vocabulary import END

Numbers = NDArray[np.uint32]
Nodes = NDArray[np.int64]  # -1: there is none

NONE = -1


@dataclass(frozen=True, eq=False)
class Trie:
    """The n-grams, and how often they occur."""

    symbols: int
    starts: tuple[int, ...]  # [n] is the first node of order n; one more for where the last ends
    keys: Nodes  # (N,) of the nodes from 1 on, ascending: parent K + symbol
    occurrences: Numbers  # (N,) of the same
    suffix: NDArray[
        np.int32
    ]  # (M,) the context without its first symbol, of each node that may be a context

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
    windows = _Sorted(sequence, symbols, highest)
    counted = sequence[sequence != break_of(symbols)]
    starts = [0, 1, 1 + symbols]
    keys = [np.arange(symbols, dtype=np.int64)]
    occurrences = [np.bincount(counted, minlength=symbols).astype(np.uint32)]
    suffix = [np.zeros(1, np.int32), np.zeros(symbols, np.int32)]
    node = number = windows.first()  # at each window that of the order below
    before = 1  # and what to add
    for order in range(2, highest + 1):
        begins, last, count, number = windows.of_order(order)
        parent = node[begins].astype(np.int64) + before
        keys.append(parent * symbols + last)
        occurrences.append(count)
        if order < highest:
            shorter = suffix[-1][parent - starts[-2]].astype(np.int64)
            found = _found(keys[-2], shorter * symbols + last, starts[-2])
            suffix.append(found.astype(np.int32))
        node, before = number, starts[-1] - 1
        starts.append(starts[-1] + len(begins))
    del windows, node, number  # memory, before more is needed
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


class _Sorted:
    """All windows of a text, sorted, and the n-grams of one order after the other."""

    def __init__(self, sequence: Ids, symbols: int, highest: int) -> None:
        self.layout = layout = Layout(symbols, max(2, highest))
        text = np.concatenate([np.array([END], sequence.dtype), sequence, layout.around()])
        words = [np.empty(len(sequence) + 1, np.uint64) for _ in layout.sizes]
        self.count = 0
        for start in range(0, len(sequence) + 1, BLOCK):
            at = np.arange(start, min(start + BLOCK, len(sequence) + 1))
            found = layout.pack(text, at)
            is_pair = layout.are(found, 2)
            stop = self.count + int(np.count_nonzero(is_pair))
            for word, some in zip(words, found, strict=True):
                word[self.count : stop] = some[is_pair]
            self.count = stop
        self.windows = sorted_windows(layout, [word[: self.count] for word in words])

    def first(self) -> Numbers:
        """The first symbol of each window."""
        number, shift = self.layout.last(1)
        found = np.empty(self.count, np.uint32)
        for block in self.windows.blocks():
            found[block] = (self.windows.words[number][block] >> shift) - np.uint64(1)
        return found

    def of_order(self, order: int) -> tuple[NDArray[np.intp], Nodes, Numbers, Numbers]:
        """The n-grams of an order: the window at which each begins, its last symbol, how often it
        occurs; and at each window, how many have begun.
        """
        number, shift = self.layout.last(order)
        is_one, is_new = self.windows.grams(order)
        begins = np.flatnonzero(is_new)
        word = self.windows.words[number][begins]
        last = (word >> shift & self.layout.symbol).astype(np.int64) - 1
        count = np.zeros(0, np.uint32)
        if len(begins):
            count = np.add.reduceat(is_one, begins, dtype=np.uint32)
        return begins, last, count, np.cumsum(is_new, dtype=np.uint32)
