"""N-gram counts as a model: interpolated modified Kneser-Ney.

    P(w | h) = share(hw) + left(h) P(w | h')        h' is h without its first symbol

The rows P(. | h) of short contexts are made beforehand, within a limit of memory; the few n-grams
of longer contexts are added on demand. One row and thousands take the same operations.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import Ids, in_a_word
from charrnn.counts.smoothing import Floats, kneser_ney, level, varieties
from charrnn.counts.trie import NONE, Nodes, Trie, trie_of
from charrnn.vocabulary import END

HIGHEST: Final = 9  # order; counts alone do best with 7, beside a network with more
FEWEST: Final = 7  # the order if HIGHEST takes more than one integer for a window
READY: Final = 1 << 22  # numbers in the rows made beforehand, at most
ROOT: Final = 0


class Counts:
    """The smoothed n-grams of a text."""

    def __init__(self, sequence: Ids, symbols: int, highest: int | None = None) -> None:
        highest = highest or max(FEWEST, min(HIGHEST, in_a_word(symbols)))
        self.trie = trie = trie_of(sequence, symbols, highest)
        self.symbols = symbols
        self.contexts = highest - 1  # symbols of the longest
        levels = [level(trie, n, c, kneser_ney(c)) for n, c in enumerate(counts_of(trie), 1)]
        self.share: Floats = np.concatenate([np.zeros(1), *(kept for kept, _ in levels)])
        self.left: Floats = np.concatenate([left for _, left in levels])
        # the children of context i are first[i] .. first[i + 1]
        children = np.bincount(trie.keys // symbols, minlength=len(self.left))
        self.first = np.ones(len(children) + 1, np.int32)
        self.first[1:] += np.cumsum(children, dtype=np.int32)
        self.last = np.empty(len(trie.keys), np.min_scalar_type(symbols))
        np.remainder(trie.keys, symbols, out=self.last, casting="unsafe")  # symbols, from node 1 on
        # contexts of up to this many symbols have a row
        stops = trie.starts[1:-1]
        self.ready = max([0, *(n for n, stop in enumerate(stops) if stop * symbols <= READY)])
        self.rows = self._rows()

    def _rows(self) -> Floats:
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
        """Turn P(. | h') into P(. | h) in these lanes of the rows, with contexts h = nodes."""
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
        """Return P(. | h) for each row of contexts, (B, K)."""
        length = (contexts[:, : self.ready] != NONE).sum(1)  # a seen context has seen suffixes
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
        """Return contexts before anything is read, (B, contexts): NONE of each length from 1 on."""
        return np.full((lanes, self.contexts), NONE, np.int64)

    def read(self, x: NDArray[Any], contexts: Nodes) -> None:
        """Advance the contexts (B, contexts) by one symbol a lane, x (B,)."""
        contexts[:, 1:] = self.trie.children(contexts[:, :-1], x[:, None])
        contexts[:, 0] = x + 1

    def after_end(self) -> Nodes:
        """Return the contexts at the start of a text, (1, contexts)."""
        contexts = self.empty_contexts(1)
        self.read(np.array([END]), contexts)
        return contexts

    def contexts_of(self, ids: Ids, before: Nodes) -> tuple[Nodes, Nodes]:
        """Return the contexts before each symbol, (S, contexts), and those after the last."""
        contexts = np.full((len(ids) + 1, self.contexts), NONE, np.int64)
        contexts[:1] = before
        symbols = ids.astype(np.int64)
        contexts[1:, 0] = symbols + 1
        for at in range(1, self.contexts):
            contexts[1:, at] = self.trie.children(contexts[:-1, at - 1], symbols, at + 1)
        return contexts[:-1], contexts[-1:]


def counts_of(trie: Trie) -> list[NDArray[np.uint32]]:
    """Return the counts that each order uses: varieties, but occurrences in the highest."""
    lower = [varieties(trie, order) for order in range(1, trie.highest)]
    return [*lower, trie.occurrences[trie.nodes_of(trie.highest)]]


class CountsReader:
    """Counts that read consecutive blocks and do not change."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self.begin()

    def begin(self) -> None:
        self._contexts = self._counts.after_end()

    def read(self, ids: Ids) -> Floats:
        contexts, self._contexts = self._counts.contexts_of(ids, self._contexts)
        return self._counts.probabilities(contexts)


class GrowingCounts:
    """Counts that read consecutive blocks and count them too, since the words of a text come again.

    The discounts stay those of the training text. The longest n-gram that ends in a symbol is
    counted once more; a shorter one only if the n-gram longer by one symbol is new.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._symbols, self._highest = counts.symbols, counts.trie.highest
        trie, by_order = counts.trie, counts_of(counts.trie)
        self._lost = np.array([kneser_ney(c).lost for c in by_order])  # (orders, 4)
        kept_by_order = [
            c - lost[np.minimum(c, 3)] for c, lost in zip(by_order, self._lost, strict=True)
        ]
        times = np.concatenate([np.zeros(1), *by_order])
        kept = np.concatenate([np.zeros(1), *kept_by_order])
        parents = trie.keys // trie.symbols
        size = trie.starts[-1]
        self._initial = (
            times,  # (N,) c of each n-gram
            kept,  # (N,) c - D
            np.bincount(parents, times[1:], size).astype(np.float64),  # sum of c of each context
            np.bincount(parents, (times - kept)[1:], size).astype(np.float64),  # what it frees
        )
        self.begin()

    def begin(self) -> None:
        self._times, self._kept, self._total, self._freed = (a.copy() for a in self._initial)
        self._size = len(self._times)  # nodes, with those that were added
        self._added: dict[tuple[int, int], int] = {}  # the child of a context by a symbol
        self._children: dict[int, tuple[list[int], list[int]]] = {}  # nodes and symbols added
        self._contexts = [ROOT, 1 + END]  # of each length from 0 on

    def read(self, ids: Ids) -> Floats:
        """Return P(. | all before) of each symbol, (S, K), and count the symbols one by one."""
        rows: Floats = np.empty((len(ids), self._symbols))
        for place, symbol in enumerate(ids.tolist()):
            self._predict(rows[place])
            self._learn(symbol)
        return rows

    def _predict(self, p: Floats) -> None:
        """Write P of the next symbol into p (K,)."""
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
        grams, were_new = [], []
        for context in self._contexts[: self._highest]:
            gram = self._child(context, symbol)
            were_new.append(gram is None)
            grams.append(self._add(context, symbol) if gram is None else gram)
        for place, gram in enumerate(grams):
            if place + 1 == len(grams) or were_new[place + 1]:
                self._count(self._contexts[place], gram, place)
        self._contexts = [ROOT, *grams[: self._highest - 1]]
        if symbol == END:
            self._contexts = [ROOT, 1 + END]

    def _child(self, context: int, symbol: int) -> int | None:
        """Return the n-gram of a context and one more symbol, if it was seen."""
        first, last = self._counts.first, self._counts.last
        if context < len(first) - 1:
            start, stop = int(first[context]), int(first[context + 1])
            at = start + int(last[start - 1 : stop - 1].searchsorted(symbol))
            if at < stop and last[at - 1] == symbol:
                return at
        return self._added.get((context, symbol))

    def _add(self, context: int, symbol: int) -> int:
        """Add an n-gram that is not counted yet, and return its node."""
        node = self._size
        self._size += 1
        if node == len(self._times):
            more = np.zeros(node // 2 + 16)
            arrays = self._times, self._kept, self._total, self._freed
            self._times, self._kept, self._total, self._freed = (
                np.concatenate([array, more]) for array in arrays
            )
        self._added[context, symbol] = node
        nodes, symbols = self._children.setdefault(context, ([], []))
        nodes.append(node)
        symbols.append(symbol)
        return node

    def _count(self, context: int, gram: int, place: int) -> None:
        """Count an n-gram of order place + 1 once more."""
        before, c = self._times[gram] - self._kept[gram], self._times[gram] + 1
        lost = self._lost[place, min(int(c), 3)]
        self._times[gram], self._kept[gram] = c, c - lost
        self._total[context] += 1
        self._freed[context] += lost - before
