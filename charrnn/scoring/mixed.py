"""The surprisal of each symbol under several networks and counts, apart and mixed.

Mixing needs the logits of every symbol, so a text is read in blocks that fit into memory. Scorers
continue where they stopped, so the blocks do not change the score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from charrnn.counts.model import CountsReader, GrowingCounts
from charrnn.network.readout import add_novelty, nats_of
from charrnn.scoring.dynamic import DynamicScorer
from charrnn.scoring.pieces import Floats, Ranks
from charrnn.scoring.predictor import Predictor, Use, mean_logits, mix_with_counts
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import UNKNOWN, Ids

NUMBERS: Final = 1 << 22  # of logits in a block, for each scorer
MOST: Final = 1 << 16  # symbols in a block
FEWEST: Final = 1 << 11
CACHED: Final = 1 << 16  # numbers of logits mixed at a time


class MixedScorer:
    """A scorer of several networks, or of networks and counts."""

    def __init__(
        self,
        predictor: Predictor,
        workers: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
        rate: float | None = None,
    ) -> None:
        """With a rate, the networks learn and the counts grow while they read."""
        self.predictor = predictor
        self.vocabulary = predictor.vocabulary
        self.ranking = ranking
        self.needs_whole_examples = False  # networks that draw the length first cannot be mixed
        counts = predictor.counts
        self._scorers: list[NetworkScorer | DynamicScorer]
        self._counts: CountsReader | GrowingCounts | None = None
        if rate is None:
            self._scorers = [
                NetworkScorer(network, workers, fast=fast, keep_logits=True)
                for network in predictor.networks
            ]
            self._counts = None if counts is None else CountsReader(counts)
        else:
            self._scorers = [
                DynamicScorer(network, rate, keep_logits=True) for network in predictor.networks
            ]
            self._counts = None if counts is None else GrowingCounts(counts)
        is_ranked = ranking and predictor.use == "network"
        # A scorer returns the nats of its network; those of a mean, or ranks, are computed here.
        self._computes_network = len(self._scorers) > 1 or is_ranked or rate is not None
        self._at_once = max(FEWEST, min(MOST, NUMBERS // self.vocabulary.symbols))
        self.parts: dict[str, Floats] = {}  # nats of the last block under each part
        self.mean_alone: Floats = np.zeros(0)  # its mean nats under each network alone
        self.names = part_names(predictor) or ("network",)
        self.begin()

    def begin(self) -> None:
        for scorer in self._scorers:
            scorer.begin()
        if self._counts is not None:
            self._counts.begin()

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        starts = range(0, len(ids), self._at_once)
        blocks = [self._read(ids[at : at + self._at_once]) for at in starts]
        self.parts = {
            name: np.concatenate([np.zeros(0), *(parts[name] for parts, _, _ in blocks)])
            for name in self.names
        }
        self.mean_alone = np.concatenate([np.zeros(0), *(alone for _, alone, _ in blocks)])
        ranks = None
        if self.ranking:
            ranks = np.concatenate([np.zeros(0, np.int32), *(each for _, _, each in blocks)])
        return self.parts[self.predictor.use].copy(), ranks

    def _read(self, ids: Ids) -> tuple[dict[Use, Floats], Floats, Ranks]:
        """Return the nats of each part, the mean nats of a network alone, and the ranks."""
        alone = [scorer.read(ids)[0] for scorer in self._scorers]
        logits = [scorer.logits for scorer in self._scorers if scorer.logits is not None]
        parts: dict[Use, Floats] = {name: np.empty(len(ids)) for name in self.names}
        ranks = np.zeros(len(ids), np.int32)
        step = max(1, CACHED // self.vocabulary.symbols)
        for at in range(0, len(ids), step):
            rows = slice(at, at + step)
            y = ids[rows].astype(np.intp)
            for name, o in self._logits([each[rows] for each in logits], ids[rows]):
                is_ranked = self.ranking and name == self.predictor.use
                parts[name][rows], some_ranks = nats_of(o, y, UNKNOWN, is_ranked)
                if some_ranks is not None:
                    ranks[rows] = some_ranks
        for name, nats in parts.items():
            if name == "network" and not self._computes_network:
                nats[...] = alone[0]  # its scorer has already made room for unseen characters
                continue
            is_used = name == self.predictor.use
            add_novelty(self.predictor.networks[0], ids, nats, ranks if is_used else None)
        return parts, np.add.reduce(alone) / len(alone), ranks

    def _logits(self, logits: list[Floats], ids: Ids) -> Iterator[tuple[Use, Floats]]:
        """Yield the logits of each part at these symbols, in arrays that may be changed."""
        o = mean_logits(logits)
        if self._computes_network:
            yield "network", o.copy()
        if self._counts is not None:
            log_p = np.log(self._counts.read(ids))
            yield "counts", log_p.copy()
            yield "both", mix_with_counts(o, log_p)


def part_names(predictor: Predictor) -> tuple[Use, ...]:
    """Return the names of the parts of its scores; () if the network is the only one."""
    return () if predictor.counts is None else ("network", "counts", "both")


def scorer_of(
    predictor: Predictor,
    workers: int = 1,
    *,
    ranking: bool = False,
    fast: bool = False,
    rate: float | None = None,
) -> NetworkScorer | DynamicScorer | MixedScorer:
    """Return the simplest scorer for this predictor; with a rate, one that learns."""
    if len(predictor.networks) > 1 or predictor.counts is not None:
        return MixedScorer(predictor, workers, ranking=ranking, fast=fast, rate=rate)
    if rate is not None:
        return DynamicScorer(predictor.networks[0], rate, ranking)
    return NetworkScorer(predictor.networks[0], workers, ranking=ranking, fast=fast)
