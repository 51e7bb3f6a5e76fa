"""A text with blanks and gaps, and which texts it stands for.

    T y r _ _ s *        _ any one character     * up to max_gap of them
    T y r [2] s [0-8]    blanks and gaps that touch are one run, of at least and at most so many

Only characters that the model knows are put in: one that was never seen has no name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import END, UNKNOWN, Vocabulary

Symbols = NDArray[np.intp]

NONE, ANY = 0, 1  # classes of symbols: that never fill; and that do, and stand nowhere themselves


@dataclass(frozen=True)
class Run:
    """So many characters of any kind."""

    least: int
    most: int


class Pattern:
    """Literals and runs, over the symbols of a vocabulary and those of characters never seen.

    A character of the text that was never seen has a symbol of its own, from K on.
    """

    def __init__(
        self, text: str, vocabulary: Vocabulary, blank: str, gap: str, max_gap: int
    ) -> None:
        self.vocabulary = vocabulary
        self.text = text
        literals = "".join(one for one in text if one not in (blank, gap))
        self.unseen = vocabulary.unknown_in(literals)
        self.pieces: list[int | Run] = []
        for character in text:
            if character in (blank, gap):
                run = Run(1, 1) if character == blank else Run(0, max_gap)
                if self.pieces and isinstance(before := self.pieces[-1], Run):
                    self.pieces.pop()
                    run = Run(before.least + run.least, before.most + run.most)
                self.pieces.append(run)
            else:
                self.pieces.append(self._symbol(character))

    def _symbol(self, character: str) -> int:
        if character in self.unseen:
            return self.vocabulary.symbols + self.unseen.index(character)
        return int(self.vocabulary.encode(character)[0])

    @property
    def symbols(self) -> int:
        """How many symbols there are, those of characters never seen among them: E."""
        return self.vocabulary.symbols + len(self.unseen)

    @cached_property
    def read_as(self) -> Symbols:
        """(E,)  as which symbol the network reads each."""
        known = self.vocabulary.symbols
        return np.where(np.arange(self.symbols) < known, np.arange(self.symbols), UNKNOWN)

    def spelt(self, symbols: list[int]) -> str:
        """The text of these symbols."""
        characters = ["", "", *self.vocabulary.characters, *self.unseen]
        return "".join([characters[symbol] for symbol in symbols])

    def ways(self, symbols: list[int]) -> int:
        """In how many ways the runs can be laid over this text, which the pattern stands for."""
        ways = {0: 1}  # how many of them lead to each place
        for piece in self.pieces:
            reached: dict[int, int] = {}
            for place, count in ways.items():
                for stop in self._stops(piece, place, symbols):
                    reached[stop] = reached.get(stop, 0) + count
            ways = reached
        return ways.get(len(symbols), 0)

    def _stops(self, piece: int | Run, place: int, symbols: list[int]) -> range:
        """Where the piece may end that begins at this place."""
        if not isinstance(piece, Run):
            is_there = symbols[place : place + 1] == [piece]
            return range(place + 1, place + 1 + is_there)
        known, most = self.vocabulary.symbols, min(piece.most, len(symbols) - place)
        far = next((n for n in range(most) if symbols[place + n] >= known), most)
        return range(place + piece.least, place + far + 1)


class Automaton:
    """What of a pattern may come next, after all that has come: one state for each text.

    A state is a set of places in the pattern, as bits; where it was met first gives it its number.
    """

    def __init__(self, pattern: Pattern) -> None:
        literals = sorted({piece for piece in pattern.pieces if not isinstance(piece, Run)})
        self.class_of = np.full(pattern.symbols, ANY, np.intp)  # (E,)
        self.class_of[[END, UNKNOWN]] = NONE
        self.class_of[literals] = np.arange(len(literals)) + 2
        self._accepted = [0] * (len(literals) + 2)  # for each class, by which places
        self._optional = 0
        place = 0
        for piece in pattern.pieces:
            if isinstance(piece, Run):
                every = ((1 << piece.most) - 1) << place
                self._optional |= every & ~(((1 << piece.least) - 1) << place)
                for number in range(ANY, len(self._accepted)):
                    if number == ANY or literals[number - 2] < pattern.vocabulary.symbols:
                        self._accepted[number] |= every
                place += piece.most
            else:
                self._accepted[literals.index(piece) + 2] |= 1 << place
                place += 1
        self._final = 1 << place
        self._numbers: dict[int, int] = {}
        self._masks: list[int] = []
        self._next: list[NDArray[np.intp] | None] = []
        self.first = self._number(self._closed(1))

    def may_end(self, states: Symbols) -> NDArray[np.bool_]:
        """Whether the text may end in each of these states."""
        return np.array([bool(self._masks[one] & self._final) for one in states.tolist()])

    def after(self, states: Symbols) -> Symbols:
        """The state after each class of symbols, (n, C); -1 where it may not come."""
        distinct, which = np.unique(states, return_inverse=True)
        return np.array([self._row(one) for one in distinct.tolist()])[which]

    def _row(self, state: int) -> NDArray[np.intp]:
        row = self._next[state]
        if row is None:
            masks = [(self._masks[state] & places) << 1 for places in self._accepted]
            row = np.array([self._number(self._closed(one)) if one else -1 for one in masks])
            self._next[state] = row
        return row

    def _closed(self, mask: int) -> int:
        """With the places to which a run leads that may be left."""
        while (wider := mask | (mask & self._optional) << 1) != mask:
            mask = wider
        return mask

    def _number(self, mask: int) -> int:
        if mask not in self._numbers:
            self._numbers[mask] = len(self._masks)
            self._masks.append(mask)
            self._next.append(None)
        return self._numbers[mask]
