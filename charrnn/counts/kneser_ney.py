"""N-gram counts as a model: a trie with interpolated modified Kneser-Ney smoothing.

    P(w | h) = (kept(hw) + freed(h) P(w | h')) / (kept(h) + freed(h))

h' is the context h without its first symbol; below the unigrams lies 1 / K. An n-gram counted c
times keeps c and frees 1 by Witten-Bell. By Kneser-Ney it keeps c - D and frees D, with a D for
c = 1, 2 and more. There c counts occurrences in the highest order, varieties in the others.

In the trie, node 0 is the empty context, 1 to K are all symbols, then come the pairs that occur,
the triples and so on. Within an order, nodes are sorted by ``key = parent K + symbol``, so the
children of a node are consecutive and one search finds a child. The path to a node is its context.

Rows P(. | h) of short contexts are made beforehand, within a limit of memory; longer contexts are
added on demand. One row and thousands take the same operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import BLOCK, Ids, Layout, break_of, in_a_word, sorted_windows
from charrnn.vocabulary import END

Numbers = NDArray[np.uint32]
Nodes = NDArray[np.int64]  # or NONE
Integers = NDArray[np.signedinteger[Any]]

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


Floats = NDArray[np.float64]


class Rule(NamedTuple):
    """The counts that n-grams counted 0, 1, 2, and 3 or more times lose and free."""

    lost: Floats  # (4,)
    freed: Floats  # (4,)


WITTEN_BELL = Rule(lost=np.zeros(4), freed=np.array([0.0, 1.0, 1.0, 1.0]))
USUAL_DISCOUNTS = np.array([0.0, 0.5, 1.0, 1.5])  # if a small text does not determine them


def kneser_ney(counts: Numbers) -> Rule:
    """Return the three discounts for n-grams with these counts."""
    return kneser_ney_by([int(np.count_nonzero(counts == j)) for j in range(5)])


def kneser_ney_by(n: Sequence[int]) -> Rule:
    """Return the three discounts if n[j] n-grams are counted j times, j up to 4."""
    discounts = USUAL_DISCOUNTS.copy()
    for j in (1, 2, 3):
        if n[1] and n[2] and n[j] and n[j + 1]:
            own = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j]
            if own > 0:  # else a context could leave nothing for symbols that it has never met
                discounts[j] = own
    return Rule(lost=discounts, freed=discounts)


def varieties(trie: Trie, order: int) -> Numbers:
    """Return how many symbols came before each n-gram; occurrences if it begins with END."""
    own, longer = trie.nodes_of(order), trie.nodes_of(order + 1)
    parents, last = np.divmod(trie.keys[longer], trie.symbols)
    shorter = last + 1
    if order > 1:
        shorter = trie.children(trie.suffix[parents].astype(np.int64), last, order)
    counts = np.bincount(shorter - trie.starts[order], minlength=own.stop - own.start)
    return np.where(counts > 0, counts, trie.occurrences[own]).astype(np.uint32)


def level(trie: Trie, order: int, counts: Numbers, rule: Rule) -> tuple[Floats, Floats]:
    """Return the share of its context's total that each n-gram keeps, (n,), and the share that each
    context leaves, (m,): 1 if nothing followed it.
    """
    parents = trie.keys[trie.nodes_of(order)] // trie.symbols - trie.starts[order - 1]
    contexts = trie.starts[order] - trie.starts[order - 1]
    kind = np.minimum(counts, 3)
    kept: Floats = counts - rule.lost[kind]
    freed = np.bincount(parents, rule.freed[kind], contexts).astype(np.float64, copy=False)
    total: Floats = np.bincount(parents, kept, contexts) + freed
    known = total > 0
    left = np.divide(freed, total, out=np.ones(contexts), where=known)
    np.divide(kept, total[parents], out=kept, where=known[parents])
    return kept, left


HIGHEST: Final = 9  # order; counts alone do best with 7, beside a network with more
FEWEST: Final = 7  # the order if HIGHEST takes more than one integer for a window
READY: Final = 1 << 22  # numbers in the rows made beforehand, at most
ROOT: Final = 0
EACH: Final = 2  # times that a symbol is counted as it is read: the text goes on like itself
TOGETHER: Final = 1 << 16  # numbers in the rows that are counted together


class Counts:
    """The smoothed n-grams of a text."""

    def __init__(self, sequence: Ids, symbols: int, highest: int | None = None) -> None:
        highest = highest or max(FEWEST, min(HIGHEST, in_a_word(symbols)))
        self.trie = trie = trie_of(sequence, symbols, highest)
        self.symbols = symbols
        self.size = int(trie.occurrences[:symbols].sum())  # symbols of the text
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
        children = _ranges(first, sizes)
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


def _ranges(first: Integers, sizes: Integers) -> Integers:
    """Return first[i] to first[i] + sizes[i] - 1 for each i, one after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(first - before, sizes) + np.arange(int(sizes.sum()))
