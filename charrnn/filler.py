"""Fill in the missing characters of a text by branch and bound.

    T y r _ _ s *        _ any one character     * up to max_gap of them
    T y r [2] s [0-8]    adjacent blanks and gaps are one run, with a least and a most length

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings

All beginnings of one length are read side by side, at most ``beam`` of them. The probability of the
dropped beginnings bounds the fillings that were left out. Characters of the vocabulary fill in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network import Array64
from charrnn.predictor import Predictor
from charrnn.settings import FillConfig as FillConfig
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

Symbols = NDArray[np.intp]

BLANK, GAP = "_", "*"
NEVER, ANY = 0, 1  # classes of symbols: those that never fill; those that fill and are no literal
OUTPUTS: Final = 1 << 23  # numbers in the logits of all lanes, at most


class Run(NamedTuple):
    """A run of ``least`` to ``most`` characters of any kind."""

    least: int
    most: int


@dataclass(frozen=True)
class Filling:
    """A whole text and its probability among all fillings."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """The likeliest fillings of a text."""

    text: str
    fillings: list[Filling]
    left_out: float  # the share of all fillings that was not tried, at most


class Pattern:
    """The literals and runs of a text, as an automaton over symbols.

    A state is a set of places in the text, as bits. Symbols of unseen characters begin at K.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, max_gap: int) -> None:
        self.vocabulary = vocabulary
        literals = "".join(character for character in text if character not in (BLANK, GAP))
        self.unseen = vocabulary.unknown_in(literals)
        self.symbols = vocabulary.symbols + len(self.unseen)  # E
        self.read_as: Symbols = np.arange(self.symbols)  # (E,) what the network reads for each
        self.read_as[vocabulary.symbols :] = UNKNOWN
        pieces = self._pieces(text, max_gap)

        classes = sorted({piece for piece in pieces if isinstance(piece, int)})
        self.class_of = np.full(self.symbols, ANY, np.intp)  # (E,)
        self.class_of[[END, UNKNOWN]] = NEVER
        self.class_of[classes] = np.arange(len(classes)) + 2
        self._accepted = [0] * (len(classes) + 2)  # the places that accept each class
        self._optional = 0  # the places that may be skipped
        place = 0
        for piece in pieces:
            if isinstance(piece, int):
                self._accepted[self.class_of[piece]] |= 1 << place
                place += 1
                continue
            run = ((1 << piece.most) - 1) << place
            self._optional |= run & ~(((1 << piece.least) - 1) << place)
            for symbol in [*classes, None]:
                if symbol is None or symbol < vocabulary.symbols:
                    self._accepted[ANY if symbol is None else self.class_of[symbol]] |= run
            place += piece.most
        self._final = 1 << place
        self._number_of: dict[int, int] = {}
        self._masks: list[int] = []
        self._rows: dict[int, list[int]] = {}  # state -> the state after each class
        self.first = self._number(1)

    def _pieces(self, text: str, max_gap: int) -> list[int | Run]:
        """Return the literals as symbols, and the runs between them."""
        known, pieces = self.vocabulary.symbols, list[int | Run]()
        for character in text:
            if character in (BLANK, GAP):
                run = Run(1, 1) if character == BLANK else Run(0, max_gap)
                if pieces and isinstance(pieces[-1], Run):
                    last = pieces.pop()
                    assert isinstance(last, Run)
                    run = Run(last.least + run.least, last.most + run.most)
                pieces.append(run)
            elif character in self.unseen:
                pieces.append(known + self.unseen.index(character))
            else:
                pieces.append(int(self.vocabulary.encode(character)[0]))
        return pieces

    def may_end(self, states: Symbols) -> NDArray[np.bool_]:
        """Return in which of these states the text may end."""
        return np.array([bool(self._masks[state] & self._final) for state in states.tolist()])

    def after(self, states: Symbols) -> Symbols:
        """Return the state after each symbol (B, E); -1 if the symbol may not come."""
        distinct, which = np.unique(states, return_inverse=True)
        rows: Symbols = np.array([self._row(state) for state in distinct.tolist()], np.intp)
        return rows[which][:, self.class_of]

    def _row(self, state: int) -> list[int]:
        if state not in self._rows:
            masks = [(self._masks[state] & places) << 1 for places in self._accepted]
            self._rows[state] = [self._number(mask) if mask else -1 for mask in masks]
        return self._rows[state]

    def _number(self, mask: int) -> int:
        """Return the number of a state, with the places that are reached by leaving a run early."""
        while (wider := mask | (mask & self._optional) << 1) != mask:
            mask = wider
        if mask not in self._number_of:
            self._number_of[mask] = len(self._masks)
            self._masks.append(mask)
        return self._number_of[mask]

    def text_of(self, symbols: list[int]) -> str:
        characters = ["", "", *self.vocabulary.characters, *self.unseen]
        return "".join([characters[symbol] for symbol in symbols])


def fill(predictor: Predictor, text: str, config: FillConfig | None = None) -> Filled:
    """Return the likeliest fillings, likeliest first. They do not depend on other texts."""
    config = config or FillConfig()
    if predictor.head.lengths is not None:
        what = "a model that draws the length before the text cannot fill in missing characters"
        raise SettingError(what, "Train one with [ends] symbol or [ends] halt.")
    pattern = Pattern(text, predictor.vocabulary, config.max_gap)
    beam = max(64, min(config.beam, OUTPUTS // pattern.symbols))
    state, x = predictor.zeros(1), np.array([END])
    at, log_p = np.array([pattern.first]), np.zeros(1)
    levels: list[tuple[Symbols, Symbols]] = []  # of each length: beginnings, symbols after them
    ended: list[tuple[float, int, int]] = []  # log P, length and row of each whole text
    dropped = [-math.inf]  # log P of the beginnings that were dropped
    while len(x):
        reached = log_p[:, None] + log_p_of_next(predictor, pattern, x, state)  # (B, E)
        ending = np.flatnonzero(pattern.may_end(at)).tolist()
        ended += [(float(reached[row, END]), len(levels), row) for row in ending]
        after = pattern.after(at)
        reached[after < 0] = -math.inf
        flat = reached.reshape(-1)
        chosen = np.flatnonzero(flat > -math.inf)
        if len(chosen) > beam:
            order = np.argpartition(-flat[chosen], beam)
            dropped.append(float(np.logaddexp.reduce(flat[chosen[order[beam:]]])))
            chosen = np.sort(chosen[order[:beam]])
        rows, x = np.divmod(chosen, pattern.symbols)
        levels.append((rows, x))
        at, log_p = after[rows, x], reached[rows, x]
        state = [h[rows] for h in state]

    log_total = float(np.logaddexp.reduce([log for log, _, _ in ended]))
    log_left_out = float(np.logaddexp.reduce(dropped))
    ended.sort(key=lambda whole: -whole[0])
    fillings = []
    for log, length, row in ended[: config.count]:
        symbols = []
        for rows, added in reversed(levels[:length]):
            symbols.append(int(added[row]))
            row = int(rows[row])
        fillings.append(Filling(pattern.text_of(symbols[::-1]), math.exp(log - log_total)))
    left_out = math.exp(log_left_out - np.logaddexp(log_total, log_left_out))
    return Filled(text, fillings, left_out)


def log_p_of_next(
    predictor: Predictor, pattern: Pattern, x: Symbols, state: list[NDArray[np.float64]]
) -> Array64:
    """Read x (B,) and return log P of the next symbol, (B, E)."""
    vocabulary = predictor.vocabulary
    o = predictor.step(pattern.read_as[x], state)
    log_p: Array64 = o - np.logaddexp.reduce(o, 1, keepdims=True) + math.log1p(-vocabulary.novelty)
    novelty = math.log(vocabulary.novelty) if vocabulary.novelty else -math.inf
    unseen = np.logaddexp(log_p[:, UNKNOWN], novelty) - vocabulary.unseen_nats  # (B,)
    return np.concatenate([log_p, np.repeat(unseen[:, None], len(pattern.unseen), 1)], 1)
