"""Runs of drawn texts that stand in a corpus, found by a suffix automaton of the drawn texts.

The automaton (Blumer et al., 1985) takes time and memory linear in the drawn characters. Each
example of the corpus is then read through it once, so a corpus of any size takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from charrnn.vocabulary import Codes

BATCH: Final = 1 << 16  # drawn characters for which the corpus is read once: about 40 MB
BREAK: Final = -1  # after each drawn text


class Runs(NamedTuple):
    """The lengths of runs in a corpus, each as long as it can be, and the longest run."""

    lengths: list[int]
    longest: str

    @property
    def median(self) -> int:
        """The length that half of the runs do not exceed; 0 without runs."""
        return sorted(self.lengths)[(len(self.lengths) - 1) // 2] if self.lengths else 0


def copied_runs(texts: Iterable[str], corpus: Callable[[], Iterable[Codes]]) -> Iterator[Runs]:
    """Yield the runs of each text that stand within an example of the corpus.

    ``corpus`` returns the code points of the examples, each time it is called.
    """
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            yield from _runs_of_batch(batch, corpus())
            batch, size = [], 0
    if batch:
        yield from _runs_of_batch(batch, corpus())


def _runs_of_batch(texts: list[str], corpus: Iterable[Codes]) -> Iterator[Runs]:
    automaton = _Automaton()
    ends = [[automaton.add(ord(c)) for c in text] + [automaton.add(BREAK)] for text in texts]
    matched = automaton.matched(corpus)
    for text, states in zip(texts, ends, strict=True):
        sizes = [matched[state] for state in states[:-1]]
        later = [*sizes[1:], 0]
        stops = [i for i, size in enumerate(sizes) if size and later[i] <= size]
        best = max(stops, key=lambda i: sizes[i], default=-1)
        longest = text[best + 1 - sizes[best] : best + 1] if stops else ""
        yield Runs([sizes[i] for i in stops], longest)


class _Automaton:
    """The suffix automaton of a text to which symbols are added."""

    def __init__(self) -> None:
        self._next: list[dict[int, int]] = [{}]
        self._link, self._longest = [-1], [0]  # the suffix of a state, and its longest text
        self._last = 0

    def add(self, symbol: int) -> int:
        """Add a symbol; return the state of the whole text."""
        following, link, longest = self._next, self._link, self._longest
        new, state = len(following), self._last
        following.append({})
        link.append(0)
        longest.append(longest[state] + 1)
        while state >= 0 and symbol not in following[state]:
            following[state][symbol] = new
            state = link[state]
        if state >= 0:
            same = following[state][symbol]
            link[new] = same
            if longest[same] != longest[state] + 1:
                copy = link[new] = len(following)
                following.append(dict(following[same]))
                link.append(link[same])
                longest.append(longest[state] + 1)
                link[same] = copy
                while state >= 0 and following[state].get(symbol) == same:
                    following[state][symbol] = copy
                    state = link[state]
        self._last = new
        return new

    def matched(self, corpus: Iterable[Codes]) -> list[int]:
        """Return, for each state, the length of the longest suffix of its text in the corpus."""
        following, link, longest = self._next, self._link, self._longest
        found = [0] * len(link)
        state = size = 0
        for block in corpus:
            for code in block.tolist():
                while state and code not in following[state]:
                    state = link[state]
                    size = longest[state]
                state = following[state].get(code, 0)
                size = size + 1 if state else 0
                if size > found[state]:
                    found[state] = size
        by_length = sorted(range(1, len(link)), key=longest.__getitem__)
        for state in reversed(by_length):
            if found[state]:
                found[link[state]] = longest[link[state]]
        for state in by_length:
            found[state] = found[state] or found[link[state]]
        return found
