"""What comes next by counting: interpolated modified Kneser-Ney, as a model that can be asked.

    P(w | h) = share(hw) + left(h) P(w | h')        h' is h without its first symbol

from the longest context that was met down to the unigrams, and below them 1 / K for every symbol.
The rows of short contexts, all K numbers, are made beforehand, as many as memory should hold; the
few n-grams of longer ones are added when they are asked for. Every number comes from the same
operations wherever it is asked: alone or among thousands, drawn or scored.

Counts that grow with what is read: a text has words of its own, and they come again.

What was learned stays as it is, discounts included; n-grams are added to it, and counted on. By the
rule of the counts, the longest n-gram that ends in a symbol has occurred once more; a shorter one
counts a symbol more before it, if the one that is longer by that symbol was new.

    P(w | h) = (c(hw) - D + freed(h) P(w | h')) / sum of c(h.)         D by c(hw): see markov"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import Ids, in_a_word
from charrnn.counts.smoothing import Floats, kneser_ney, level, varieties
from charrnn.counts.trie import NONE, Nodes, Trie, trie_of
from charrnn.vocabulary import END

HIGHEST: Final = 9  # order; counting alone does best with 7, and beside a network with more
LEAST: Final = 7  # where that takes more than one integer for a window
READY: Final = 1 << 22  # numbers in the rows that are made beforehand, at most


class Counts:
    """The n-grams of a text, smoothed."""

    def __init__(self, sequence: Ids, symbols: int, highest: int | None = None) -> None:
        highest = highest or max(LEAST, min(HIGHEST, in_a_word(symbols)))
        self.trie = trie = trie_of(sequence, symbols, highest)
        self.symbols = symbols
        self.contexts = highest - 1  # how many symbols the longest has
        levels = [level(trie, n, counts, kneser_ney(counts)) for n, counts in counts_of(trie)]
        self.share: Floats = np.concatenate([np.zeros(1), *(one.kept for one in levels)])
        self.left: Floats = np.concatenate([one.left for one in levels])
        # the children of context i are first[i] .. first[i + 1]
        of_each = np.bincount(trie.keys // symbols, minlength=len(self.left))
        self.first = np.ones(len(of_each) + 1, np.int32)
        self.first[1:] += np.cumsum(of_each, dtype=np.int32)
        self.last = np.empty(len(trie.keys), np.min_scalar_type(symbols))
        np.remainder(trie.keys, symbols, out=self.last, casting="unsafe")  # symbols, from node 1 on
        self.ready = self._length_ready()  # contexts of so many symbols have a row
        self.rows = self._rows()

    def _length_ready(self) -> int:
        """The longest contexts of which memory should hold all rows."""
        stops = self.trie.starts[1:-1]
        return max([0, *(n for n, stop in enumerate(stops) if stop * self.symbols <= READY)])

    def _rows(self) -> Floats:
        """P(. | h) of all contexts up to some length, by node."""
        trie = self.trie
        rows: Floats = np.empty((trie.starts[self.ready + 1], self.symbols))
        rows[0] = 1 / self.symbols
        for length in range(self.ready + 1):
            start, stop = trie.starts[length], trie.starts[length + 1]
            here = rows[start:stop]
            np.take(rows, trie.suffix[start:stop], 0, here, "clip")
            self._add(here, np.arange(start, stop), np.arange(stop - start))
        return rows

    def _add(self, rows: Floats, nodes: Nodes, lanes: NDArray[np.intp]) -> None:
        """From P(. | h') to P(. | h) in some of the rows, of which these are the contexts h."""
        scale = np.ones(len(rows))
        scale[lanes] = self.left[nodes]
        rows *= scale[:, None]
        first = self.first[nodes]
        sizes = self.first[nodes + 1] - first
        before = np.cumsum(sizes) - sizes
        children = np.repeat(first - before, sizes) + np.arange(int(sizes.sum()))
        place = np.repeat(lanes * self.symbols, sizes) + self.last[children - 1]
        rows.reshape(-1)[place] += self.share[children]

    def probabilities(self, contexts: Nodes) -> Floats:
        """P(. | h) for each row of contexts, (B, K)."""
        length = (contexts[:, : self.ready] != NONE).sum(1)  # known as far as the shorter ones are
        padded = np.concatenate([np.zeros((len(contexts), 1), np.int64), contexts], 1)
        rows: Floats = self.rows.take(padded[np.arange(len(contexts)), length], 0)
        for at in range(self.ready, self.contexts):
            nodes = contexts[:, at]
            lanes = np.flatnonzero(nodes != NONE)
            if not len(lanes):
                break
            self._add(rows, nodes[lanes], lanes)
        return rows

    def empty_contexts(self, lanes: int) -> Nodes:
        """The contexts of so many lanes that have read nothing, (B, contexts): NONE of each length
        from 1 on.
        """
        return np.full((lanes, self.contexts), NONE, np.int64)

    def read(self, x: NDArray[Any], contexts: Nodes) -> None:
        """Move the contexts (B, contexts) on by one symbol a lane, x (B,)."""
        contexts[:, 1:] = self.trie.children(contexts[:, :-1], x[:, None])
        contexts[:, 0] = x + 1

    def after_end(self) -> Nodes:
        """The contexts where a text begins, (1, contexts)."""
        contexts = self.empty_contexts(1)
        self.read(np.array([END]), contexts)
        return contexts

    def contexts_of(self, ids: Ids, before: Nodes) -> tuple[Nodes, Nodes]:
        """The contexts that each of these symbols comes after, (S, contexts), the first after those
        ``before``, (1, contexts); and those after the last.
        """
        size = len(ids)
        contexts = np.full((size + 1, self.contexts), NONE, np.int64)
        contexts[:1] = before
        symbols = ids.astype(np.int64)
        contexts[1:, 0] = symbols + 1
        for at in range(1, self.contexts):
            contexts[1:, at] = self.trie.children(contexts[:-1, at - 1], symbols, at + 1)
        return contexts[:-1], contexts[-1:]


def counts_of(trie: Trie) -> list[tuple[int, NDArray[np.uint32]]]:
    """The orders, and what each goes by: varieties, but in the highest occurrences."""
    highest = trie.highest
    lower = [(order, varieties(trie, order)) for order in range(1, highest)]
    return [*lower, (highest, trie.occurrences[trie.nodes_of(highest)])]


class CountsReader:
    """Counts that read on and on, and stay as they are."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.begin()

    def begin(self) -> None:
        """Forget what was read: the next symbol is the first of a text."""
        self._contexts = self._counts.after_end()

    def read(self, ids: Ids) -> Floats:
        """P(. | all before) of each symbol, (S, K)."""
        contexts, self._contexts = self._counts.contexts_of(ids, self._contexts)
        return self._counts.probabilities(contexts)


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
