"""What counting alone can do: uniform, unigram and n-gram models, the lines a network should beat.

An n-gram is n symbols in a row; a model of order n predicts the last of them, w, from the n - 1
before it, the context h. Near the start of an example h is shorter: it goes back to the END before
the example and no further. Let h' be h without its first symbol. Every n-gram seen keeps a part of
its count and frees a part, for the order below to share out; below the unigrams lies 1 / K:

    P(w | h) = (kept(hw) + freed(h) P(w | h')) / (kept(h) + freed(h))

where kept(h) and freed(h) are sums of kept(hw) and freed(hw) over w, and an n-gram counted c times

    keeps c, frees 1         by Witten-Bell
    keeps c - D, frees D     by modified Kneser-Ney: D is D1, D2 or D3 as c is 1, 2 or more, and
                             Dj = j - (j + 1) Y n[j+1] / n[j]   with   Y = n[1] / (n[1] + 2 n[2])
                             if n[j] n-grams are counted j times

For Witten-Bell c is how often the n-gram occurs. So it is for Kneser-Ney in the highest order; the
orders below are asked when a context is new, so there c is how many different symbols were seen
before the n-gram. Nothing can stand before the END that starts an example: an n-gram with that END
in front keeps its occurrences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.unsignedinteger[Any]]
Numbers = NDArray[np.uint32]
Floats = NDArray[np.float64]
Smoothing = Literal["none", "kneser-ney", "witten-bell"]

END = 0
BITS = 21  # of a position, a symbol, the number of an n-gram: three of them fit into one integer
HIGHEST = 7  # order
BLOCK = 1 << 16  # n-grams summed up at a time


@dataclass(frozen=True)
class Budget:
    """How many symbols of a long text are looked at, so that time and memory have a bound."""

    train: int = 1 << 20
    held_out: int = 1 << 17
    pieces: int = 64  # evenly spaced, for a corpus may be sorted


BUDGET = Budget()


@dataclass(frozen=True)
class Baseline:
    """How well one model does on the held-out text, END counted."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": so many characters of context
    nats_per_character: float
    smoothing: Smoothing
    train_symbols: int  # that were counted: all, or those of evenly spaced pieces
    held_out_symbols: int  # that were scored, likewise


class Surprisals(NamedTuple):
    """What each symbol of a text costs under the models of one order."""

    order: int
    kneser_ney: Floats  # (S,) nats
    witten_bell: Floats  # (S,) nats


class _Text(NamedTuple):
    """The training text, then the text to score, each piece after an END that only says: start."""

    ids: Numbers  # (S,)
    depth: NDArray[np.uint8]  # (S,) how many symbols a prediction looks back upon; 0: none is made
    split: int  # ids[:split] is the training text


class _Grams(NamedTuple):
    """The n-grams of one order in both texts, numbered so that one context has a run of numbers."""

    number: Numbers  # (S,) of the n-gram that ends here; means nothing where depth < n - 1
    context: Numbers  # (R,) the n-gram without its last symbol, as numbered in the order below
    occurrences: Numbers  # (R,) in the training text


class _Rule(NamedTuple):
    """What n-grams counted 0, 1, 2, and 3 or more times lose, and what they free."""

    lost: Floats  # (4,)
    freed: Floats  # (4,)


WITTEN_BELL = _Rule(lost=np.zeros(4), freed=np.array([0.0, 1.0, 1.0, 1.0]))
USUAL_DISCOUNTS = np.array([0.0, 0.5, 1.0, 1.5])  # in place of those that a small text cannot tell


def baselines(
    train: Ids, held_out: Ids, symbols: int, budget: Budget = BUDGET
) -> Iterator[Baseline]:
    """Uniform, unigram and each order in turn, smoothed the way that does better on this text."""
    text = _join(train, held_out, budget)
    learned, scored = (int(np.count_nonzero(d)) for d in np.split(text.depth, [text.split]))
    if not scored:
        return
    yield Baseline("uniform", log(symbols), "none", learned, scored)
    for order, kneser_ney, witten_bell in _climb(text, symbols, HIGHEST):
        name = "unigram" if order == 1 else f"markov-{order - 1}"  # by its context
        choices: list[tuple[float, Smoothing]] = [
            (float(kneser_ney.mean()), "kneser-ney"),
            (float(witten_bell.mean()), "witten-bell"),
        ]
        yield Baseline(name, *min(choices), learned, scored)


def surprisals(
    train: Ids, text: Ids, symbols: int, highest: int = HIGHEST, budget: Budget = BUDGET
) -> Iterator[Surprisals]:
    """What the symbols of a text (or of its pieces) cost under order 1, 2 .. highest."""
    return _climb(_join(train, text, budget), symbols, highest)


def _climb(text: _Text, symbols: int, highest: int) -> Iterator[Surprisals]:
    """From the unigrams upwards, with no more than two orders in memory."""
    grams = _unigrams(text, symbols)
    scored = np.count_nonzero(text.depth[text.split :])
    varied = plain = np.full(scored, 1 / symbols)  # P(w | h'), smoothed one way and the other
    for order in range(1, highest + 1):
        if order > 1:
            longer, varieties = _one_longer(text, grams, order)
            varied = _mix(text, order - 1, grams, varieties, _kneser_ney(varieties), varied)
            grams = longer
        counts = grams.occurrences
        top = _mix(text, order, grams, counts, _kneser_ney(counts), varied)
        plain = _mix(text, order, grams, counts, WITTEN_BELL, plain)
        yield Surprisals(order, -np.log(top), -np.log(plain))


def _mix(
    text: _Text, order: int, grams: _Grams, counts: Numbers, rule: _Rule, below: Floats
) -> Floats:
    """P(w | h) of each scored symbol, from the counts of an order and P(w | h'), from below."""
    kept, freed = _sum_up(grams.context, counts, rule)
    depth = text.depth[text.split :]
    number = grams.number[text.split :][depth > 0]
    known = np.flatnonzero(depth[depth > 0] >= order - 1)  # this order has a say only there, and
    known = known[freed[grams.context[number[known]]] > 0]  # only if it has met the context
    hw, h = number[known], grams.context[number[known]]
    kept_of_hw = counts[hw] - rule.lost[np.minimum(counts[hw], 3)]
    mixed = below.copy()
    mixed[known] = (kept_of_hw + freed[h] * below[known]) / (kept[h] + freed[h])
    return mixed


def _sum_up(context: Numbers, counts: Numbers, rule: _Rule) -> tuple[Floats, Floats]:
    """What the n-grams of each context keep, and what they free, summed a block at a time."""
    kept, freed = np.zeros((2, int(context[-1]) + 1 if context.size else 0))
    for start in range(0, context.size, BLOCK):
        c = counts[start : start + BLOCK]
        kind = np.minimum(c, 3)
        first = context[start]
        nth = context[start : start + BLOCK] - first
        for sums, parts in (kept, c - rule.lost[kind]), (freed, rule.freed[kind]):
            sums[first : first + nth[-1] + 1] += np.bincount(nth, parts)
    return kept, freed


def _kneser_ney(counts: Numbers) -> _Rule:
    """The three discounts: lost by the n-grams and freed for the order below."""
    n = [int(np.count_nonzero(counts == j)) for j in range(5)]
    discounts = USUAL_DISCOUNTS.copy()
    for j in (1, 2, 3):
        if n[1] and n[2] and n[j] and n[j + 1]:
            own = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j]
            if own > 0:  # else a context could leave nothing for what it has never met
                discounts[j] = own
    return _Rule(lost=discounts, freed=discounts)


def _unigrams(text: _Text, symbols: int) -> _Grams:
    """The symbols themselves, which all share the one empty context."""
    empty = np.zeros(symbols, np.uint32)
    counted = text.ids[: text.split][text.depth[: text.split] > 0]
    return _Grams(text.ids, empty, _tally(counted, symbols))


def _one_longer(text: _Text, grams: _Grams, order: int) -> tuple[_Grams, Numbers]:
    """The n-grams of the next order, and how many different symbols came before those of this one.

    What can have no symbol before it, for END is in front, has its occurrences instead.
    """
    here, new, context = _sort(text, grams, order)
    number = np.zeros(text.ids.size, np.uint32)
    number[here] = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
    occurrences = np.zeros(context.size, np.uint32)
    if here.size:
        learned = here < text.split
        np.add.reduceat(learned, np.flatnonzero(new), dtype=np.uint32, out=occurrences)
    new[new] = occurrences > 0  # now one place for each n-gram that the training text has
    varieties = _tally(grams.number[here[new]], grams.occurrences.size)
    varieties = np.where(varieties > 0, varieties, grams.occurrences)
    return _Grams(number, context, occurrences), varieties


def _sort(text: _Text, grams: _Grams, order: int) -> tuple[Numbers, NDArray[np.bool_], Numbers]:
    """Where the n-grams end, like ones together; where the next kind starts; each kind's context.

    Context, symbol and position go into one integer: sorting indices would take four times as long.
    """
    deep = text.depth >= order - 1
    keys = grams.number[:-1][deep[1:]].astype(np.uint64)  # the context
    keys <<= np.uint64(BITS)
    keys |= text.ids[deep]
    keys <<= np.uint64(BITS)
    keys |= np.flatnonzero(deep).view(np.uint64)
    keys.sort()
    here = keys.astype(np.uint32)  # its lower half
    here &= np.uint32((1 << BITS) - 1)
    keys >>= np.uint64(BITS)
    new = np.ones(keys.size, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    keys >>= np.uint64(BITS)
    return here, new, keys.astype(np.uint32)[new]


def _tally(numbers: Numbers, size: int) -> Numbers:
    """How often each number below size occurs."""
    return np.bincount(numbers, minlength=size).astype(np.uint32)


def _join(train: Ids, scored: Ids, budget: Budget) -> _Text:
    """Both texts in one, so that equal n-grams get equal numbers and a search is never needed."""
    learned = _pieces(train, budget.train, budget.pieces)
    pieces = [*learned, *_pieces(scored, budget.held_out, budget.pieces)]
    starts = np.cumsum([0, *(piece.size + 1 for piece in pieces)])
    split, size = int(starts[len(learned)]), int(starts[-1])
    if size >> BITS:
        raise ValueError(f"a budget of {size:,} symbols; {1 << BITS:,} is the most")

    ids = np.full(size, END, np.uint32)
    for start, piece in zip(starts, pieces, strict=False):
        ids[start + 1 : start + 1 + piece.size] = piece
    place = np.arange(size, dtype=np.uint32)
    last_end = np.maximum.accumulate(np.where(ids == END, place, np.uint32(0)))
    depth = np.zeros(size, np.uint8)
    depth[1:] = np.minimum(place[1:] - last_end[:-1], 255)
    depth[starts[:-1]] = 0
    return _Text(ids, depth, split)


def _pieces(ids: Ids, limit: int, pieces: int) -> list[Ids]:
    """The text itself, or evenly spaced pieces of it, cut to whole examples where they hold any."""
    if ids.size <= limit:
        return [ids]
    cuts = []
    for i in range(pieces):
        start = i * ids.size // pieces
        cut = ids[start : start + limit // pieces]
        ends = np.flatnonzero(cut == END)
        cuts.append(cut[ends[0] + 1 : ends[-1] + 1] if ends.size > 1 else cut)
    return cuts
