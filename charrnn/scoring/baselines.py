"""Baselines for a loss: models that only count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus
from charrnn.counts import Baseline, baselines, places
from charrnn.scoring.pieces import Floats, ScoredBlock
from charrnn.scoring.score import Difference, difference_of
from charrnn.vocabulary import Ids


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
    for baseline in baselines(corpus.train.ids, ids, corpus.vocabulary):
        yield baseline, differences(baseline, ids, {"": nats}).get("")


def differences(baseline: Baseline, ids: Ids, costs: Mapping[str, Floats]) -> dict[str, Difference]:
    """Return how the losses of some predictors of a text differ from a baseline's."""
    if baseline.nats is None:  # a compressor
        return {}
    at, nats = places(ids), baseline.nats
    return {name: difference_of(ids[at], cost[at], nats) for name, cost in costs.items()}
