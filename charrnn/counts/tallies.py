"""How often what stands in one text occurs in another, which may be long: tallies, and no table.

To say what a text costs by counts of another, few of the other's n-grams are needed. Of each order

    c(hw)                     where hw stands in the text
    the sum of c(hw) over w   where h does; and how many w there are with c(hw) = 1, 2, and more
    n[1] .. n[4]              how many n-grams are counted so often, wherever they stand

Windows that go backwards, sorted, have beside each other all that comes before the same. They are
looked at a share at a time: those that end in some pairs of symbols, then those that end in others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.ngrams import BLOCK, Ids, Layout, Windows, Words, is_counted, sorted_windows
from charrnn.vocabulary import END

Numbers = NDArray[np.uint32]
Integers = NDArray[np.signedinteger[Any]]

NONE = -1
SHARE = 1 << 18  # words of the windows in a share, about
MOST = 1 << 19  # that are kept before those that are the same become one
MIXER = np.uint32(0x9E3779B1)  # scatters the pairs of symbols over the shares


class Tally:
    """What is known of the n-grams of an order, by one way to count."""

    def __init__(self, contexts: int, grams: int, symbols: int) -> None:
        # of each context, the sum of c over what follows, and how many are counted 1, 2, and more
        self.total = np.zeros(contexts, np.uint32)
        self.kinds = np.zeros((contexts, 3), np.min_scalar_type(symbols))
        self.counts = np.zeros(grams, np.uint32)  # c of each n-gram that is asked for
        self.of_counts = np.zeros(5, np.int64)  # n[j]

    def add(self, counts: Numbers, contexts: Integers, grams: Integers) -> None:
        """Some more n-grams, none of them twice: c of each, and of those that are asked for, which
        context and which n-gram it is.
        """
        self.of_counts += np.bincount(np.minimum(counts, 5), minlength=6)[:5]
        asked = np.flatnonzero(contexts != NONE)
        here, c = contexts[asked], counts[asked]
        kind = np.minimum(c, 3).astype(np.int64)
        self.total += np.bincount(here, c, len(self.total)).astype(np.uint32)
        kinds = np.bincount(3 * here + kind - 1, minlength=self.kinds.size)
        self.kinds += kinds.reshape(-1, 3).astype(self.kinds.dtype)
        asked = np.flatnonzero(grams != NONE)
        self.counts[grams[asked]] = counts[asked]


@dataclass(frozen=True, eq=False)
class OrderTallies:
    """What a text asks for of an order, and what was counted of it."""

    contexts: Integers  # (S,) of each symbol of the text, which context it comes after, or NONE
    grams: Integers  # (S,) and which n-gram it ends, or NONE
    occurrences: Tally
    varieties: Tally  # by how many symbols stood before: see markov; of no use in the highest order


def tallies(
    learned: Sequence[Ids], text: Ids, symbols: int, highest: int
) -> Iterator[OrderTallies]:
    """Those of the unigrams, the pairs, and so on, for the symbols of a text but its breaks; what
    is learned from comes in parts.
    """
    layout = Layout(symbols, max(2, highest))
    words = _all_windows(text, layout)
    grams, contexts = _Asked(layout, words), _Asked(layout, layout.without_first(words))
    found = [_OrderCounter(grams, contexts, order) for order in range(2, highest + 1)]
    before = np.zeros(symbols, np.uint32)  # by how many symbols each follows
    for share in _shares(learned, layout):
        share.count(found, before)
    yield _unigrams(learned, text, symbols, before)
    for one in found:
        yield one.tallies()


def _all_windows(text: Ids, layout: Layout) -> Words:
    """The windows that go backwards from each symbol of a text, but from its breaks."""
    parts = [[np.zeros(0, np.uint64)] for _ in layout.sizes]
    for size, block in _backwards([text], layout):
        words = layout.pack(block, np.arange(size)[::-1])
        is_one = layout.are(words, 1)
        for part, word in zip(parts, words, strict=True):
            part.append(word[is_one])
    return [np.concatenate(part) for part in parts]


def _backwards(parts: Iterable[Ids], layout: Layout) -> Iterator[tuple[int, Ids]]:
    """A text from its beginning on, as after an END, in blocks that go backwards: how many symbols,
    and they, and what comes before them as far as windows go.
    """
    before = np.append(layout.around()[1:], layout.around().dtype.type(END))
    for part in parts:
        for at in range(0, len(part), BLOCK):
            block = part[at : at + BLOCK]
            text = np.concatenate([before, block])
            before = text[-layout.highest :]
            yield len(block), text[::-1]


def _unigrams(learned: Sequence[Ids], text: Ids, symbols: int, before: Numbers) -> OrderTallies:
    """Those of the symbols, each after nothing."""
    occurrences = np.zeros(symbols + 1, np.uint32)
    for part in learned:
        for at in range(0, len(part), BLOCK):
            some = np.bincount(part[at : at + BLOCK], minlength=symbols + 1)
            occurrences += some.astype(np.uint32)
    found = OrderTallies(
        np.zeros(np.count_nonzero(is_counted(text, symbols)), np.int64),
        text[is_counted(text, symbols)].astype(np.int64),
        Tally(1, symbols, symbols),
        Tally(1, symbols, symbols),
    )
    there = np.flatnonzero(occurrences[:symbols])
    nothing = np.zeros(len(there), np.int64)
    occurrences, before = occurrences[there], before[there]
    found.occurrences.add(occurrences, nothing, there)
    found.varieties.add(np.where(before > 0, before, occurrences), nothing, there)
    return found


class _Asked:
    """The windows of a text, sorted, to be found by what they begin with."""

    def __init__(self, layout: Layout, words: Words) -> None:
        order = np.lexsort(words[::-1])
        self.layout = layout
        self.windows = Windows(layout, [word[order] for word in words])
        self.place = np.empty(len(order), np.int32)  # of each window, where it is among the sorted
        self.place[order] = np.arange(len(order), dtype=np.int32)
        self._words_there: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        self._keys = self.windows.words[0]
        for word in self.windows.words[1:]:
            there = np.unique(self._keys), np.unique(word)
            self._words_there.append(there)
            self._keys = self._join(self._keys, word, *there)

    @staticmethod
    def _join(
        key: NDArray[np.uint64],
        word: NDArray[np.uint64],
        keys: NDArray[np.uint64],
        words: NDArray[np.uint64],
    ) -> NDArray[np.uint64]:
        """One number for two, in their order, as far as those that are there can tell."""
        joined = keys.searchsorted(key).astype(np.uint64) * np.uint64(len(words) + 1)
        joined += words.searchsorted(word).astype(np.uint64)
        return joined

    def find(self, words: Words, order: int) -> Integers:
        """Which n-gram of those there are each of these is, cut as they are, or NONE."""
        if not len(self._keys):
            return np.full(len(words[0]), NONE)
        key = words[0]
        for word, there in zip(words[1:], self._words_there, strict=True):
            key = self._join(key, word, *there)
        at = np.minimum(self._keys.searchsorted(key), len(self._keys) - 1)
        met = self.layout.cut([word[at] for word in self.windows.words], order)
        for one, other in zip(met, words, strict=True):
            at[one != other] = NONE
        return self.numbered(order)[at]

    def numbered(self, order: int) -> NDArray[np.int32]:
        """Which n-gram each window begins with, of those there are, or NONE; and NONE for NONE."""
        is_one, is_new = self.windows.grams(order)
        number = np.full(len(is_one) + 1, NONE, np.int32)
        np.cumsum(is_new, out=number[:-1])
        number[:-1] -= 1
        number[:-1][~is_one] = NONE
        return number


class _OrderCounter:
    """What is known so far of an order from the pairs on."""

    def __init__(self, grams: _Asked, contexts: _Asked, order: int) -> None:
        self.order = order
        self._grams, self._contexts = grams, contexts
        sizes = [int(asked.numbered(order).max()) + 1 for asked in (contexts, grams)]
        sizes.append(grams.layout.symbols)
        self._occurrences, self._varieties = Tally(*sizes), Tally(*sizes)

    def add(self, words: Words, occurrences: Numbers, varieties: Numbers) -> None:
        """Some n-grams, none of them twice, and how they are counted."""
        layout, order = self._grams.layout, self.order
        words = layout.cut(words, order)
        grams = self._grams.find(words, order)
        contexts = self._contexts.find(layout.without_first(words), order)
        self._occurrences.add(occurrences, contexts, grams)
        self._varieties.add(varieties, contexts, grams)

    def tallies(self) -> OrderTallies:
        """All that was found."""
        grams, contexts = self._grams, self._contexts
        return OrderTallies(
            contexts.numbered(self.order)[contexts.place],
            grams.numbered(self.order)[grams.place],
            self._occurrences,
            self._varieties,
        )


@dataclass(frozen=True, eq=False)
class _Share:
    """Some of the windows of a text, none of them twice: all that end in some pairs of symbols."""

    windows: Windows
    times: Numbers  # that each occurs

    def count(self, orders: list[_OrderCounter], before: Numbers) -> None:
        """Tell each order of its n-grams; and count before how many symbols each stands."""
        if not len(self.windows):
            return
        is_one, is_new = self.windows.grams(2)
        layout = self.windows.layout
        for one in orders:
            begins = np.flatnonzero(is_new)
            if not len(begins):
                return
            words = [word[begins] for word in self.windows.words]
            if one.order == 2:
                number, shift = layout.last(1)
                last = (words[number] >> shift).astype(np.int64) - 1
                before += np.bincount(last, minlength=len(before)).astype(np.uint32)
            occurrences = np.add.reduceat(self.times * is_one, begins, dtype=np.uint32)
            varieties = occurrences
            if one.order < layout.highest:
                is_one, is_new = self.windows.grams(one.order + 1)
                found = np.add.reduceat(is_new, begins, dtype=np.uint32)
                varieties = np.where(found > 0, found, occurrences)
            one.add(words, occurrences, varieties)


def _shares(learned: Sequence[Ids], layout: Layout) -> Iterator[_Share]:
    """All windows of two symbols and more that go backwards in a text, a share after the other."""
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
    """Of some windows."""
    windows = sorted_windows(layout, [np.concatenate(each) for each in zip(*parts, strict=True)])
    begins = np.flatnonzero(windows.are_new())
    times = np.diff(begins, append=len(windows)).astype(np.uint32)
    return _Share(Windows(layout, [word[begins] for word in windows.words]), times)


def _merged(layout: Layout, parts: list[_Share]) -> _Share:
    """Several as one."""
    words = [np.concatenate(each) for each in zip(*(p.windows.words for p in parts), strict=True)]
    order = np.lexsort(words[::-1])
    windows = Windows(layout, [word[order] for word in words])
    times = np.concatenate([part.times for part in parts])[order]
    begins = np.flatnonzero(windows.are_new())
    if len(begins):
        times = np.add.reduceat(times, begins, dtype=np.uint32)
    return _Share(Windows(layout, [word[begins] for word in windows.words]), times)


def _share_of(text: Ids, symbols: int, count: int) -> NDArray[np.uint32]:
    """In which share each symbol is, by itself and the one after it."""
    pair = text[:-1].astype(np.uint32)
    pair *= np.uint32(symbols + 1)
    pair += text[1:]
    pair *= MIXER
    pair >>= np.uint32(16)
    pair *= np.uint32(count)
    pair >>= np.uint32(16)
    return pair
