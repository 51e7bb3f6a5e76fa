"""How counts become probabilities: what an n-gram keeps of its count, and what it frees.

P(w | h) = (kept(hw) + freed(h) P(w | h')) / (kept(h) + freed(h))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.tallies import NONE, Integers, Tally
from charrnn.counts.trie import Numbers, Trie

Floats = NDArray[np.float64]


class Rule(NamedTuple):
    """What n-grams counted 0, 1, 2, and 3 or more times lose, and what they free."""

    lost: Floats  # (4,)
    freed: Floats  # (4,)


WITTEN_BELL = Rule(lost=np.zeros(4), freed=np.array([0.0, 1.0, 1.0, 1.0]))
USUAL_DISCOUNTS = np.array([0.0, 0.5, 1.0, 1.5])  # in place of those that a small text cannot tell


def kneser_ney(counts: Numbers) -> Rule:
    """The three discounts of n-grams that are counted so often each."""
    return kneser_ney_by([int(np.count_nonzero(counts == j)) for j in range(5)])


def kneser_ney_by(n: Sequence[int]) -> Rule:
    """The three discounts where n[j] n-grams are counted j times, j up to 4: lost by the n-grams,
    and freed for the order below.
    """
    discounts = USUAL_DISCOUNTS.copy()
    for j in (1, 2, 3):
        if n[1] and n[2] and n[j] and n[j + 1]:
            own = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j]
            if own > 0:  # else a context could leave nothing for what it has never met
                discounts[j] = own
    return Rule(lost=discounts, freed=discounts)


def varieties(trie: Trie, order: int) -> Numbers:
    """How many different symbols came before each n-gram of an order, for the orders above to ask.

    What can have no symbol before it, for END is in front, has its occurrences instead.
    """
    own, longer = trie.nodes_of(order), trie.nodes_of(order + 1)
    parents, last = np.divmod(trie.keys[longer], trie.symbols)
    shorter = last + 1
    if order > 1:
        shorter = trie.children(trie.suffix[parents].astype(np.int64), last, order)
    found = np.bincount(shorter - trie.starts[order], minlength=own.stop - own.start)
    return np.where(found > 0, found, trie.occurrences[own]).astype(np.uint32)


class Level(NamedTuple):
    """One order made ready: what its n-grams keep, and what each context leaves for the order
    below, as shares of all that the context has.
    """

    kept: Floats  # (n,) of each n-gram of the order
    left: Floats  # (m,) of each context, the nodes of the order below; 1 where nothing followed


def level(trie: Trie, order: int, counts: Numbers, rule: Rule) -> Level:
    """That of an order, by its counts."""
    parents = trie.keys[trie.nodes_of(order)] // trie.symbols - trie.starts[order - 1]
    contexts = trie.starts[order] - trie.starts[order - 1]
    kind = np.minimum(counts, 3)
    kept: Floats = counts - rule.lost[kind]
    freed = np.bincount(parents, rule.freed[kind], contexts).astype(np.float64, copy=False)
    total: Floats = np.bincount(parents, kept, contexts) + freed
    known = total > 0
    left = np.divide(freed, total, out=np.ones(contexts), where=known)
    np.divide(kept, total[parents], out=kept, where=known[parents])
    return Level(kept, left)


def probability(one: Tally, rule: Rule, here: Integers, there: Integers, p: Floats) -> Floats:
    """P(w | h) from P(w | h'): ``here`` are the numbers of h, and ``there`` those of hw."""
    freed = one.kinds @ rule.freed[1:]
    total = one.total - one.kinds @ rule.lost[1:] + freed
    left = np.divide(freed, total, out=np.ones_like(freed), where=total > 0)
    mixed = p.copy()
    known = np.flatnonzero(here != NONE)
    mixed[known] *= left[here[known]]
    asked = np.flatnonzero(there != NONE)
    c = one.counts[there[asked]]
    asked, c = asked[c > 0], c[c > 0]
    mixed[asked] += (c - rule.lost[np.minimum(c, 3)]) / total[here[asked]]
    return mixed
