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
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.kneser_ney import NONE, WITTEN_BELL, Floats, Numbers, Rule, kneser_ney_by
from charrnn.counts.ngrams import (
    BLOCK,
    PIECES,
    Ids,
    Layout,
    Windows,
    Words,
    is_counted,
    parts_of,
    sequence_of,
    sorted_windows,
)
from charrnn.system import give_back
from charrnn.vocabulary import END

Word = NDArray[np.uint64]
Integers = NDArray[np.signedinteger[Any]]

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


@dataclass(frozen=True, eq=False)
class OrderTallies:
    """The n-grams of an order in the scored text, and their counts in the training text."""

    contexts: Integers  # (S,) the number of the context before each symbol, or NONE
    grams: Integers  # (S,) the number of the n-gram that it ends, or NONE
    occurrences: Tally
    varieties: Tally  # symbols seen before each n-gram; unused in the highest order


def tallies(
    learned: Sequence[Ids], text: Ids, symbols: int, highest: int
) -> Iterator[OrderTallies]:
    """Yield the tallies of the unigrams, the pairs and so on, learned from the training text."""
    layout = Layout(symbols, max(2, highest))
    words = _all_windows(text, layout)
    grams = _TextWindows(layout, words)
    contexts = _TextWindows(layout, layout.without_first(words))
    counters = [_OrderCounter(grams, contexts, order) for order in range(2, highest + 1)]
    before = np.zeros(symbols, np.uint32)  # different symbols seen before each symbol
    for share in _shares(learned, layout):
        share.count(counters, before)
    yield _unigrams(learned, text, symbols, before)
    for counter in counters:
        yield counter.tallies()


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
        for at in range(0, len(part), BLOCK):
            block = part[at : at + BLOCK]
            text = np.concatenate([before, block])
            before = text[-layout.highest :]
            yield len(block), text[::-1]


def _unigrams(learned: Sequence[Ids], text: Ids, symbols: int, before: Numbers) -> OrderTallies:
    """Return the tallies of single symbols, which have the empty context."""
    occurrences = np.zeros(symbols + 1, np.uint32)
    for part in learned:
        for at in range(0, len(part), BLOCK):
            some = np.bincount(part[at : at + BLOCK], minlength=symbols + 1)
            occurrences += some.astype(np.uint32)
    unigrams = OrderTallies(
        np.zeros(np.count_nonzero(is_counted(text, symbols)), np.int64),
        text[is_counted(text, symbols)].astype(np.int64),
        Tally(1, symbols, symbols),
        Tally(1, symbols, symbols),
    )
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


class _OrderCounter:
    """The counts so far of an order from 2 on."""

    def __init__(self, grams: _TextWindows, contexts: _TextWindows, order: int) -> None:
        self.order = order
        self._grams, self._contexts = grams, contexts
        sizes = [int(each.numbers(order).max()) + 1 for each in (contexts, grams)]
        sizes.append(grams.layout.symbols)
        self._occurrences, self._varieties = Tally(*sizes), Tally(*sizes)

    def add(self, words: Words, occurrences: Numbers, varieties: Numbers) -> None:
        """Add distinct n-grams and their counts."""
        layout, order = self._grams.layout, self.order
        words = layout.cut(words, order)
        grams = self._grams.find(words, order)
        contexts = self._contexts.find(layout.without_first(words), order)
        self._occurrences.add(occurrences, contexts, grams)
        self._varieties.add(varieties, contexts, grams)

    def tallies(self) -> OrderTallies:
        grams, contexts = self._grams, self._contexts
        return OrderTallies(
            contexts.numbers(self.order)[contexts.place],
            grams.numbers(self.order)[grams.place],
            self._occurrences,
            self._varieties,
        )


@dataclass(frozen=True, eq=False)
class _Share:
    """The distinct windows that end in some pairs of symbols, and their occurrences."""

    windows: Windows
    times: Numbers

    def count(self, counters: list[_OrderCounter], before: Numbers) -> None:
        """Add the n-grams of each order, and the number of different symbols before each symbol."""
        if not len(self.windows):
            return
        is_one, is_new = self.windows.grams(2)
        layout = self.windows.layout
        for counter in counters:
            begins = np.flatnonzero(is_new)
            if not len(begins):
                return
            words = [word[begins] for word in self.windows.words]
            if counter.order == 2:
                number, shift = layout.last(1)
                last = (words[number] >> shift).astype(np.int64) - 1
                before += np.bincount(last, minlength=len(before)).astype(np.uint32)
            occurrences = np.add.reduceat(self.times * is_one, begins, dtype=np.uint32)
            varieties = occurrences
            if counter.order < layout.highest:
                is_one, is_new = self.windows.grams(counter.order + 1)
                longer = np.add.reduceat(is_new, begins, dtype=np.uint32)
                varieties = np.where(longer > 0, longer, occurrences)
            counter.add(words, occurrences, varieties)


def _shares(learned: Sequence[Ids], layout: Layout) -> Iterator[_Share]:
    """Yield the reversed windows of two and more symbols, a share at a time."""
    count = -(-sum(len(part) for part in learned) * len(layout.sizes) // SHARE)
    for number in range(count):
        shares: list[_Share] = []
        waiting: list[Words] = []
        for size, text in _backwards(learned, layout):
            at = np.flatnonzero(_share_of(text[: size + 1], layout.symbols, count) == number)
            words = layout.pack(text, at)
            is_pair = layout.are(words, 2)
            waiting.append([word[is_pair] for word in words])
            if sum(len(words[0]) for words in waiting) * len(layout.sizes) > MOST:
                shares.append(_share(layout, waiting))
                waiting = []
        shares += [_share(layout, waiting)] if waiting else []
        yield shares[0] if len(shares) == 1 else _merged(layout, shares)


def _share(layout: Layout, parts: list[Words]) -> _Share:
    windows = sorted_windows(layout, [np.concatenate(each) for each in zip(*parts, strict=True)])
    return _distinct(windows, np.ones(len(windows), np.uint32))


def _merged(layout: Layout, parts: list[_Share]) -> _Share:
    words = [np.concatenate(each) for each in zip(*(p.windows.words for p in parts), strict=True)]
    order = np.lexsort(words[::-1])
    times = np.concatenate([part.times for part in parts])
    return _distinct(Windows(layout, [word[order] for word in words]), times[order])


def _distinct(windows: Windows, times: Numbers) -> _Share:
    begins = np.flatnonzero(windows.are_new(windows.layout.highest))
    if len(begins):
        times = np.add.reduceat(times, begins, dtype=np.uint32)
    return _Share(Windows(windows.layout, [word[begins] for word in windows.words]), times)


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


Smoothing = Literal["none", "kneser-ney", "witten-bell"]

HIGHEST = 7  # order


@dataclass(frozen=True)
class Budget:
    """Bounds on the symbols of a long text that are read, and so on time and memory."""

    train: int = 10_000_000  # if a window is one word; sorting takes longer if it is more
    held_out: int = 1 << 17
    pieces: int = PIECES

    def to_count(self, symbols: int) -> int:
        return self.train // len(Layout(symbols, HIGHEST).sizes) ** 2


BUDGET = Budget()


@dataclass(frozen=True)
class Baseline:
    """The loss of one model on the held-out text, END included."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": characters of context
    nats_per_character: float
    smoothing: Smoothing
    train_symbols: int  # counted: all, or those of evenly spaced pieces
    held_out_symbols: int  # scored, likewise
    nats: Floats | None = field(default=None, compare=False, repr=False)  # of each scored symbol


class Surprisals(NamedTuple):
    """The surprisal of each symbol of a text under the models of one order."""

    order: int
    kneser_ney: Floats  # (S,) nats
    witten_bell: Floats  # (S,) nats


def baselines(
    train: Ids, held_out: Ids, symbols: int, budget: Budget = BUDGET
) -> Iterator[Baseline]:
    """Yield uniform, unigram and each order in turn, with the smoothing that does better here."""
    learned, text = _budgeted(train, held_out, symbols, budget)
    counted, size = (
        sum(int(np.count_nonzero(is_counted(part, symbols))) for part in parts)
        for parts in (learned, [text])
    )
    if not size:
        return
    yield Baseline("uniform", log(symbols), "none", counted, size, np.full(size, log(symbols)))
    for each in _orders(learned, text, symbols, HIGHEST):
        name = "unigram" if each.order == 1 else f"markov-{each.order - 1}"
        choices: dict[Smoothing, Floats] = {
            "kneser-ney": each.kneser_ney,
            "witten-bell": each.witten_bell,
        }
        nats, smoothing = min((float(nats.mean()), rule) for rule, nats in choices.items())
        yield Baseline(name, nats, smoothing, counted, size, choices[smoothing])
    give_back()


def surprisals(
    train: Ids, text: Ids, symbols: int, highest: int = HIGHEST, budget: Budget = BUDGET
) -> Iterator[Surprisals]:
    """Yield the surprisals of a text, or of pieces of it, under orders 1 to highest."""
    return _orders(*_budgeted(train, text, symbols, budget), symbols, highest)


def _budgeted(train: Ids, text: Ids, symbols: int, budget: Budget) -> tuple[list[Ids], Ids]:
    """Return the symbols to count, in parts, and the symbols to score."""
    learned = parts_of(train, symbols, budget.to_count(symbols), budget.pieces)
    return learned, sequence_of(text, symbols, budget.held_out, budget.pieces)


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
