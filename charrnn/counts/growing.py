"""Counts that grow with what is read: a text has words of its own, and they come again.

What was learned stays as it is, discounts included; n-grams are added to it, and counted on. By the
rule of the counts, the longest n-gram that ends in a symbol has occurred once more; a shorter one
counts a symbol more before it, if the one that is longer by that symbol was new.

    P(w | h) = (c(hw) - D + freed(h) P(w | h')) / sum of c(h.)         D by c(hw): see markov
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.model import Counts, counts_of
from charrnn.counts.sequence import Ids
from charrnn.counts.smoothing import Floats, kneser_ney
from charrnn.vocabulary import END

ROOT = 0


class GrowingCounts:
    """Counts that read on and on, and keep what they read."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._symbols, self._highest = counts.symbols, counts.trie.highest
        trie, own = counts.trie, counts_of(counts.trie)
        self._lost = np.array([kneser_ney(c).lost for _, c in own])  # (orders, 4)
        times = np.concatenate([np.zeros(1), *(c for _, c in own)])
        kept = np.concatenate([np.zeros(1), *(c - self._lost_by(n, c) for n, c in own)])
        parents = trie.keys // trie.symbols
        size = trie.starts[-1]
        self._begun = (
            times,  # (N,) c of each n-gram
            kept,  # (N,) c - D
            np.bincount(parents, times[1:], size).astype(np.float64),  # of each context, its sum
            np.bincount(parents, (times - kept)[1:], size).astype(np.float64),  # what it frees
        )
        self.begin()

    def _lost_by(self, order: int, c: NDArray[np.uint32]) -> Floats:
        lost: Floats = self._lost[order - 1][np.minimum(c, 3)]
        return lost

    def begin(self) -> None:
        """Forget what was read: the next symbol is the first of a text."""
        self._times, self._kept, self._total, self._freed = (a.copy() for a in self._begun)
        self._size = len(self._times)  # nodes, those that were added included
        self._added: dict[tuple[int, int], int] = {}  # the child of a context by a symbol
        self._children: dict[int, tuple[list[int], list[int]]] = {}  # nodes and symbols added
        self._contexts = [ROOT, 1 + END]  # of each length from 0 on

    def read(self, ids: Ids) -> Floats:
        """P(. | all before) of each symbol, (S, K); from then on it is among what was read."""
        rows: Floats = np.empty((len(ids), self._symbols))
        for place, symbol in enumerate(ids.tolist()):
            self._say(rows[place])
            self._learn(symbol)
        return rows

    def _say(self, p: Floats) -> None:
        """What comes next, into p (K,)."""
        p[...] = 1 / self._symbols
        first, last = self._counts.first, self._counts.last
        for context in self._contexts:
            total = self._total[context]
            if total <= 0:
                continue
            p *= self._freed[context] / total
            if context < len(first) - 1:
                start, stop = first[context], first[context + 1]
                p[last[start - 1 : stop - 1]] += self._kept[start:stop] / total
            if context in self._children:
                nodes, symbols = self._children[context]
                p[symbols] += self._kept[nodes] / total

    def _learn(self, symbol: int) -> None:
        """Count the n-grams that end in this symbol."""
        grams = []
        were_new = []
        for order, context in enumerate(self._contexts, 1):
            gram = self._child(context, symbol)
            were_new.append(gram is None)
            grams.append(self._add(context, symbol) if gram is None else gram)
            if order == self._highest:
                break
        for place, gram in enumerate(grams):
            if place + 1 == len(grams) or were_new[place + 1]:
                self._count(self._contexts[place], gram, place)
        self._contexts = [ROOT, *grams[: self._highest - 1]]
        if symbol == END:
            self._contexts = [ROOT, 1 + END]

    def _child(self, context: int, symbol: int) -> int | None:
        """The n-gram of a context and a symbol more, if it was met."""
        first, last = self._counts.first, self._counts.last
        if context < len(first) - 1:
            start, stop = int(first[context]), int(first[context + 1])
            at = start + int(last[start - 1 : stop - 1].searchsorted(symbol))
            if at < stop and last[at - 1] == symbol:
                return at
        return self._added.get((context, symbol))

    def _add(self, context: int, symbol: int) -> int:
        """A new n-gram, not counted yet."""
        node = self._size
        self._size += 1
        if node == len(self._times):
            more = np.zeros(node // 2 + 16)
            self._times, self._kept, self._total, self._freed = (
                np.concatenate([array, more])
                for array in (self._times, self._kept, self._total, self._freed)
            )
        self._added[context, symbol] = node
        nodes, symbols = self._children.setdefault(context, ([], []))
        nodes.append(node)
        symbols.append(symbol)
        return node

    def _count(self, context: int, gram: int, place: int) -> None:
        """One more of an n-gram of order place + 1."""
        before, c = self._times[gram] - self._kept[gram], self._times[gram] + 1
        lost = self._lost[place, min(int(c), 3)]
        self._times[gram], self._kept[gram] = c, c - lost
        self._total[context] += 1
        self._freed[context] += lost - before
