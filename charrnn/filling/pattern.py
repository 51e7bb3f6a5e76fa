"""A text with blanks and gaps, and the texts that match it.

    T y r _ _ s *        _ any one character     * up to max_gap of them
    T y r [2] s [0-8]    adjacent blanks and gaps are one run, with a least and a most length

Fillings consist of characters in the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from charrnn.settings.sampling import FillConfig
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

Symbols = NDArray[np.intp]

NONE, ANY = 0, 1  # classes of symbols: those that never fill; those that fill and are no literal


@dataclass(frozen=True)
class Run:
    """A run of ``least`` to ``most`` characters of any kind."""

    least: int
    most: int


class Pattern:
    """The literals and runs of a text, as symbols; those of unseen characters begin at K."""

    def __init__(self, text: str, vocabulary: Vocabulary, config: FillConfig) -> None:
        self.vocabulary, blank, gap = vocabulary, config.blank, config.gap
        literals = "".join(character for character in text if character not in (blank, gap))
        self.unseen = vocabulary.unknown_in(literals)
        self.pieces: list[int | Run] = []
        for character in text:
            if character in (blank, gap):
                run = Run(1, 1) if character == blank else Run(0, config.max_gap)
                if self.pieces and isinstance(before := self.pieces[-1], Run):
                    self.pieces.pop()
                    run = Run(before.least + run.least, before.most + run.most)
                self.pieces.append(run)
            elif character in self.unseen:
                self.pieces.append(vocabulary.symbols + self.unseen.index(character))
            else:
                self.pieces.append(int(vocabulary.encode(character)[0]))
        self.symbols = vocabulary.symbols + len(self.unseen)  # E
        # The symbol that the network reads for each: (E,)
        self.read_as: Symbols = np.arange(self.symbols)
        self.read_as[vocabulary.symbols :] = UNKNOWN

    def text_of(self, symbols: list[int]) -> str:
        characters = ["", "", *self.vocabulary.characters, *self.unseen]
        return "".join([characters[symbol] for symbol in symbols])

    def ways(self, symbols: list[int]) -> int:
        """Return the number of ways in which the runs can match this text."""
        ways = {0: 1}  # the number that lead to each place
        for piece in self.pieces:
            reached: dict[int, int] = {}
            for place, count in ways.items():
                for stop in self._stops(piece, place, symbols):
                    reached[stop] = reached.get(stop, 0) + count
            ways = reached
        return ways.get(len(symbols), 0)

    def _stops(self, piece: int | Run, place: int, symbols: list[int]) -> range:
        """Return the places where this piece may end if it begins here."""
        if not isinstance(piece, Run):
            is_there = symbols[place : place + 1] == [piece]
            return range(place + 1, place + 1 + is_there)
        known, most = self.vocabulary.symbols, min(piece.most, len(symbols) - place)
        far = next((n for n in range(most) if symbols[place + n] >= known), most)
        return range(place + piece.least, place + far + 1)


class Automaton:
    """An automaton for the texts that match a pattern; a state is a set of places, as bits."""

    def __init__(self, pattern: Pattern) -> None:
        literals = sorted({piece for piece in pattern.pieces if not isinstance(piece, Run)})
        self.class_of = np.full(pattern.symbols, ANY, np.intp)  # (E,)
        self.class_of[[END, UNKNOWN]] = NONE
        self.class_of[literals] = np.arange(len(literals)) + 2
        self._accepted = [0] * (len(literals) + 2)  # the places that accept each class
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
        self.first = self._number(self._close(1))

    def may_end(self, states: Symbols) -> NDArray[np.bool_]:
        """Return in which of these states the text may end."""
        return np.array([bool(self._masks[state] & self._final) for state in states.tolist()])

    def after(self, states: Symbols) -> Symbols:
        """Return the state after each class of symbols, (n, C); -1 if the class may not come."""
        distinct, which = np.unique(states, return_inverse=True)
        return np.array([self._row(state) for state in distinct.tolist()])[which]

    def _row(self, state: int) -> NDArray[np.intp]:
        row = self._next[state]
        if row is None:
            masks = [(self._masks[state] & places) << 1 for places in self._accepted]
            row = np.array([self._number(self._close(mask)) if mask else -1 for mask in masks])
            self._next[state] = row
        return row

    def _close(self, mask: int) -> int:
        """Add the places that are reached by leaving a run early."""
        while (wider := mask | (mask & self._optional) << 1) != mask:
            mask = wider
        return mask

    def _number(self, mask: int) -> int:
        if mask not in self._numbers:
            self._numbers[mask] = len(self._masks)
            self._masks.append(mask)
            self._next.append(None)
        return self._numbers[mask]
