"""Baselines by counting: uniform, unigram and n-gram models, which a network should beat.

A model of order n predicts a symbol from the n - 1 before it, or from those since the last END.
A trie of a long text would take 2.5 times the memory, without a bound. So the windows of the text
are sorted in shares, each with the windows that end in some pairs of symbols. They are read
backwards, so windows that end alike are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.counts import ngrams
from charrnn.counts.kneser_ney import NONE, WITTEN_BELL, Floats, Numbers, Rule, kneser_ney_by
from charrnn.counts.ngrams import Ids, Layout, Windows, Words, is_counted, sorted_windows
from charrnn.vocabulary import END

Word = NDArray[np.uint64]
Integers = NDArray[np.signedinteger[Any]]
Places = NDArray[np.intp]

SHARE = 1 << 18  # words of the windows in a share, about
MOST = 1 << 19  # words of windows that are kept before repeated ones are merged
MIXER = np.uint32(0x9E3779B1)  # scatters the pairs of symbols over the shares


class Tally:
    """The counts of an order's n-grams, counted in one way."""

    def __init__(self, contexts: int, grams: int, symbols: int) -> None:
        # of each context, the sum of c over its n-grams, and the number counted 1, 2, and more
        self.total = np.zeros(contexts, np.uint32)
        self.kinds = np.zeros((contexts, 3), np.min_scalar_type(symbols))
        self.counts = np.zeros(grams, np.uint32)  # c of each n-gram of the scored text
        self.of_counts = np.zeros(5, np.int64)  # n[j]

    def add(self, counts: Numbers, contexts: Integers, grams: Integers) -> None:
        """Add distinct n-grams: c, and the numbers of context and n-gram in the text, or NONE."""
        self.of_counts += np.bincount(np.minimum(counts, 5), minlength=6)[:5]
        needed = np.flatnonzero(contexts != NONE)
        here, c = contexts[needed], counts[needed]
        kind = np.minimum(c, 3).astype(np.int64)
        self.total += np.bincount(here, c, len(self.total)).astype(np.uint32)
        kinds = np.bincount(3 * here + kind - 1, minlength=self.kinds.size)
        self.kinds += kinds.reshape(-1, 3).astype(self.kinds.dtype)
        needed = np.flatnonzero(grams != NONE)
        self.counts[grams[needed]] = counts[needed]


class OrderTallies:
    """The n-grams of an order in the scored text, and their counts in the training text."""

    def __init__(
        self, contexts: Integers, grams: Integers, symbols: int, sizes: Sequence[int] = ()
    ) -> None:
        self.contexts = contexts  # (S,) the number of the context before each symbol, or NONE
        self.grams = grams  # (S,) the number of the n-gram that it ends, or NONE
        every, each = sizes or [int(of.max(initial=NONE)) + 1 for of in (contexts, grams)]
        self.occurrences = Tally(every, each, symbols)
        self.varieties = Tally(every, each, symbols)  # symbols before each; not of the highest


def tallies(learned: Sequence[Ids], text: Ids, symbols: int, orders: int) -> Iterator[OrderTallies]:
    """Yield the tallies of the unigrams, the pairs and so on, learned from the training text."""
    layout = Layout(symbols, max(2, orders))
    words = _all_windows(text, layout)
    grams = _TextWindows(layout, words)
    contexts = _TextWindows(layout, layout.without_first(words))
    tallied = [
        OrderTallies(contexts.numbers(n)[contexts.place], grams.numbers(n)[grams.place], symbols)
        for n in range(2, layout.highest + 1)
    ]
    before = np.zeros(symbols, np.uint32)  # different symbols seen before each symbol
    for windows, times in _shares(learned, layout):
        for order, begins, occurrences, varieties in _counts(windows, times):
            words = [word[begins] for word in windows.words]
            if order == 2:
                number, shift = layout.last(1)
                last = (words[number] >> shift).astype(np.int64) - 1
                before += np.bincount(last, minlength=symbols).astype(np.uint32)
            words = layout.cut(words, order)
            found = contexts.find(layout.without_first(words), order), grams.find(words, order)
            tallied[order - 2].occurrences.add(occurrences, *found)
            tallied[order - 2].varieties.add(varieties, *found)
    yield _unigrams(learned, text, symbols, before)
    yield from tallied[: orders - 1]


def _all_windows(text: Ids, layout: Layout) -> Words:
    """Return the windows that go backwards from each symbol of a text."""
    parts = [[np.zeros(0, np.uint64)] for _ in layout.sizes]
    for size, block in _backwards([text], layout):
        words = layout.pack(block, np.arange(size)[::-1])
        is_one = layout.are(words, 1)
        for part, word in zip(parts, words, strict=True):
            part.append(word[is_one])
    return [np.concatenate(part) for part in parts]


def _backwards(parts: Iterable[Ids], layout: Layout) -> Iterator[tuple[int, Ids]]:
    """Yield a text after an END in reversed blocks: their length, and each after its window."""
    before = np.append(layout.around()[1:], layout.around().dtype.type(END))
    for part in parts:
        for at in range(0, len(part), ngrams.BLOCK):
            block = part[at : at + ngrams.BLOCK]
            text = np.concatenate([before, block])
            before = text[-layout.highest :]
            yield len(block), text[::-1]


def _unigrams(learned: Sequence[Ids], text: Ids, symbols: int, before: Numbers) -> OrderTallies:
    """Return the tallies of single symbols, which have the empty context."""
    occurrences = np.zeros(symbols + 1, np.uint32)
    for part in learned:
        for at in range(0, len(part), ngrams.BLOCK):
            some = np.bincount(part[at : at + ngrams.BLOCK], minlength=symbols + 1)
            occurrences += some.astype(np.uint32)
    scored = text[is_counted(text, symbols)].astype(np.int64)
    unigrams = OrderTallies(np.zeros_like(scored), scored, symbols, (1, symbols))
    there = np.flatnonzero(occurrences[:symbols])
    nothing = np.zeros(len(there), np.int64)
    occurrences, before = occurrences[there], before[there]
    unigrams.occurrences.add(occurrences, nothing, there)
    unigrams.varieties.add(np.where(before > 0, before, occurrences), nothing, there)
    return unigrams


class _TextWindows:
    """The sorted windows of the scored text, to be found by the n-gram that they begin with."""

    def __init__(self, layout: Layout, words: Words) -> None:
        order = np.lexsort(words[::-1])
        self.layout = layout
        self.windows = Windows(layout, [word[order] for word in words])
        self.place = np.empty(len(order), np.int32)  # of each window among the sorted
        self.place[order] = np.arange(len(order), dtype=np.int32)
        self._words_there: list[tuple[Word, Word]] = []
        self._keys = self.windows.words[0]
        for word in self.windows.words[1:]:
            there = np.unique(self._keys), np.unique(word)
            self._words_there.append(there)
            self._keys = self._join(self._keys, word, *there)

    @staticmethod
    def _join(key: Word, word: Word, keys: Word, words: Word) -> Word:
        """Return one key for a key and a word that sorts like the pair among the existing ones."""
        joined = keys.searchsorted(key).astype(np.uint64) * np.uint64(len(words) + 1)
        joined += words.searchsorted(word).astype(np.uint64)
        return joined

    def find(self, words: Words, order: int) -> Integers:
        """Return the numbers of these n-grams in the text, or NONE."""
        if not len(self._keys):
            return np.full(len(words[0]), NONE)
        key = words[0]
        for word, there in zip(words[1:], self._words_there, strict=True):
            key = self._join(key, word, *there)
        at = np.minimum(self._keys.searchsorted(key), len(self._keys) - 1)
        nearest = self.layout.cut([word[at] for word in self.windows.words], order)
        for own, wanted in zip(nearest, words, strict=True):
            at[own != wanted] = NONE
        return self.numbers(order)[at]

    def numbers(self, order: int) -> NDArray[np.int32]:
        is_one, is_new = self.windows.grams(order)
        number = np.full(len(is_one) + 1, NONE, np.int32)
        np.cumsum(is_new, out=number[:-1])
        number[:-1] -= 1
        number[:-1][~is_one] = NONE
        return number


def _counts(windows: Windows, times: Numbers) -> Iterator[tuple[int, Places, Numbers, Numbers]]:
    """Yield each order, the first window, the occurrences and the varieties of each n-gram."""
    is_one, is_new = windows.grams(2)
    for order in range(2, windows.layout.highest + 1):
        begins = np.flatnonzero(is_new)
        if not len(begins):
            return
        occurrences = varieties = np.add.reduceat(times * is_one, begins, dtype=np.uint32)
        if order < windows.layout.highest:
            is_one, is_new = windows.grams(order + 1)
            longer = np.add.reduceat(is_new, begins, dtype=np.uint32)
            varieties = np.where(longer > 0, longer, occurrences)
        yield order, begins, occurrences, varieties


def _shares(learned: Sequence[Ids], layout: Layout) -> Iterator[tuple[Windows, Numbers]]:
    """Yield the distinct reversed windows and their counts, those of some pairs at a time."""
    count = -(-sum(len(part) for part in learned) * len(layout.sizes) // SHARE)
    for number in range(count):
        shares: list[tuple[Windows, Numbers]] = []
        waiting: list[Words] = []
        for size, text in _backwards(learned, layout):
            at = np.flatnonzero(_share_of(text[: size + 1], layout.symbols, count) == number)
            words = layout.pack(text, at)
            is_pair = layout.are(words, 2)
            waiting.append([word[is_pair] for word in words])
            if sum(len(words[0]) for words in waiting) * len(layout.sizes) > MOST:
                shares.append(_distinct(sorted_windows(layout, _joined(waiting))))
                waiting = []
        if waiting:
            shares.append(_distinct(sorted_windows(layout, _joined(waiting))))
        if len(shares) > 1:
            words = _joined([windows.words for windows, _ in shares])
            order = np.lexsort(words[::-1])
            times = np.concatenate([times for _, times in shares])[order]
            shares = [_distinct(Windows(layout, [word[order] for word in words]), times)]
        yield shares[0]


def _joined(parts: list[Words]) -> Words:
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _distinct(windows: Windows, times: Numbers | None = None) -> tuple[Windows, Numbers]:
    """Merge equal neighbours, each of which occurs so many times, or once."""
    begins = np.flatnonzero(windows.are_new(windows.layout.highest))
    times = np.ones(len(windows), np.uint32) if times is None else times
    if len(begins):
        times = np.add.reduceat(times, begins, dtype=np.uint32)
    return Windows(windows.layout, [word[begins] for word in windows.words]), times


def _share_of(text: Ids, symbols: int, count: int) -> NDArray[np.uint32]:
    """Return the share of each symbol, which depends on the symbol and the next one."""
    pair = text[:-1].astype(np.uint32)
    pair *= np.uint32(symbols + 1)
    pair += text[1:]
    pair *= MIXER
    pair >>= np.uint32(16)
    pair *= np.uint32(count)
    pair >>= np.uint32(16)
    return pair


def probability(tally: Tally, rule: Rule, contexts: Integers, grams: Integers, p: Floats) -> Floats:
    """Return P(w | h) from p = P(w | h'), for the numbers of h and of hw in the tally."""
    freed = tally.kinds @ rule.freed[1:]
    total = tally.total - tally.kinds @ rule.lost[1:] + freed
    left = np.divide(freed, total, out=np.ones_like(freed), where=total > 0)
    mixed = p.copy()
    known = np.flatnonzero(contexts != NONE)
    mixed[known] *= left[contexts[known]]
    seen = np.flatnonzero(grams != NONE)
    c = tally.counts[grams[seen]]
    seen, c = seen[c > 0], c[c > 0]
    mixed[seen] += (c - rule.lost[np.minimum(c, 3)]) / total[contexts[seen]]
    return mixed


HIGHEST = 7  # order


@dataclass(frozen=True)
class Budget:
    """Bounds on the symbols of a long text that are read, and so on time and memory."""

    train: int = 10_000_000  # if a window is one word; sorting takes longer if it is more
    held_out: int = 1 << 17
    pieces: int = ngrams.PIECES

    def to_count(self, symbols: int) -> int:
        return self.train // len(Layout(symbols, HIGHEST).sizes) ** 2


BUDGET = Budget()


@dataclass(frozen=True)
class Baseline:
    """The loss of one model on the held-out text, END included."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": characters of context
    nats_per_character: float
    train_symbols: int  # counted: all, or those of evenly spaced pieces
    held_out_symbols: int  # scored, likewise
    nats: Floats | None = field(default=None, compare=False, repr=False)  # of each scored symbol


class Surprisals(NamedTuple):
    """The surprisal of each symbol of a text under the models of one order."""

    order: int
    kneser_ney: Floats  # (S,) nats
    witten_bell: Floats  # (S,) nats


def baselines(train: Ids, text: Ids, symbols: int, budget: Budget = BUDGET) -> Iterator[Baseline]:
    """Yield uniform, unigram and each order in turn, with the smoothing that does better here."""
    learned, text = _budgeted(train, text, symbols, budget)
    counted, size = (
        sum(int(np.count_nonzero(is_counted(part, symbols))) for part in parts)
        for parts in (learned, [text])
    )
    if not size:
        return
    yield Baseline("uniform", log(symbols), counted, size, np.full(size, log(symbols)))
    for each in _orders(learned, text, symbols, HIGHEST):
        name = "unigram" if each.order == 1 else f"markov-{each.order - 1}"
        nats = min(each.kneser_ney, each.witten_bell, key=np.mean)
        yield Baseline(name, float(nats.mean()), counted, size, nats)


def surprisals(
    train: Ids, text: Ids, symbols: int, highest: int = HIGHEST, budget: Budget = BUDGET
) -> Iterator[Surprisals]:
    """Yield the surprisals of a text, or of pieces of it, under orders 1 to highest."""
    return _orders(*_budgeted(train, text, symbols, budget), symbols, highest)


def _budgeted(train: Ids, text: Ids, symbols: int, budget: Budget) -> tuple[list[Ids], Ids]:
    """Return the symbols to count, in parts, and the symbols to score."""
    learned = ngrams.parts_of(train, symbols, budget.to_count(symbols), budget.pieces)
    return learned, ngrams.sequence_of(text, symbols, budget.held_out, budget.pieces)


def _orders(learned: Sequence[Ids], text: Ids, symbols: int, highest: int) -> Iterator[Surprisals]:
    size = int(np.count_nonzero(is_counted(text, symbols)))
    below = plain = np.full(size, 1 / symbols)  # P(w | h') by either smoothing
    for order, tally in enumerate(tallies(learned, text, symbols, highest), 1):
        h, hw = tally.contexts, tally.grams
        plain = probability(tally.occurrences, WITTEN_BELL, h, hw, plain)
        rule = kneser_ney_by(tally.occurrences.of_counts.tolist())
        kneser_ney = probability(tally.occurrences, rule, h, hw, below)
        yield Surprisals(order, -np.log(kneser_ney), -np.log(plain))
        rule = kneser_ney_by(tally.varieties.of_counts.tolist())
        below = probability(tally.varieties, rule, h, hw, below)
