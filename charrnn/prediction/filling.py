"""Fill in the missing characters of a text by branch and bound.

    T y r _ _ s *        _ any one character     * up to max_gap of them

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings

All beginnings of one length are read side by side, at most ``beam`` of them. The probability of the
dropped beginnings bounds the fillings that were left out. Characters of the vocabulary fill in.
"""

import math
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network.arrays import Array64, log_softmax
from charrnn.network.step import StepState
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import add_novelty
from charrnn.settings.drawing import FillConfig as FillConfig
from charrnn.system.visible import encodable
from charrnn.text.vocabulary import END, UNKNOWN, Vocabulary

Symbols = NDArray[np.intp]

BLANK, GAP = "_", "*"
OUTPUTS: Final = 1 << 23  # numbers in the logits of all lanes, at most


@dataclass(frozen=True)
class Filling:
    """A whole text and its probability among the fillings tried."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """The likeliest fillings of a text."""

    text: str
    fillings: list[Filling]
    left_out: float  # the share of all fillings that was not tried, at most


def figures_of(filled: Filled) -> dict[str, object]:
    """Return the fillings and their figures by name, as JSON has them."""
    fillings = [{"text": encodable(f.text), "probability": f.probability} for f in filled.fillings]
    return {"text": encodable(filled.text), "fillings": fillings, "left_out": filled.left_out}


class Pattern:
    """A text with blanks and gaps as an automaton over symbols. Unseen characters begin at K.

    Each character is a place, each gap as many places as it may hold characters. A state is the set
    of places where the next symbol may stand, as the bits of an integer.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, max_gap: int) -> None:
        known = vocabulary.symbols  # K
        unseen = vocabulary.unknown_in(text.replace(BLANK, "").replace(GAP, ""))
        self.characters = ["", "", *vocabulary.characters, *unseen]  # E, by symbol
        self.read_as: Symbols = np.arange(len(self.characters))  # (E,) what the network reads
        self.read_as[known:] = UNKNOWN
        places = "".join(character * (max_gap if character == GAP else 1) for character in text)
        self.optional = sum(1 << i for i, place in enumerate(places) if place == GAP)
        blanks = sum(1 << i for i, place in enumerate(places) if place in (BLANK, GAP))
        # by symbol, the places where it may stand
        self.accepted_at = [0, 0, *[blanks] * (known - 2), *[0] * len(unseen)]
        symbol_of = {character: symbol for symbol, character in enumerate(self.characters)}
        for i, place in enumerate(places):
            if place not in (BLANK, GAP):
                self.accepted_at[symbol_of[place]] |= 1 << i
        self.final = 1 << len(places)  # where END may stand
        self.first = self.skip(1)

    def skip(self, state: int) -> int:
        """Return the state with the places that are reached by leaving a gap early."""
        while (wider := state | (state & self.optional) << 1) != state:
            state = wider
        return state

    def after(self, state: int, symbol: int) -> int:
        return self.skip((state & self.accepted_at[symbol]) << 1)

    def accepts(self, state: int) -> NDArray[np.bool_]:
        """Return whether each symbol may come next, (E,)."""
        return np.array([state & places != 0 for places in self.accepted_at])


def fill(predictor: Predictor, text: str, config: FillConfig, label: str | None = None) -> Filled:
    """Return the likeliest fillings, likeliest first. They do not depend on other texts."""
    if predictor.head.lengths is not None:
        what = "a model that draws the length before the text cannot fill in missing characters"
        raise SettingError(what, "Train one with [ends] symbol or [ends] halt.")
    first = predictor.vocabulary.id_of(label)
    pattern = Pattern(text, predictor.vocabulary, config.max_gap)
    after, accepts = cache(pattern.after), cache(pattern.accepts)
    symbols = len(pattern.characters)
    beam = min(config.beam, OUTPUTS // symbols)
    h, x = predictor.zeros(1), np.array([first])
    beginnings, states, log_p = [""], [pattern.first], np.zeros(1)  # of one length: B each
    whole: list[tuple[float, str]] = []  # log P of the likeliest whole texts, and these
    log_total = log_dropped = -math.inf  # log P of all whole texts, and of dropped beginnings
    while beginnings:
        log_next = log_p[:, None] + log_p_of_next(predictor, pattern, x, h)  # (B, E)
        for row in np.flatnonzero([state & pattern.final != 0 for state in states]):
            whole.append((float(log_next[row, END]), beginnings[row]))
            log_total = float(np.logaddexp(log_total, log_next[row, END]))
        whole = nlargest(config.count, whole, key=itemgetter(0))
        log_next[~np.stack([accepts(state) for state in states])] = -math.inf
        chosen, dropped = likeliest(log_next.reshape(-1), beam)
        log_dropped = float(np.logaddexp.reduce(np.append(log_dropped, dropped)))
        rows, y = np.divmod(chosen, symbols)
        pairs = list(zip(rows.tolist(), y.tolist(), strict=True))
        beginnings = [beginnings[row] + pattern.characters[symbol] for row, symbol in pairs]
        states = [after(states[row], symbol) for row, symbol in pairs]
        log_p, h, x = log_next[rows, y], [array[rows] for array in h], pattern.read_as[y]
    fillings = [Filling(filling, math.exp(log - log_total)) for log, filling in whole]
    return Filled(text, fillings, math.exp(log_dropped - np.logaddexp(log_total, log_dropped)))


def likeliest(log_p: Array64, count: int) -> tuple[Symbols, Array64]:
    """Return the places of the likeliest with P > 0, in order, and log P of the others."""
    possible = np.flatnonzero(log_p > -math.inf)
    if len(possible) <= count:
        return possible, np.empty(0)
    order = np.argpartition(-log_p[possible], count)
    return np.sort(possible[order[:count]]), log_p[possible[order[count:]]]


def log_p_of_next(predictor: Predictor, pattern: Pattern, x: Symbols, state: StepState) -> Array64:
    """Read x (B,) and return log P of the next symbol, (B, E)."""
    nats = -log_softmax(predictor.step(x, state))  # (B, K)
    add_novelty(predictor, np.broadcast_to(np.arange(nats.shape[1]), nats.shape), nats)
    log_p: Array64 = -nats.take(pattern.read_as, 1)
    return log_p
