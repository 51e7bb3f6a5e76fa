"""The distribution of the next symbol, by networks, by counts, or by both; and its surprisals.

several networks   P = the mean of their P, of all texts: each keeps its own novelty
with counts        P ~ sqrt(P of the networks * P of the counts)     up to 500 symbols
                   P = the mean of both                              above, where roots are slow

Mixing needs the logits of every symbol, so a text is read in blocks that fit into memory. Scorers
continue where they stopped, so the blocks do not change the score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.counts import Ngrams
from charrnn.errors import ModelFileError, SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import add_novelty, nats_of
from charrnn.network.rounding import Array64, Integers
from charrnn.network.stepper import NONE, InputCounts, Stepper
from charrnn.scoring.pieces import Floats, Ranks
from charrnn.scoring.scorer import NetworkScorer
from charrnn.vocabulary import END, Ids, Vocabulary

Use = Literal["network", "counts", "both"]
State = list[NDArray[Any]]  # arrays whose first axis is the lane

MOST_ROOTS: Final = 500  # symbols
SMALLEST: Final = 1e-300  # added to a mean of probabilities, so that its logarithm is finite
MIXABLE_HEADS: Final = ("symbol", "halt")  # their logits are a distribution that includes END
OTHER_VOCABULARY = "Use models with the same vocabulary, such as models trained on the same texts."
NUMBERS: Final = 1 << 22  # of logits in a block, for each scorer
MOST: Final = 1 << 16  # symbols in a block
FEWEST: Final = 1 << 11
CACHED: Final = 1 << 16  # numbers of logits mixed at a time


def check_mixable(head_name: str) -> None:
    """Raise SettingError if a network with this head does not predict END beside characters."""
    if head_name not in MIXABLE_HEADS:
        raise SettingError(
            f"ends {head_name} cannot be mixed with counts or other networks",
            f"Use [ends] {' or '.join(MIXABLE_HEADS)}.",
            "ends",
        )


def mean_logits(logits: Sequence[Array64], weights: Sequence[float] = ()) -> Array64:
    """Return the logits of the mean of the distributions with these logits, (B, K) each.

    Without weights, whose mean is 1, all count the same.
    """
    if len(logits) == 1:
        return logits[0]
    total = np.zeros_like(logits[0])
    for o, weight in zip(logits, weights or (1.0,) * len(logits), strict=True):
        total += softmax(o) if weight == 1 else weight * softmax(o)
    total *= 1 / len(logits)
    total += SMALLEST
    return np.log(total, total)


def mix_with_counts(o: Array64, log_p: Array64) -> Array64:
    """Return the logits of the mixture of the networks' logits and the counts' log P, (B, K)."""
    if o.shape[1] <= MOST_ROOTS:
        mixed: Array64 = o + log_p
        mixed *= 0.5
        return mixed
    mixed = softmax(o)
    mixed += np.exp(log_p)
    return np.log(mixed, mixed)


def softmax(o: Array64) -> Array64:
    """Return the distribution of each row, summed row by row."""
    y_hat: Array64 = o - np.maximum.reduce(o, 1)[:, None]
    np.exp(y_hat, y_hat)
    y_hat *= (1 / np.add.reduce(y_hat, 1))[:, None]
    return y_hat


@dataclass(frozen=True, eq=False)
class Predictor:
    """Networks and counts over one vocabulary, with the choice of those to use."""

    networks: tuple[LanguageModel, ...]
    counts: Ngrams | None = None
    use: Use = "both"
    weights: tuple[float, ...] = ()  # of the networks in their mean, if they differ

    def __post_init__(self) -> None:
        if self.counts is None:
            object.__setattr__(self, "use", "network")
        if len(self.networks) + (self.counts is not None) > 1:
            for network in self.networks:
                check_mixable(network.architecture.head_name)

    @property
    def vocabulary(self) -> Vocabulary:
        return self.networks[0].vocabulary

    @property
    def single_network(self) -> LanguageModel | None:
        """The network, if one network and no counts are in use."""
        return self.networks[0] if len(self.used_networks) == 1 and not self.uses_counts else None

    @property
    def used_networks(self) -> tuple[LanguageModel, ...]:
        return () if self.use == "counts" else self.networks

    @property
    def ends(self) -> str:  # the name of the head
        return self.networks[0].architecture.head_name

    @property
    def uses_counts(self) -> bool:
        return self.counts is not None and self.use != "network"

    def stepper(self, lanes: int, threads: int = 1) -> Stepper | MixedStepper:
        if self.single_network is not None:
            return Stepper(self.single_network.parameters, lanes, threads)
        return MixedStepper(self, lanes, threads)


class MixedStepper:
    """Several networks, or counts with or without networks, with the methods of a Stepper."""

    def __init__(self, predictor: Predictor, lanes: int, threads: int) -> None:
        self.lanes = lanes
        self._steppers = [Stepper(n.parameters, lanes, threads) for n in predictor.used_networks]
        self._counts = predictor.counts if predictor.uses_counts else None
        self._weights = predictor.weights
        # the state is the arrays of each network, then those of the counts
        sizes = [len(stepper.architecture.state_names) for stepper in self._steppers]
        self._slices = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]

    def zeros(self, lanes: int) -> State:
        state: State = [array for stepper in self._steppers for array in stepper.zeros(lanes)]
        return state if self._counts is None else [*state, self._counts.empty_contexts(lanes)]

    def read(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> None:
        for stepper, own in zip(self._steppers, self._slices, strict=True):
            stepper.read(x, state[own], index, counts)
        if self._counts is not None:
            self._counts.read(x, state[-1])

    def step(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> Array64:
        log_p = None
        if self._counts is not None:
            self._counts.read(x, state[-1])
            log_p = np.log(self._counts.probabilities(state[-1]))
        if not self._steppers and log_p is not None:
            return log_p
        pairs = zip(self._steppers, self._slices, strict=True)
        each = [stepper.step(x, state[own], index, counts) for stepper, own in pairs]
        o = mean_logits(each, self._weights)
        return o if log_p is None else mix_with_counts(o, log_p)


def as_predictor(model: LanguageModel | Predictor) -> Predictor:
    """Return the predictor itself, or a predictor that uses this network alone."""
    return model if isinstance(model, Predictor) else Predictor((model,))


def combine(predictors: Sequence[Predictor]) -> Predictor:
    """Return one predictor of all networks, in whatever order, and counts of the longest text.

    A network with novelty v predicts a known symbol with (1 - v) P. So the mean has the mean
    novelty, and 1 - v is the weight of a network among the known symbols.
    """
    first = predictors[0]
    if len(predictors) == 1:
        return first
    for other in predictors[1:]:
        if other.vocabulary.characters != first.vocabulary.characters:
            raise ModelFileError("the models have different vocabularies", OTHER_VOCABULARY)
    networks = sorted(
        (network for predictor in predictors for network in predictor.networks),
        key=lambda network: sha256(network.parameters.flat.tobytes()).digest(),
    )
    novelties = [network.vocabulary.novelty for network in networks]
    novelty = math.fsum(novelties) / len(networks)
    is_one = min(novelties) == max(novelties)
    shared = replace(first.vocabulary, novelty=novelties[0] if is_one else novelty)
    weights = () if is_one else tuple((1 - own) / (1 - novelty) for own in novelties)
    all_counts = [one.counts for one in predictors if one.counts is not None]
    counts = max(all_counts, key=lambda counts: (counts.size, counts.starts), default=None)
    uses = {one.use for one in predictors if one.counts is not None}  # without counts: no choice
    use: Use = uses.pop() if len(uses) == 1 else "both"
    sharing = tuple(replace(each, vocabulary=shared) for each in networks)
    return Predictor(sharing, counts, use, weights)


class MixedScorer:
    """A scorer of several networks, or of networks and counts."""

    def __init__(
        self,
        predictor: Predictor,
        threads: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
    ) -> None:
        self.predictor = predictor
        self.vocabulary = predictor.vocabulary
        self.ranking = ranking
        self.needs_whole_examples = False  # networks that draw the length first cannot be mixed
        counts = predictor.counts
        self._scorers = [
            NetworkScorer(network, threads, fast=fast, keep_logits=True)
            for network in predictor.networks
        ]
        self._counts = counts
        is_ranked = ranking and predictor.use == "network"
        # A scorer returns the nats of its network; those of a mean, or ranks, are computed here.
        self._computes_network = len(self._scorers) > 1 or is_ranked
        self._at_once = max(FEWEST, min(MOST, NUMBERS // self.vocabulary.symbols))
        self.parts: dict[str, Floats] = {}  # nats of the last block under each part
        self.mean_alone: Floats = np.zeros(0)  # its mean nats under each network alone
        self.names = part_names(predictor) or ("network",)
        self.begin()

    def begin(self) -> None:
        for scorer in self._scorers:
            scorer.begin()
        if self._counts is not None:
            self._context = self._counts.empty_contexts(1)
            self._counts.read(np.array([END]), self._context)

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
                parts[name][rows], some_ranks = nats_of(o, y, is_ranked)
                if some_ranks is not None:
                    ranks[rows] = some_ranks
        for name, nats in parts.items():
            if name == "network" and not self._computes_network:
                nats[...] = alone[0]  # its scorer has already made room for unseen characters
                continue
            is_used = name == self.predictor.use
            add_novelty(self.predictor.networks[0], ids, nats, ranks if is_used else None)
        return parts, np.add.reduce(alone) / len(alone), ranks

    def _count(self, counts: Ngrams, ids: Ids) -> Floats:
        """Return P(. | h) at each of these symbols, (S, K)."""
        contexts = np.empty((len(ids), counts.highest - 1), np.int64)
        for at in range(len(ids)):
            contexts[at] = self._context[0]
            counts.read(ids[at : at + 1], self._context)
        return counts.probabilities(contexts)

    def _logits(self, logits: list[Floats], ids: Ids) -> Iterator[tuple[Use, Floats]]:
        """Yield the logits of each part at these symbols, in arrays that may be changed."""
        o = mean_logits(logits, self.predictor.weights)
        if self._computes_network:
            yield "network", o.copy()
        if self._counts is not None:
            log_p = np.log(self._count(self._counts, ids))
            yield "counts", log_p.copy()
            yield "both", mix_with_counts(o, log_p)


def part_names(predictor: Predictor) -> tuple[Use, ...]:
    """Return the names of the parts of its scores; () if the network is the only one."""
    return () if predictor.counts is None else ("network", "counts", "both")


def scorer_of(
    predictor: Predictor, threads: int = 1, *, ranking: bool = False, fast: bool = False
) -> NetworkScorer | MixedScorer:
    """Return the simplest scorer for this predictor."""
    if len(predictor.networks) > 1 or predictor.counts is not None:
        return MixedScorer(predictor, threads, ranking=ranking, fast=fast)
    return NetworkScorer(predictor.networks[0], threads, ranking=ranking, fast=fast)
