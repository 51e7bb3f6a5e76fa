"""Filling in the missing characters of a text: exactly if possible, else with particles.

    P(filling | text)  =  P(whole text, its END)  /  sum of that over all fillings

Exactly: branch and bound over all beginnings of one length side by side. The probability of the
dropped beginnings bounds the fillings that were left out; if it is too much, more are kept.

Particles (sequential Monte Carlo) are texts that grow. Each draws a length and characters from the
model; at a literal, it is weighted by the probability of the literal. When few particles have most
of the weight, all are resampled. The product of the mean weights is an unbiased estimate of the sum
of P over all fillings. The total is that, or the sum over the known fillings if that is larger. So
on average the total is too large, and the probabilities are too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from charrnn.errors import SettingError
from charrnn.filling.pattern import Automaton, Pattern, Run, Symbols
from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import normalise
from charrnn.network.rounding import Array64
from charrnn.sampling import draws
from charrnn.sampling.sampler import random_seed
from charrnn.scoring.predictor import Predictor, State, as_predictor
from charrnn.settings.sampling import FillConfig as FillConfig
from charrnn.vocabulary import END, UNKNOWN

LANES: Final = 1 << 14  # at most
OUTPUTS: Final = 1 << 23  # at most, of all lanes at a step
STATES: Final = 1 << 25  # numbers in the states of all lanes, at most


class NextSymbols:
    """log P of the next symbol for many texts at once, with room for unseen characters."""

    def __init__(self, model: LanguageModel | Predictor, threads: int = 1) -> None:
        predictor = as_predictor(model)
        self.vocabulary = predictor.vocabulary
        state = sum(array.size for array in predictor.stepper(1).zeros(1))
        self.lanes = max(64, min(LANES, OUTPUTS // self.vocabulary.symbols, STATES // state))
        self._stepper = predictor.stepper(self.lanes, threads)

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
    """Return the likeliest fillings; ``is_exact`` is whether enough of them were searched."""
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


class Particles:
    """A batch of particles; those with the same text so far share a lane."""

    def __init__(self, pattern: Pattern, reader: NextSymbols, count: int, seed: int) -> None:
        self.pattern = pattern
        most = sum(piece.most if isinstance(piece, Run) else 1 for piece in pattern.pieces)
        self.symbols = np.zeros((count, most + 1), np.int32)  # without the END before the text
        self.lengths = np.zeros(count, np.intp)
        self.log_p = np.zeros(count)  # of the text so far
        self.log_weights = np.zeros(count)
        self.log_mean = 0.0  # of the mean weights of earlier rounds
        self._lanes = Lanes(pattern, reader)
        self._lane = np.zeros(count, np.intp)  # of each particle
        self._keys = draws.keys(seed, range(count + 1))  # the last is shared
        self._draws = 0

    def run(self) -> None:
        """Go through the whole pattern and END."""
        for piece in (*self.pattern.pieces, END):
            if isinstance(piece, Run):
                self._draw(piece)
            else:
                self._read(piece)
            if piece != END:
                self._resample()

    def _draw(self, run: Run) -> None:
        """Draw a length for each particle, and its characters."""
        choices = run.most - run.least + 1
        lengths = run.least + (self._chances()[:-1] * choices).astype(np.intp)
        self.log_weights += math.log(choices)
        known = slice(UNKNOWN + 1, self.pattern.vocabulary.symbols)
        for drawn in range(run.most):
            rows = np.flatnonzero(lengths > drawn)
            log_p = self._next(rows)
            most = log_p[:, known].max(1)
            sums = np.add.accumulate(np.exp(log_p[:, known] - most[:, None]), 1)
            self.log_weights[rows] += np.log(sums[:, -1]) + most
            above = sums > (self._chances()[rows] * sums[:, -1])[:, None]
            self._grow(rows, above.argmax(1) + known.start, log_p)

    def _read(self, symbol: int) -> None:
        """Append this symbol to each particle, and weight it."""
        rows = np.arange(len(self.lengths))
        log_p = self._next(rows)
        self.log_weights += log_p[:, symbol]
        self._grow(rows, np.full(len(rows), symbol), log_p)

    def _next(self, rows: Symbols) -> Array64:
        """Return log P of the next symbol of these particles, (n, E); they have to grow then."""
        lanes, which = np.unique(self._lane[rows], return_inverse=True)
        return self._lanes.read(lanes)[which]

    def _grow(self, rows: Symbols, chosen: Symbols, log_p: Array64) -> None:
        self.log_p[rows] += log_p[np.arange(len(rows)), chosen]
        self.symbols[rows, self.lengths[rows]] = chosen
        self.lengths[rows] += 1
        self._lane = self._lanes.split(self._lane, rows, chosen)

    def _resample(self) -> None:
        """Resample particles by their weight if the effective number is small."""
        count = len(self.lengths)
        weights = np.exp(self.log_weights - self.log_weights.max())
        if weights.sum() ** 2 >= 0.5 * count * (weights * weights).sum():
            return
        self.log_mean += log_sum(self.log_weights) - math.log(count)
        self.log_weights[:] = 0
        sums = np.add.accumulate(weights)
        places = (np.arange(count) + self._chances()[-1]) / count * sums[-1]
        chosen = np.minimum(np.searchsorted(sums, places, "right"), count - 1)
        self.symbols, self.lengths = self.symbols[chosen], self.lengths[chosen]
        self.log_p, self._lane = self.log_p[chosen], self._lane[chosen]

    def _chances(self) -> Array64:
        """Return a random number for each particle, and a shared one."""
        self._draws += 1
        chances: Array64 = draws.uniform(self._keys, self._draws, 1)[0]
        return chances


class Lanes:
    """The states of distinct texts, and the symbol that each reads next."""

    def __init__(self, pattern: Pattern, reader: NextSymbols) -> None:
        self._pattern, self._reader = pattern, reader
        self._state = reader.zeros(1)
        self._after = self._state  # after that symbol
        self._x, self._index = np.array([END]), np.zeros(1, np.intp)

    def read(self, lanes: Symbols) -> Array64:
        """Read the symbols of these lanes, and return log P of the next, (n, E)."""
        log_p = np.empty((len(lanes), self._pattern.symbols))
        self._after = [h.copy() for h in self._state]  # since not all that share a lane grow
        for index in np.unique(self._index[lanes]).tolist():
            alike = np.flatnonzero(self._index[lanes] == index)
            for at in range(0, len(alike), self._reader.lanes):
                some = alike[at : at + self._reader.lanes]
                state = [h[lanes[some]] for h in self._state]
                x = self._x[lanes[some]]
                log_p[some] = self._reader.log_p(self._pattern, x, state, index)
                for h, moved in zip(self._after, state, strict=True):
                    h[lanes[some]] = moved
        return log_p

    def split(self, lane: Symbols, rows: Symbols, chosen: Symbols) -> Symbols:
        """Append the chosen symbols in these rows, and return the new lane of every row."""
        x, index = self._x[lane], self._index[lane]
        x[rows] = chosen
        index[rows] += 1
        labels = (lane * self._pattern.symbols + x) * 2
        labels[rows] += 1
        _, first, which = np.unique(labels, return_index=True, return_inverse=True)
        has_grown = (labels[first] % 2 == 1)[:, None]
        self._state = [
            np.where(has_grown, after[lane[first]], before[lane[first]])
            for before, after in zip(self._state, self._after, strict=True)
        ]
        self._x, self._index = x[first], index[first]
        return which.astype(np.intp)


def by_particles(
    pattern: Pattern, reader: NextSymbols, known: Fillings, count: int, particles: int, seed: int
) -> Fillings:
    """Return the likeliest fillings, known or found by particles; the total is an estimate."""
    swarm = Particles(pattern, reader, particles, seed)
    swarm.run()
    found: dict[tuple[int, ...], float] = {}
    ways: dict[tuple[int, ...], int] = {}
    weights = np.empty(particles)
    for number in range(particles):
        text = tuple(swarm.symbols[number, : swarm.lengths[number] - 1].tolist())
        if text not in found:
            found[text] = float(swarm.log_p[number])
            ways[text] = pattern.ways(list(text))
        # The runs may match a text in several ways, and so draw it more often.
        weights[number] = swarm.log_weights[number] - math.log(ways[text])
    estimate = swarm.log_mean + log_sum(weights) - math.log(particles)
    at_least = log_sum(np.array(list(found.values())))
    found |= {tuple(text): log_p for text, log_p in zip(known.texts, known.log_p, strict=True)}
    best = sorted(found, key=lambda text: -found[text])[:count]
    total = max(estimate, at_least, known.log_total)
    return Fillings(list(map(list, best)), [found[text] for text in best], total)


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
    method: Literal["exact", "particles"]
    left_out: float | None  # share of the fillings not considered, at most; None if unknown


class Filler:
    """A model that fills in missing characters, one text after the other."""

    def __init__(
        self, model: LanguageModel | Predictor, config: FillConfig | None = None, threads: int = 1
    ) -> None:
        self.config = config or FillConfig()
        network = as_predictor(model).single_network
        if network is not None and network.architecture.head.lengths is not None:
            what = "a model that draws the length before the text cannot fill in missing characters"
            raise SettingError(what, "Train one with [ends] symbol or [ends] halt.")
        self._vocabulary = model.vocabulary
        self._reader = NextSymbols(model, threads)
        self._seed = random_seed() if self.config.seed is None else self.config.seed

    def fill(self, text: str) -> Filled:
        """Return the likeliest fillings, likeliest first. They do not depend on other texts."""
        c = self.config
        pattern = Pattern(text, self._vocabulary, c)
        found = exact(pattern, self._reader, c.count)
        is_exact, left_out = found.is_exact, found.left_out
        if not is_exact:
            found = by_particles(pattern, self._reader, found, c.count, c.particles, self._seed)
        fillings = [
            Filling(pattern.text_of(symbols), math.exp(log_p - found.log_total))
            for symbols, log_p in zip(found.texts, found.log_p, strict=True)
        ]
        if is_exact:
            return Filled(text, fillings, "exact", left_out)
        return Filled(text, fillings, "particles", None)
