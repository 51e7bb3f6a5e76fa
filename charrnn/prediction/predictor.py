"""The distribution of the next symbol, by networks, by counts, or by both: ``step`` by symbol.

several networks   P = the mean of their P
with counts        P ~ P of the networks ^ a * P of the counts ^ b

The exponents a and b depend on how well the counts know the context, (F,) numbers: each is a sum of
these, times (F,) weights, which are fitted in ``mixture``. Each half of a held-out text is scored
with the weights of the other half, so that its loss is that of new text. Other texts have the mean
of both. The state is that of each network, then that of the counts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from charrnn.errors import ModelFileError, SettingError
from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.network.parameters import LanguageModel
from charrnn.network.step import Count, Network, StepState
from charrnn.text.counts import KNOWLEDGE, Ngrams

Use = Literal["network", "counts", "both"]

EVEN: Final = (0.5, 0.0, 0.0, 0.5, 0.0, 0.0)  # a and b are 0.5, whatever the counts know
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
        mixture: ArrayLike = EVEN,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.models, self.counts = tuple(models), counts
        # (n, 2, F, 1): n is 2 for those of each half of the held-out text, or else 1
        self.halves = np.reshape(mixture, (-1, 2, KNOWLEDGE, 1))
        self.mixture: Array64 = self.halves.mean(0)
        self.use: Use = "network" if counts is None else use
        self.model = self.models[0]
        self.vocabulary = self.model.vocabulary
        self.head = self.model.architecture.head
        if len(self.models) > 1 or counts is not None:
            for model in self.models:
                check_mixable(model.architecture.head_name)
        used = self.models if self.use != "counts" else ()
        self.networks = [Network(model.parameters, dtype) for model in used]
        # An exponent may be above 1.
        self.is_bounded = self.use != "both" and all(net.is_bounded for net in self.networks)
        sizes = [len(network.zeros(1)) for network in self.networks]
        self.logits: dict[Use, Array64] = {}
        self.known: Array64 = np.empty((0, KNOWLEDGE))  # (B, F) what the counts know of a context
        self._slices = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]

    @property
    def uses(self) -> tuple[Use, ...]:
        """The names of what predicts: those of ``logits`` after a step."""
        return get_args(Use) if self.use == "both" else (self.use,)

    def zeros(self, lanes: int, clock: Count = 0, to_come: Count = 0) -> StepState:
        """Return the state before the first symbol: see Network."""
        state: StepState = []
        for network in self.networks:
            state += network.zeros(lanes, clock, to_come)
        if self.counts is not None and self.use != "network":
            state.append(self.counts.empty_contexts(lanes))
        return state

    def step(self, x: Integers, state: StepState, mixture: Array64 | None = None) -> Array64:
        """Read x (B,), move the state on, and return the logits (B, K), which may be changed.

        ``logits`` has those of each use until the next step. Weights may differ by lane, (2, F, B).
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
                weights = self.mixture if mixture is None else mixture
                self.known = self.counts.knowledge(state[-1])
                a, b = (weights * self.known.T).sum(1)  # (B,)
                logits["both"] = a[:, None] * logits["network"] + b[:, None] * logits["counts"]
        return logits[self.use]


def check_mixable(head_name: str) -> None:
    """Raise SettingError if a network with this head does not predict END beside characters."""
    if head_name not in MIXABLE_HEADS:
        what = f"ends {head_name} cannot be mixed with counts or other networks"
        raise SettingError(what, f"Use [ends] {' or '.join(MIXABLE_HEADS)}.", "ends")


def combine(predictors: Sequence[Predictor]) -> Predictor:
    """Return one predictor of all networks, with the mean novelty and the counts of most text."""
    first = predictors[0]
    for predictor in predictors[1:]:
        labels = predictor.vocabulary.labels.keys() ^ first.vocabulary.labels.keys()
        if predictor.vocabulary.characters != first.vocabulary.characters or labels:
            raise ModelFileError("the models have different vocabularies", OTHER_VOCABULARY)
    models = [model for predictor in predictors for model in predictor.models]
    novelty = sum(model.vocabulary.novelty for model in models) / len(models)
    shared = replace(first.vocabulary, novelty=novelty)
    largest = max(predictors, key=lambda predictor: getattr(predictor.counts, "size", 0))
    models = [replace(model, vocabulary=shared) for model in models]
    return Predictor(models, largest.counts, largest.use, largest.halves)
