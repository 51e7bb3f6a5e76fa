"""Baselines for a loss: models that only count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus
from charrnn.counts.markov import BUDGET, Baseline, baselines
from charrnn.counts.ngrams import pieces_of
from charrnn.scoring.pieces import Floats, ScoredBlock
from charrnn.scoring.score import Difference, difference_of
from charrnn.vocabulary import UNKNOWN, Ids


class TextCollector:
    """The ids and nats of a text that streams by."""

    def __init__(self) -> None:
        self.ids: list[Ids] = [np.zeros(0, np.uint8)]
        self.nats: list[NDArray[np.float32]] = []

    def add(self, block: ScoredBlock) -> None:
        self.ids.append(block.ids)
        self.nats.append(block.nats.astype(np.float32))


def comparisons(
    corpus: Corpus, text: TextCollector
) -> Iterator[tuple[Baseline, Difference | None]]:
    """Yield uniform, unigram and markov-1 to markov-6 on this text, one by one.

    Each comes with the difference of the model's loss, if the cost of each symbol is known.
    """
    ids = np.concatenate(text.ids)
    if not len(ids):
        return
    nats = np.concatenate(text.nats).astype(np.float64)
    for baseline in counting_baselines(corpus, ids):
        yield baseline, differences(baseline, ids, {"": nats}).get("")


def counting_baselines(corpus: Corpus, ids: Ids) -> Iterator[Baseline]:
    """Yield uniform, unigram and Markov models of the training text, scored on these ids."""
    unknown = int(np.count_nonzero(ids == UNKNOWN))
    unseen = corpus.vocabulary.unseen_nats
    naming = unknown * unseen / max(1, len(ids))
    naming_each = np.where(ids[places(ids)] == UNKNOWN, unseen, 0.0)
    for baseline in baselines(corpus.train.ids, ids, corpus.vocabulary.symbols, BUDGET):
        nats = baseline.nats_per_character + naming
        costs = None if baseline.nats is None else baseline.nats + naming_each
        yield replace(baseline, nats_per_character=nats, nats=costs)


def places(ids: Ids) -> NDArray[np.int64]:
    """Return the places of the symbols that baselines score: all, or pieces of a long text."""
    parts = [np.arange(*part) for part in pieces_of(ids, BUDGET.held_out, BUDGET.pieces)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def differences(baseline: Baseline, ids: Ids, costs: Mapping[str, Floats]) -> dict[str, Difference]:
    """Return how the losses of some predictors of a text differ from a baseline's."""
    if baseline.nats is None:  # a compressor
        return {}
    at, nats = places(ids), baseline.nats
    return {name: difference_of(ids[at], cost[at], nats) for name, cost in costs.items()}
