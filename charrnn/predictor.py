"""The distribution of the next symbol, by networks, by counts, or by both: ``step`` by symbol.

several networks   P = the mean of their P
with counts        P ~ P of the networks ^ a * P of the counts ^ b     up to 500 symbols
                   P = a P of the networks + b P of the counts         above, where roots are slow

The two exponents are the ``mixture``. The state is that of each network, then that of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import DTypeLike

from charrnn.counts import Ngrams
from charrnn.errors import ModelFileError, SettingError
from charrnn.network import Array64, Integers
from charrnn.network.parameters import LanguageModel
from charrnn.network.step import Count, Network, State

Use = Literal["network", "counts", "both"]
Mixture = tuple[float, float]

EVEN: Final[Mixture] = (0.5, 0.5)
MOST_ROOTS: Final = 500  # symbols
SMALLEST: Final = 1e-300  # added to a mean of probabilities, so that its logarithm is finite
MIXABLE_HEADS: Final = ("symbol", "halt")  # their logits are a distribution that includes END
OTHER_VOCABULARY: Final = "Use models with the same vocabulary, such as models of the same texts."


class Predictor:
    """Networks and counts over one vocabulary, with the choice of those to use."""

    def __init__(
        self,
        models: Sequence[LanguageModel],
        counts: Ngrams | None = None,
        use: Use = "both",
        mixture: Mixture = EVEN,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.models, self.counts, self.mixture = tuple(models), counts, mixture
        self.use: Use = "network" if counts is None else use
        self.model = self.models[0]
        self.vocabulary = self.model.vocabulary
        self.head = self.model.architecture.head
        if len(self.models) > 1 or counts is not None:
            for model in self.models:
                check_mixable(model.architecture.head_name)
        used = self.models if self.use != "counts" else ()
        self.networks = [Network(model.parameters, dtype) for model in used]
        self.is_bounded = all(network.is_bounded for network in self.networks)
        sizes = [len(network.zeros(1)) for network in self.networks]
        self.logits: dict[Use, Array64] = {}
        self._slices = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]

    @property
    def parts(self) -> tuple[Use, ...]:
        """The names of what predicts: those of ``logits`` after a step."""
        return ("network", "counts", "both") if self.use == "both" else (self.use,)

    def zeros(self, lanes: int, clock: Count = 0, left: Count = 0) -> State:
        """Return the state before the first symbol: see Network."""
        state: State = []
        for network in self.networks:
            state += network.zeros(lanes, clock, left)
        if self.counts is not None and self.use != "network":
            state.append(self.counts.empty_contexts(lanes))
        return state

    def step(self, x: Integers, state: State) -> Array64:
        """Read x (B,), move the state on, and return the logits (B, K), which may be changed.

        ``logits`` has those of each part until the next step.
        """
        logits = self.logits
        if self.use != "counts":
            pairs = zip(self.networks, self._slices, strict=True)
            outputs = [network.step(x, state[arrays]) for network, arrays in pairs]
            if len(outputs) > 1:  # log of the mean of P
                mean = np.add.reduce([softmax(o) for o in outputs]) / len(outputs)
                outputs = [np.log(mean + SMALLEST)]
            logits["network"] = outputs[0]
        if self.counts is not None and self.use != "network":
            self.counts.read(x, state[-1])
            logits["counts"] = np.log(self.counts.probabilities(state[-1]))
        if self.use == "both":
            logits["both"] = mix(logits["network"], logits["counts"], self.mixture)
        return logits[self.use]


def check_mixable(head_name: str) -> None:
    """Raise SettingError if a network with this head does not predict END beside characters."""
    if head_name not in MIXABLE_HEADS:
        raise SettingError(
            f"ends {head_name} cannot be mixed with counts or other networks",
            f"Use [ends] {' or '.join(MIXABLE_HEADS)}.",
            "ends",
        )


def mix(o: Array64, log_p: Array64, mixture: Mixture = EVEN) -> Array64:
    """Return the logits of the mixture of a network's logits and the counts' log P, (B, K)."""
    a, b = mixture
    if o.shape[1] <= MOST_ROOTS:
        return a * o + b * log_p
    return np.log(a * softmax(o) + b * np.exp(log_p) + SMALLEST)


def softmax(o: Array64) -> Array64:
    """Return the distribution of each row."""
    y_hat: Array64 = np.exp(o - o.max(1, keepdims=True))
    y_hat /= y_hat.sum(1, keepdims=True)
    return y_hat


def combine(predictors: Sequence[Predictor]) -> Predictor:
    """Return one predictor of all networks, with the mean novelty and the counts of most text."""
    first = predictors[0]
    for other in predictors[1:]:
        if other.vocabulary.characters != first.vocabulary.characters:
            raise ModelFileError("the models have different vocabularies", OTHER_VOCABULARY)
    models = [model for predictor in predictors for model in predictor.models]
    novelty = sum(model.vocabulary.novelty for model in models) / len(models)
    shared = replace(first.vocabulary, novelty=novelty)
    largest = max(predictors, key=lambda predictor: getattr(predictor.counts, "size", 0))
    models = [replace(model, vocabulary=shared) for model in models]
    return Predictor(models, largest.counts, largest.use, largest.mixture)
