"""A trie of the n-grams of a text; a node's parent is the n-gram without its last symbol.

Node 0 is the empty context, 1 to K are all symbols, then come the pairs that occur, the triples ..
Within an order, nodes are sorted by ``key = parent K + symbol``, so the children of a node are
consecutive and one search finds a child. A context is the node that spells it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import BLOCK, Ids, Layout, break_of, sorted_windows
from charrnn.vocabulary import END

Numbers = NDArray[np.uint32]
Nodes = NDArray[np.int64]  # or NONE

NONE = -1


@dataclass(frozen=True, eq=False)
class Trie:
    """The n-grams of a text and their occurrences."""

    symbols: int
    starts: tuple[int, ...]  # [n] is the first node of order n; the last is the end
    keys: Nodes  # (N,) of the nodes from 1 on, ascending: parent K + symbol
    occurrences: Numbers  # (N,) of the same
    suffix: NDArray[np.int32]  # (M,) of each possible context, that without its first symbol

    @property
    def highest(self) -> int:
        return len(self.starts) - 2

    def nodes_of(self, order: int) -> slice:
        """Return the nodes of an order, as indices of keys and counts."""
        return slice(self.starts[order] - 1, self.starts[order + 1] - 1)

    def children(self, nodes: Nodes, ids: NDArray[Any], order: int | None = None) -> Nodes:
        """Return the children of these nodes by these symbols, or NONE; all may have one order."""
        own = slice(0, len(self.keys)) if order is None else self.nodes_of(order)
        children = _find(self.keys[own], nodes * self.symbols + ids, own.start + 1)
        children[nodes < 0] = NONE
        return children


def trie_of(sequence: Ids, symbols: int, highest: int) -> Trie:
    """Return the trie of the n-grams of up to ``highest`` symbols."""
    windows = _SortedText(sequence, symbols, highest)
    counted = sequence[sequence != break_of(symbols)]
    starts = [0, 1, 1 + symbols]
    keys = [np.arange(symbols, dtype=np.int64)]
    occurrences = [np.bincount(counted, minlength=symbols).astype(np.uint32)]
    suffix = [np.zeros(1, np.int32), np.zeros(symbols, np.int32)]
    node = number = windows.first()  # at each window, that of the order below
    before = 1  # added to it
    for order in range(2, highest + 1):
        begins, last, count, number = windows.of_order(order)
        parent = node[begins].astype(np.int64) + before
        keys.append(parent * symbols + last)
        occurrences.append(count)
        if order < highest:
            shorter = suffix[-1][parent - starts[-2]].astype(np.int64)
            nodes = _find(keys[-2], shorter * symbols + last, starts[-2])
            suffix.append(nodes.astype(np.int32))
        node, before = number, starts[-1] - 1
        starts.append(starts[-1] + len(begins))
    del windows, node, number  # frees memory before more is needed
    return Trie(
        symbols,
        tuple(starts),
        np.concatenate(keys),
        np.concatenate(occurrences),
        np.concatenate(suffix[:highest]),
    )


def _find(keys: Nodes, wanted: Nodes, first: int) -> Nodes:
    """Return the nodes with these keys, or NONE; ``first`` is the node of the first key."""
    if not len(keys):
        return np.full(wanted.shape, NONE, np.int64)
    at = keys.searchsorted(wanted)
    np.minimum(at, len(keys) - 1, out=at)
    return np.where(keys[at] == wanted, at + first, NONE)


class _SortedText:
    """The sorted windows of a text."""

    def __init__(self, sequence: Ids, symbols: int, highest: int) -> None:
        self.layout = layout = Layout(symbols, max(2, highest))
        text = np.concatenate([np.array([END], sequence.dtype), sequence, layout.around()])
        words = [np.empty(len(sequence) + 1, np.uint64) for _ in layout.sizes]
        self.count = 0
        for start in range(0, len(sequence) + 1, BLOCK):
            at = np.arange(start, min(start + BLOCK, len(sequence) + 1))
            packed = layout.pack(text, at)
            is_pair = layout.are(packed, 2)
            stop = self.count + int(np.count_nonzero(is_pair))
            for word, some in zip(words, packed, strict=True):
                word[self.count : stop] = some[is_pair]
            self.count = stop
        self.windows = sorted_windows(layout, [word[: self.count] for word in words])

    def first(self) -> Numbers:
        number, shift = self.layout.last(1)
        symbols = np.empty(self.count, np.uint32)
        for block in self.windows.blocks():
            symbols[block] = (self.windows.words[number][block] >> shift) - np.uint64(1)
        return symbols

    def of_order(self, order: int) -> tuple[NDArray[np.intp], Nodes, Numbers, Numbers]:
        """Return the first window, the last symbol and the occurrences of each n-gram of an order,
        and the number of n-grams that have begun at each window.
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
