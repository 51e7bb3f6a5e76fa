"""How surprised networks and counts are by a text, each by themselves and together.

    "network"   the network; of several, the mean of what they say
    "counts"    what followed what, in the text that was learned from
    "both"      the mixture

All that each says of the next symbol is needed to mix it, so a text is read in blocks as large as
memory should hold; a text has one score all the same, for readers go on where they stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from charrnn.counts.model import CountsReader, GrowingCounts
from charrnn.network.readout import add_novelty, nats_of
from charrnn.scoring.dynamic import DynamicScorer
from charrnn.scoring.pieces import Floats, Ranks
from charrnn.scoring.predictor import Predictor, Use, mean_of, with_counts
from charrnn.scoring.scorer import Scorer
from charrnn.vocabulary import UNKNOWN, Ids

NUMBERS: Final = 1 << 22  # of logits in a block, for each of those that read
MOST: Final = 1 << 16  # symbols in a block
FEWEST: Final = 1 << 11
CACHED: Final = 1 << 16  # numbers of logits that are mixed at a time


class MixedScorer:
    """Several that read on and on, and say what each symbol cost them."""

    def __init__(
        self,
        predictor: Predictor,
        workers: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
        rate: float | None = None,
    ) -> None:
        """With a rate, the networks keep learning while they read, and the counts grow."""
        self.predictor = predictor
        self.vocabulary = predictor.vocabulary
        self.ranking = ranking
        counts = predictor.counts
        self._readers: list[Scorer | DynamicScorer]
        self._counts: CountsReader | GrowingCounts | None = None
        self._is_dynamic = rate is not None
        self.wants_whole = False  # what draws the length first cannot be mixed
        if rate is None:
            self._readers = [
                Scorer(one, workers, fast=fast, keeping=True) for one in predictor.networks
            ]
            self._counts = None if counts is None else CountsReader(counts)
        else:
            self._readers = [DynamicScorer(one, rate, keeping=True) for one in predictor.networks]
            self._counts = None if counts is None else GrowingCounts(counts)
        self._at_once = max(FEWEST, min(MOST, NUMBERS // self.vocabulary.symbols))
        self.parts: dict[str, Floats] = {}  # what the symbols that were read last cost each
        self.alone: Floats = np.zeros(0)  # what they cost each network by itself, in the mean
        self.names = parts_of(predictor) or ("network",)
        self.begin()

    def begin(self) -> None:
        """Forget what was read: the next symbol is the first of a text."""
        for reader in self._readers:
            reader.begin()
        if self._counts is not None:
            self._counts.begin()

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        """The surprisal of every symbol, given all that was read since the beginning; its rank."""
        found = [self._read(ids[at : at + self._at_once]) for at in self._blocks(ids)]
        self.parts = {
            name: np.concatenate([np.zeros(0), *(parts[name] for parts, _, _ in found)])
            for name in self.names
        }
        self.alone = np.concatenate([np.zeros(0), *(alone for _, alone, _ in found)])
        ranks = None
        if self.ranking:
            ranks = np.concatenate([np.zeros(0, np.int32), *(each for _, _, each in found)])
        return self.parts[self.predictor.use].copy(), ranks

    def _blocks(self, ids: Ids) -> range:
        return range(0, len(ids), self._at_once)

    def _read(self, ids: Ids) -> tuple[dict[Use, Floats], Floats, Ranks]:
        """What these symbols cost each part, and a network in the mean; their ranks for those that
        are asked.
        """
        costs = [reader.read(ids)[0] for reader in self._readers]
        logits = [reader.logits for reader in self._readers if reader.logits is not None]
        parts: dict[Use, Floats] = {name: np.empty(len(ids)) for name in self.names}
        ranks = np.zeros(len(ids), np.int32)
        step = max(1, CACHED // self.vocabulary.symbols)
        for at in range(0, len(ids), step):
            rows = slice(at, at + step)
            y = ids[rows].astype(np.intp)
            for name, o in self._said([some[rows] for some in logits], ids[rows]):
                is_asked = self.ranking and name == self.predictor.use
                parts[name][rows], found = nats_of(o, y, UNKNOWN, is_asked)
                if found is not None:
                    ranks[rows] = found
        for name, nats in parts.items():
            if name == "network" and not self._is_network_new:
                nats[...] = costs[0]  # whoever read it has made room for what is new
                continue
            is_asked = name == self.predictor.use
            add_novelty(self.predictor.networks[0], ids, nats, ranks if is_asked else None)
        return parts, np.add.reduce(costs) / len(costs), ranks

    @property
    def _is_network_new(self) -> bool:
        """Whether what the network says has to be found out here, and not by who reads for it."""
        is_ranked = self.ranking and self.predictor.use == "network"
        return len(self._readers) > 1 or is_ranked or self._is_dynamic

    def _said(self, logits: list[Floats], ids: Ids) -> Iterator[tuple[Use, Floats]]:
        """What each part says of these symbols, in logits that may be changed."""
        o = mean_of(logits)
        if self._is_network_new:
            yield "network", o.copy()
        if self._counts is not None:
            log_p = np.log(self._counts.read(ids))
            yield "counts", log_p.copy()
            yield "both", with_counts(o, log_p)


def parts_of(predictor: Predictor) -> tuple[Use, ...]:
    """The names of what its scores consist of, where there is more than the network."""
    return () if predictor.counts is None else ("network", "counts", "both")


def scorer_of(
    predictor: Predictor,
    workers: int = 1,
    *,
    ranking: bool = False,
    fast: bool = False,
    rate: float | None = None,
) -> Scorer | DynamicScorer | MixedScorer:
    """Who reads for this predictor: one network alone is read without mixing anything. With a rate,
    it learns from what it reads.
    """
    if len(predictor.networks) > 1 or predictor.counts is not None:
        return MixedScorer(predictor, workers, ranking=ranking, fast=fast, rate=rate)
    if rate is not None:
        return DynamicScorer(predictor.networks[0], rate, ranking)
    return Scorer(predictor.networks[0], workers, ranking=ranking, fast=fast)
