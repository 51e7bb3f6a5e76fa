"""Fill in the missing characters of a text by branch and bound.

    T y r _ _ s *        _ any one character     * up to max_gap of them

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings

All beginnings of one length are read side by side, at most ``beam`` of them. The probability of the
dropped beginnings bounds the fillings that were left out. Characters of the vocabulary fill in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network import Array64
from charrnn.network.step import State
from charrnn.predictor import Predictor
from charrnn.settings import FillConfig as FillConfig
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

Symbols = NDArray[np.intp]

BLANK, GAP = "_", "*"
OUTPUTS: Final = 1 << 23  # numbers in the logits of all lanes, at most


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
    """A text with blanks and gaps as an automaton over symbols. Unseen characters begin at K.

    Each character is a place, each gap a number of places that may be skipped. A state is the set
    of places that may come next, as bits. Symbols that all places treat alike are a class.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, max_gap: int) -> None:
        known = vocabulary.symbols
        self.unseen = vocabulary.unknown_in(text.replace(BLANK, "").replace(GAP, ""))
        self.symbols = known + len(self.unseen)  # E
        self.read_as: Symbols = np.arange(self.symbols)  # (E,) what the network reads for each
        self.read_as[known:] = UNKNOWN
        self.characters = ["", "", *vocabulary.characters, *self.unseen]
        number = {character: symbol for symbol, character in enumerate(self.characters)}
        place, blanks, self.optional = 0, 0, 0
        literals: dict[int, int] = {}  # symbol -> its places
        for character in text:
            size = max_gap if character == GAP else 1
            places = ((1 << size) - 1) << place
            place += size
            if character in (BLANK, GAP):
                blanks |= places
                self.optional |= places if character == GAP else 0
            else:
                symbol = number[character]
                literals[symbol] = literals.get(symbol, 0) | places
        self.final = 1 << place
        self.accepted = [0, blanks]  # class -> the places that accept it
        self.class_of: Symbols = np.ones(self.symbols, np.intp)  # (E,)
        self.class_of[[END, UNKNOWN]] = 0  # these never fill in
        for symbol, places in literals.items():
            self.class_of[symbol] = len(self.accepted)
            self.accepted.append(places | blanks if symbol < known else places)
        self.first = self.skip(1)

    def skip(self, state: int) -> int:
        """Return the state with the places that are reached by leaving a gap early."""
        while (wider := state | (state & self.optional) << 1) != state:
            state = wider
        return state

    def after(self, state: int) -> list[int]:
        """Return the state after a symbol of each class; 0 if it may not come."""
        return [self.skip((state & places) << 1) for places in self.accepted]


def fill(predictor: Predictor, text: str, config: FillConfig | None = None) -> Filled:
    """Return the likeliest fillings, likeliest first. They do not depend on other texts."""
    config = config or FillConfig()
    if predictor.head.lengths is not None:
        what = "a model that draws the length before the text cannot fill in missing characters"
        raise SettingError(what, "Train one with [ends] symbol or [ends] halt.")
    pattern = Pattern(text, predictor.vocabulary, config.max_gap)
    beam = max(64, min(config.beam, OUTPUTS // pattern.symbols))
    after_state = cache(pattern.after)
    state, x = predictor.zeros(1), np.array([END])
    texts, states, log_p = [""], [pattern.first], np.zeros(1)  # of each beginning
    whole: list[tuple[float, str]] = []  # log P of the likeliest whole texts, and these
    log_total = log_left_out = -math.inf  # log P of all whole texts, and of dropped beginnings
    while texts:
        reached = log_p[:, None] + log_p_of_next(predictor, pattern, x, state)  # (B, E)
        ending = np.flatnonzero([bool(places & pattern.final) for places in states])
        log_total = float(np.logaddexp.reduce([log_total, *reached[ending, END]]))
        whole += [(float(reached[row, END]), texts[row]) for row in ending]
        whole = nlargest(config.count, whole, key=itemgetter(0))
        after = [after_state(places) for places in states]
        reached[~np.array(after, bool)[:, pattern.class_of]] = -math.inf
        flat = reached.reshape(-1)
        chosen = np.flatnonzero(flat > -math.inf)
        if len(chosen) > beam:
            order = np.argpartition(-flat[chosen], beam)
            dropped = flat[chosen[order[beam:]]]
            log_left_out = float(np.logaddexp.reduce([log_left_out, *dropped]))
            chosen = np.sort(chosen[order[:beam]])
        rows, x = np.divmod(chosen, pattern.symbols)
        texts = [
            texts[row] + pattern.characters[symbol] for row, symbol in zip(rows, x, strict=True)
        ]
        kinds = zip(rows, pattern.class_of[x], strict=True)
        states, log_p = [after[row][kind] for row, kind in kinds], reached[rows, x]
        state = [h[rows] for h in state]
    fillings = [Filling(ending, math.exp(log - log_total)) for log, ending in whole]
    left_out = math.exp(log_left_out - np.logaddexp(log_total, log_left_out))
    return Filled(text, fillings, left_out)


def log_p_of_next(predictor: Predictor, pattern: Pattern, x: Symbols, state: State) -> Array64:
    """Read x (B,) and return log P of the next symbol, (B, E)."""
    vocabulary = predictor.vocabulary
    o = predictor.step(pattern.read_as[x], state)
    log_p: Array64 = o - np.logaddexp.reduce(o, 1, keepdims=True) + math.log1p(-vocabulary.novelty)
    novelty = math.log(vocabulary.novelty) if vocabulary.novelty else -math.inf
    unseen = np.logaddexp(log_p[:, UNKNOWN], novelty) - vocabulary.unseen_nats  # (B,)
    return np.concatenate([log_p, np.repeat(unseen[:, None], len(pattern.unseen), 1)], 1)
