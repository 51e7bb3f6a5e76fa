"""Smoothing: the part of its count that an n-gram keeps, and the part freed for the order below.

    P(w | h) = (kept(hw) + freed(h) P(w | h')) / (kept(h) + freed(h))

h' is the context h without its first symbol; below the unigrams lies 1 / K. An n-gram counted c
times keeps c and frees 1 by Witten-Bell. By modified Kneser-Ney it keeps c - D and frees D, with a
D for c = 1, 2 and more. There c counts occurrences in the highest order, varieties in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.trie import Numbers, Trie

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
