"""The distribution of the next symbol, by networks, by counts, or by both.

several networks   P = the mean of their P, of all texts: each keeps its own novelty
with counts        P ~ sqrt(P of the networks * P of the counts)     up to 500 symbols
                   P = the mean of both                              above, where roots are slow
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.model import Counts
from charrnn.errors import ModelFileError, SettingError
from charrnn.network.parameters import LanguageModel
from charrnn.network.rounding import Array64, Integers
from charrnn.network.stepper import NONE, InputCounts, Stepper
from charrnn.vocabulary import Vocabulary

Use = Literal["network", "counts", "both"]
State = list[NDArray[Any]]  # arrays whose first axis is the lane

MOST_ROOTS: Final = 500  # symbols
SMALLEST: Final = 1e-300  # added to a mean of probabilities, so that its logarithm is finite
MIXABLE_HEADS: Final = ("symbol", "halt")  # their logits are a distribution that includes END
OTHER_VOCABULARY = "Use models with the same vocabulary, such as models trained on the same texts."


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
    counts: Counts | None = None
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
    counts = max(all_counts, key=lambda counts: (counts.size, counts.trie.starts), default=None)
    uses = {one.use for one in predictors if one.counts is not None}  # without counts: no choice
    use: Use = uses.pop() if len(uses) == 1 else "both"
    sharing = tuple(replace(each, vocabulary=shared) for each in networks)
    return Predictor(sharing, counts, use, weights)
