"""What counting alone can do: uniform, unigram and n-gram models, the lines a network should beat.

An n-gram is n symbols in a row; a model of order n predicts the last of them, w, from the n - 1
before it, the context h. Near the start of an example h is shorter: it goes back to the END before
the example and no further. Let h' be h without its first symbol. Every n-gram seen keeps a part of
its count and frees a part, for the order below to share out; below the unigrams lies 1 / K:

    P(w | h) = (kept(hw) + freed(h) P(w | h')) / (kept(h) + freed(h))

where kept(h) and freed(h) are sums of kept(hw) and freed(hw) over w, and an n-gram counted c times

    keeps c, frees 1         by Witten-Bell
    keeps c - D, frees D     by modified Kneser-Ney: D is D1, D2 or D3 as c is 1, 2 or more, and
                             Dj = j - (j + 1) Y n[j+1] / n[j]   with   Y = n[1] / (n[1] + 2 n[2])
                             if n[j] n-grams are counted j times

For Witten-Bell c is how often the n-gram occurs. So it is for Kneser-Ney in the highest order; the
orders below are asked when a context is new, so there c is how many different symbols were seen
before the n-gram. Nothing can stand before the END that starts an example: an n-gram with that END
in front keeps its occurrences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, NamedTuple

import numpy as np

from charrnn.counts.ngrams import PIECES, Ids, Layout, is_counted, parts_of, sequence_of
from charrnn.counts.smoothing import WITTEN_BELL, Floats, kneser_ney_by, probability
from charrnn.counts.tallies import tallies
from charrnn.system import give_back

Smoothing = Literal["none", "kneser-ney", "witten-bell"]

HIGHEST = 7  # order


@dataclass(frozen=True)
class Budget:
    """How many symbols of a long text are looked at, so that time and memory have a bound."""

    train: int = 10_000_000  # where a window is one word; sorting takes longer where it is more
    held_out: int = 1 << 17
    pieces: int = PIECES

    def to_learn(self, symbols: int) -> int:
        """How many are counted, of so many different ones: 10, 2.5 or 1.1 million."""
        return self.train // len(Layout(symbols, HIGHEST).sizes) ** 2


BUDGET = Budget()


@dataclass(frozen=True)
class Baseline:
    """How well one model does on the held-out text, END counted."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": so many characters of context
    nats_per_character: float
    smoothing: Smoothing
    train_symbols: int  # that were counted: all, or those of evenly spaced pieces
    held_out_symbols: int  # that were scored, likewise


class Surprisals(NamedTuple):
    """What each symbol of a text costs under the models of one order."""

    order: int
    kneser_ney: Floats  # (S,) nats
    witten_bell: Floats  # (S,) nats


def baselines(
    train: Ids, held_out: Ids, symbols: int, budget: Budget = BUDGET
) -> Iterator[Baseline]:
    """Uniform, unigram and each order in turn, smoothed the way that does better on this text."""
    learned = parts_of(train, symbols, budget.to_learn(symbols), budget.pieces)
    text = sequence_of(held_out, symbols, budget.held_out, budget.pieces)
    sizes = [
        sum(int(np.count_nonzero(is_counted(part, symbols))) for part in parts)
        for parts in (learned, [text])
    ]
    if not sizes[1]:
        return
    yield Baseline("uniform", log(symbols), "none", *sizes)
    for found in _climb(learned, text, symbols, HIGHEST):
        # by its context
        name = "unigram" if found.order == 1 else f"markov-{found.order - 1}"
        choices: list[tuple[float, Smoothing]] = [
            (float(found.kneser_ney.mean()), "kneser-ney"),
            (float(found.witten_bell.mean()), "witten-bell"),
        ]
        yield Baseline(name, *min(choices), *sizes)
    give_back()


def surprisals(
    train: Ids, text: Ids, symbols: int, highest: int = HIGHEST, budget: Budget = BUDGET
) -> Iterator[Surprisals]:
    """What the symbols of a text (or of its pieces) cost under order 1, 2 .. highest."""
    learned = parts_of(train, symbols, budget.to_learn(symbols), budget.pieces)
    scored = sequence_of(text, symbols, budget.held_out, budget.pieces)
    return _climb(learned, scored, symbols, highest)


def _climb(learned: Sequence[Ids], text: Ids, symbols: int, highest: int) -> Iterator[Surprisals]:
    """From the unigrams upwards."""
    size = int(np.count_nonzero(is_counted(text, symbols)))
    varied = plain = np.full(size, 1 / symbols)  # P(w | h'), one way and the other
    for order, one in enumerate(tallies(learned, text, symbols, highest), 1):
        h, hw, occurrences = one.contexts, one.grams, one.occurrences
        highest_rule = kneser_ney_by(occurrences.of_counts.tolist())
        plain = probability(occurrences, WITTEN_BELL, h, hw, plain)
        kneser_ney_p = probability(occurrences, highest_rule, h, hw, varied)
        yield Surprisals(order, -np.log(kneser_ney_p), -np.log(plain))
        below = kneser_ney_by(one.varieties.of_counts.tolist())
        varied = probability(one.varieties, below, h, hw, varied)
