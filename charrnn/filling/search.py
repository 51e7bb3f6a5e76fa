"""The likeliest fillings by branch and bound: all beginnings of a length side by side.

No text is likelier than its beginning, and all texts that begin alike are together as likely as
that: so what is left out is known, and how much of the whole it could be. Where that is too much,
more beginnings are kept.

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings

What a model says of each symbol that may come next: log P, for many texts at once."""

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
    """A stepper, and the room that a model leaves for characters never seen."""

    def __init__(self, model: LanguageModel | Predictor, workers: int = 1) -> None:
        predictor = as_predictor(model)
        self.vocabulary = predictor.vocabulary
        state = sum(array.size for array in predictor.stepper(1).zeros(1))
        self.lanes = max(64, min(LANES, OUTPUTS // self.vocabulary.symbols, STATES // state))
        self._stepper = predictor.stepper(self.lanes, workers)

    def zeros(self, lanes: int) -> State:
        """The states before anything is read."""
        return self._stepper.zeros(lanes)

    def log_p(self, pattern: Pattern, x: Symbols, state: State, index: int) -> Array64:
        """Read x (B,), the index-th symbol of each text; log P of what comes next, (B, E).

        It is that of charrnn's scores: of all texts there are, whatever they are made of.
        """
        o = self._stepper.step(pattern.read_as[x], state, index)
        logits: Array64 = o - np.maximum.reduce(o, 1)[:, None]
        known: Array64 = logits - np.log(normalise(logits.copy()))[:, None]
        novelty = self.vocabulary.novelty
        known += math.log1p(-novelty)
        if not pattern.unseen:
            return known
        expected = math.log(novelty) if novelty else -math.inf
        one = np.logaddexp(known[:, UNKNOWN], expected) - self.vocabulary.unseen_nats
        return np.concatenate([known, np.repeat(one[:, None], len(pattern.unseen), 1)], 1)


def log_sum(logs: Array64) -> float:
    """log of the sum of exp; -inf of nothing."""
    most = float(logs.max(initial=-math.inf))
    return most + math.log(float(np.exp(logs - most).sum())) if most > -math.inf else most


WIDTHS: Final = (256, 2048, 16384)  # beginnings that are kept, in one try after the other
ENOUGH: Final = 1e-3  # of the whole may be left out
HOPELESS: Final = 1e9  # times the whole that may be left out by the first try, squared
NEGLIGIBLE: Final = math.log(1e-10)  # beside the last filling that is asked for


@dataclass
class Fillings:
    """Whole texts with their log P, likeliest first."""

    texts: list[list[int]] = field(default_factory=list)
    log_p: list[float] = field(default_factory=list)
    log_total: float = -math.inf  # of all texts that were found
    log_left_out: float = -math.inf  # of all that were not, at most
    is_exact: bool = False  # whether none is missing that is likelier, and the total is right

    @property
    def left_out(self) -> float:
        """The share of the whole that is left out, at most."""
        if self.log_left_out == -math.inf:
            return 0.0
        return 1 / (1 + math.exp(min(700.0, self.log_total - self.log_left_out)))


class Search:
    """One passage over the lengths, with so many beginnings kept of each."""

    def __init__(self, pattern: Pattern, width: int, floor: float) -> None:
        self.pattern, self.width, self.floor = pattern, width, floor
        self.automaton = Automaton(pattern)
        self.best_left_out = -math.inf  # log P of the likeliest beginning that was dropped
        self._left_out: list[float] = []
        self._levels: list[tuple[Symbols, Symbols]] = []  # from which beginning, by which symbol
        self._ended: list[tuple[int, Symbols, Array64]] = []  # length, which of them, log P

    def run(self, reader: NextSymbols, count: int) -> Fillings:
        """The likeliest of the texts that were found."""
        state, x = reader.zeros(1), np.array([END])
        at, log_p = np.array([self.automaton.first]), np.zeros(1)
        length = 0
        while len(x):
            reached = log_p[:, None] + reader.log_p(self.pattern, x, state, length)
            ending = np.flatnonzero(self.automaton.may_end(at))
            self._ended.append((length, ending, reached[ending, END]))
            after = self.automaton.after(at)[:, self.automaton.class_of]  # (B, E)
            reached[after < 0] = -math.inf
            rows, x = self._kept(reached)
            self._levels.append((rows, x))
            state = [h[rows] for h in state]
            at, log_p = after[rows, x], reached[rows, x]
            length += 1
        return self._fillings(count)

    def _kept(self, reached: Array64) -> tuple[Symbols, Symbols]:
        """Those to go on with; the others are left out, and counted."""
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
        return Fillings(
            [self._text(int(lengths[i]), int(places[i])) for i in best],
            every[best].tolist(),
            log_sum(every),
            log_sum(np.array(self._left_out)),
        )

    def _text(self, length: int, row: int) -> list[int]:
        symbols = []
        for rows, added in reversed(self._levels[:length]):
            symbols.append(int(added[row]))
            row = int(rows[row])
        return symbols[::-1]


def exact(pattern: Pattern, reader: NextSymbols, count: int) -> Fillings:
    """The likeliest fillings, with next to nothing left out, unless that would be too much work."""
    floor, before = -math.inf, math.log(HOPELESS)
    for width in WIDTHS:
        search = Search(pattern, min(width, reader.lanes), floor)
        found = search.run(reader, count)
        last = found.log_p[-1] if len(found.log_p) == count else -math.inf
        found.is_exact = search.best_left_out == -math.inf or (
            found.left_out <= ENOUGH and search.best_left_out <= last
        )
        left_out = found.log_left_out - found.log_total
        if found.is_exact or left_out + (left_out - before) > math.log(ENOUGH):
            break  # the next try, it seems, will not do either
        floor, before = last + NEGLIGIBLE, left_out
    return found
