"""The likeliest fillings by branch and bound, over all beginnings of one length side by side.

The probability of the dropped beginnings bounds the fillings that were left out. If that is too
much, the next try keeps more beginnings.

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from charrnn.filling.pattern import Automaton, Pattern, Symbols
from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import normalise
from charrnn.network.rounding import Array64
from charrnn.scoring.predictor import Predictor, State, as_predictor
from charrnn.vocabulary import END, UNKNOWN

LANES: Final = 1 << 14  # at most
OUTPUTS: Final = 1 << 23  # at most, of all lanes at a step
STATES: Final = 1 << 25  # numbers in the states of all lanes, at most


class NextSymbols:
    """log P of the next symbol for many texts at once, with room for unseen characters."""

    def __init__(self, model: LanguageModel | Predictor, workers: int = 1) -> None:
        predictor = as_predictor(model)
        self.vocabulary = predictor.vocabulary
        state = sum(array.size for array in predictor.stepper(1).zeros(1))
        self.lanes = max(64, min(LANES, OUTPUTS // self.vocabulary.symbols, STATES // state))
        self._stepper = predictor.stepper(self.lanes, workers)

    def zeros(self, lanes: int) -> State:
        return self._stepper.zeros(lanes)

    def log_p(self, pattern: Pattern, x: Symbols, state: State, index: int) -> Array64:
        """Read x (B,), the index-th symbol of each text, and return log P of the next, (B, E)."""
        o = self._stepper.step(pattern.read_as[x], state, index)
        logits: Array64 = o - np.maximum.reduce(o, 1)[:, None]
        known: Array64 = logits - np.log(normalise(logits.copy()))[:, None]
        novelty = self.vocabulary.novelty
        known += math.log1p(-novelty)
        if not pattern.unseen:
            return known
        expected = math.log(novelty) if novelty else -math.inf
        unseen = np.logaddexp(known[:, UNKNOWN], expected) - self.vocabulary.unseen_nats
        return np.concatenate([known, np.repeat(unseen[:, None], len(pattern.unseen), 1)], 1)


def log_sum(logs: Array64) -> float:
    """Return the log of the sum of exp; -inf for nothing."""
    most = float(logs.max(initial=-math.inf))
    return most + math.log(float(np.exp(logs - most).sum())) if most > -math.inf else most


WIDTHS: Final = (256, 2048, 16384)  # beginnings kept in each try
ENOUGH: Final = 1e-3  # of the whole may be left out
HOPELESS: Final = 1e9  # ratio of left out to found, squared, above which the first try is the last
NEGLIGIBLE: Final = math.log(1e-10)  # beside the last wanted filling


@dataclass
class Fillings:
    """The fillings, likeliest first, with their log P."""

    texts: list[list[int]] = field(default_factory=list)
    log_p: list[float] = field(default_factory=list)
    log_total: float = -math.inf  # of all fillings found
    log_left_out: float = -math.inf  # of all others, at most
    is_exact: bool = False  # none of the others is likelier, and the total is right

    @property
    def left_out(self) -> float:
        """The share of all fillings that is left out, at most."""
        if self.log_left_out == -math.inf:
            return 0.0
        return 1 / (1 + math.exp(min(700.0, self.log_total - self.log_left_out)))


class Search:
    """One try: the beginnings of each length in turn, at most ``width`` of them."""

    def __init__(self, pattern: Pattern, width: int, floor: float) -> None:
        self.pattern, self.width, self.floor = pattern, width, floor
        self.automaton = Automaton(pattern)
        self.best_left_out = -math.inf  # log P of the likeliest dropped beginning
        self._left_out: list[float] = []
        self._levels: list[tuple[Symbols, Symbols]] = []  # the beginning and the symbol after it
        self._ended: list[tuple[int, Symbols, Array64]] = []  # length, rows, log P

    def run(self, reader: NextSymbols, count: int) -> Fillings:
        """Return the likeliest fillings found."""
        state, x = reader.zeros(1), np.array([END])
        at, log_p = np.array([self.automaton.first]), np.zeros(1)
        length = 0
        while len(x):
            reached = log_p[:, None] + reader.log_p(self.pattern, x, state, length)
            ending = np.flatnonzero(self.automaton.may_end(at))
            self._ended.append((length, ending, reached[ending, END]))
            after = self.automaton.after(at)[:, self.automaton.class_of]  # (B, E)
            reached[after < 0] = -math.inf
            rows, x = self._keep(reached)
            self._levels.append((rows, x))
            state = [h[rows] for h in state]
            at, log_p = after[rows, x], reached[rows, x]
            length += 1
        return self._fillings(count)

    def _keep(self, reached: Array64) -> tuple[Symbols, Symbols]:
        """Return the beginnings to keep, and add up those that are dropped."""
        flat = reached.reshape(-1)
        allowed = np.flatnonzero(flat > -math.inf)
        kept = allowed[flat[allowed] >= self.floor]
        if len(kept) > self.width:
            order = np.argpartition(-flat[kept], self.width)
            kept = np.sort(kept[order[: self.width]])
        if len(kept) < len(allowed):
            dropped = flat[np.setdiff1d(allowed, kept, assume_unique=True)]
            self._left_out.append(log_sum(dropped))
            self.best_left_out = max(self.best_left_out, float(dropped.max()))
        rows, symbols = np.divmod(kept, reached.shape[1])
        return rows, symbols

    def _fillings(self, count: int) -> Fillings:
        every = np.concatenate([log_p for _, _, log_p in self._ended])
        lengths = np.concatenate([np.full(len(rows), n) for n, rows, _ in self._ended])
        places = np.concatenate([rows for _, rows, _ in self._ended])
        best = np.argsort(-every, kind="stable")[:count]
        texts = []
        for length, row in zip(lengths[best].tolist(), places[best].tolist(), strict=True):
            symbols = []
            for rows, added in reversed(self._levels[:length]):
                symbols.append(int(added[row]))
                row = int(rows[row])
            texts.append(symbols[::-1])
        left_out = log_sum(np.array(self._left_out))
        return Fillings(texts, every[best].tolist(), log_sum(every), left_out)


def exact(pattern: Pattern, reader: NextSymbols, count: int) -> Fillings:
    """Return the likeliest fillings; ``is_exact`` tells whether enough of them were searched."""
    floor, before = -math.inf, math.log(HOPELESS)
    for width in WIDTHS:
        search = Search(pattern, min(width, reader.lanes), floor)
        fillings = search.run(reader, count)
        last = fillings.log_p[-1] if len(fillings.log_p) == count else -math.inf
        fillings.is_exact = search.best_left_out == -math.inf or (
            fillings.left_out <= ENOUGH and search.best_left_out <= last
        )
        left_out = fillings.log_left_out - fillings.log_total
        if fillings.is_exact or left_out + (left_out - before) > math.log(ENOUGH):
            break  # the next try would probably not be exact either
        floor, before = last + NEGLIGIBLE, left_out
    return fillings
