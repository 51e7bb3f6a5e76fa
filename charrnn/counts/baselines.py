"""Baselines by counting: uniform, unigram and n-gram models, which a network should beat.

A model of order n predicts a symbol from the n - 1 before it, or from those since the last END.
The smoothing is that of ``smoothing``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, NamedTuple

import numpy as np

from charrnn.counts.ngrams import PIECES, Ids, Layout, is_counted, parts_of, sequence_of
from charrnn.counts.smoothing import WITTEN_BELL, Floats, kneser_ney_by
from charrnn.counts.tallies import probability, tallies
from charrnn.system import give_back

Smoothing = Literal["none", "kneser-ney", "witten-bell"]

HIGHEST = 7  # order


@dataclass(frozen=True)
class Budget:
    """Bounds on the symbols of a long text that are read, and so on time and memory."""

    train: int = 10_000_000  # if a window is one word; sorting takes longer if it is more
    held_out: int = 1 << 17
    pieces: int = PIECES

    def to_count(self, symbols: int) -> int:
        return self.train // len(Layout(symbols, HIGHEST).sizes) ** 2


BUDGET = Budget()


@dataclass(frozen=True)
class Baseline:
    """The loss of one model on the held-out text, END included."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": characters of context
    nats_per_character: float
    smoothing: Smoothing
    train_symbols: int  # counted: all, or those of evenly spaced pieces
    held_out_symbols: int  # scored, likewise


class Surprisals(NamedTuple):
    """The surprisal of each symbol of a text under the models of one order."""

    order: int
    kneser_ney: Floats  # (S,) nats
    witten_bell: Floats  # (S,) nats


def baselines(
    train: Ids, held_out: Ids, symbols: int, budget: Budget = BUDGET
) -> Iterator[Baseline]:
    """Yield uniform, unigram and each order in turn, with the smoothing that does better here."""
    learned, text = _budgeted(train, held_out, symbols, budget)
    sizes = [
        sum(int(np.count_nonzero(is_counted(part, symbols))) for part in parts)
        for parts in (learned, [text])
    ]
    if not sizes[1]:
        return
    yield Baseline("uniform", log(symbols), "none", *sizes)
    for each in _orders(learned, text, symbols, HIGHEST):
        name = "unigram" if each.order == 1 else f"markov-{each.order - 1}"
        choices: list[tuple[float, Smoothing]] = [
            (float(each.kneser_ney.mean()), "kneser-ney"),
            (float(each.witten_bell.mean()), "witten-bell"),
        ]
        yield Baseline(name, *min(choices), *sizes)
    give_back()


def surprisals(
    train: Ids, text: Ids, symbols: int, highest: int = HIGHEST, budget: Budget = BUDGET
) -> Iterator[Surprisals]:
    """Yield the surprisals of a text, or of pieces of it, under order 1, 2 .. highest."""
    return _orders(*_budgeted(train, text, symbols, budget), symbols, highest)


def _budgeted(train: Ids, text: Ids, symbols: int, budget: Budget) -> tuple[list[Ids], Ids]:
    """Return the symbols to count, in parts, and the symbols to score."""
    learned = parts_of(train, symbols, budget.to_count(symbols), budget.pieces)
    return learned, sequence_of(text, symbols, budget.held_out, budget.pieces)


def _orders(learned: Sequence[Ids], text: Ids, symbols: int, highest: int) -> Iterator[Surprisals]:
    size = int(np.count_nonzero(is_counted(text, symbols)))
    below = plain = np.full(size, 1 / symbols)  # P(w | h') by either smoothing
    for order, tally in enumerate(tallies(learned, text, symbols, highest), 1):
        h, hw = tally.contexts, tally.grams
        plain = probability(tally.occurrences, WITTEN_BELL, h, hw, plain)
        rule = kneser_ney_by(tally.occurrences.of_counts.tolist())
        kneser_ney = probability(tally.occurrences, rule, h, hw, below)
        yield Surprisals(order, -np.log(kneser_ney), -np.log(plain))
        rule = kneser_ney_by(tally.varieties.of_counts.tolist())
        below = probability(tally.varieties, rule, h, hw, below)
