"""What says which symbol comes next: a network, counts, the mean of several networks, a mixture.

Whoever draws or scores asks a Predictor, and need not know of what it is made. It gives logits: of
the characters, the end and UNKNOWN, whose softmax is the distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.model import Counts
from charrnn.errors import ModelFileError
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import Integers
from charrnn.network.rounding import Array64
from charrnn.network.stepper import NONE, InputCounts, Stepper
from charrnn.prediction.mixing import check_mixable, mean_of, with_counts
from charrnn.vocabulary import Vocabulary

Use = Literal["network", "counts", "both"]
State = list[NDArray[Any]]  # arrays of which the first axis is that of the lanes

OTHER_VOCABULARY = "It takes models of one vocabulary: those that learned from the same texts."


class Steps(Protocol):
    """A predictor made ready to go step by step, for one lane or many.

    Counts are those of a network's inputs that are no symbols, (B,) each: see Stepper.
    """

    lanes: int

    def zeros(self, lanes: int) -> State:
        """The state before anything is read."""

    def read(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> None:
        """Move the state on by one symbol a lane: x (B,), the index-th of its text in each."""

    def step(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> Array64:
        """Read x (B,), and say what comes next: logits (B, K), in an array that may change."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """Networks and counts over one vocabulary, and which of them are asked."""

    networks: tuple[LanguageModel, ...]
    counts: Counts | None = None
    use: Use = "both"

    def __post_init__(self) -> None:
        if self.counts is None:
            object.__setattr__(self, "use", "network")
        if len(self.networks) + (self.counts is not None) > 1:
            for one in self.networks:
                check_mixable(one.architecture.head_name)

    @property
    def vocabulary(self) -> Vocabulary:
        """That of all of them."""
        return self.networks[0].vocabulary

    @property
    def alone(self) -> LanguageModel | None:
        """The network, where one alone is asked."""
        return self.asked[0] if len(self.asked) == 1 and not self.asks_counts else None

    @property
    def asked(self) -> tuple[LanguageModel, ...]:
        """The networks that are asked."""
        return () if self.use == "counts" else self.networks

    @property
    def ends(self) -> str:
        """How its texts end: the name of a head."""
        return self.networks[0].architecture.head_name

    @property
    def asks_counts(self) -> bool:
        """Whether counts are asked."""
        return self.counts is not None and self.use != "network"

    def using(self, use: Use) -> Predictor:
        """The same, asked in part."""
        return replace(self, use=use)

    def steps(self, lanes: int, workers: int = 1) -> Steps:
        """It made ready to go step by step, with buffers for so many lanes."""
        if self.alone is not None:
            return Stepper(self.alone.parameters, lanes, workers)
        return MixedSteps(self, lanes, workers)


class MixedSteps:
    """Several, a step at a time."""

    def __init__(self, predictor: Predictor, lanes: int, workers: int) -> None:
        self.lanes = lanes
        self._steppers = [Stepper(one.parameters, lanes, workers) for one in predictor.asked]
        self._counts = predictor.counts if predictor.asks_counts else None
        # of the state, the arrays of each network; those of the counts come last
        ends = np.cumsum([0, *(len(one.architecture.state_names) for one in self._steppers)])
        self._parts = [slice(*pair) for pair in zip(ends.tolist(), ends[1:].tolist(), strict=False)]

    def zeros(self, lanes: int) -> State:
        """The state before anything is read."""
        state: State = [array for one in self._steppers for array in one.zeros(lanes)]
        return state if self._counts is None else [*state, self._counts.nothing(lanes)]

    def read(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> None:
        """Move the state on by one symbol a lane."""
        for one, part in zip(self._steppers, self._parts, strict=True):
            one.read(x, state[part], index, counts)
        if self._counts is not None:
            self._counts.read(x, state[-1])

    def step(self, x: Integers, state: State, index: int, counts: InputCounts = NONE) -> Array64:
        """Read x (B,), and say what comes next: logits (B, K)."""
        log_p = None
        if self._counts is not None:
            self._counts.read(x, state[-1])
            log_p = np.log(self._counts.probabilities(state[-1]))
        if not self._steppers and log_p is not None:
            return log_p
        o = mean_of(
            [
                one.step(x, state[part], index, counts)
                for one, part in zip(self._steppers, self._parts, strict=True)
            ]
        )
        return o if log_p is None else with_counts(o, log_p)


def predictor_of(model: LanguageModel | Predictor) -> Predictor:
    """A network alone as a predictor."""
    return model if isinstance(model, Predictor) else Predictor((model,))


def together(predictors: Sequence[Predictor]) -> Predictor:
    """The mean of all networks of several, in an order of their own, so that it is the same however
    they are named; of counts, those of the longest text are included once.
    """
    first = predictors[0]
    if len(predictors) == 1:
        return first
    for other in predictors[1:]:
        if other.vocabulary.characters != first.vocabulary.characters:
            raise ModelFileError("the models have not the same vocabulary", OTHER_VOCABULARY)
    networks = sorted(
        (one for predictor in predictors for one in predictor.networks),
        key=lambda one: sha256(one.parameters.flat.tobytes()).digest(),
    )
    novelty = min(one.vocabulary.novelty for one in networks)
    shared = replace(first.vocabulary, novelty=novelty)
    found = [one.counts for one in predictors if one.counts is not None]
    largest = max(found, key=lambda counts: counts.trie.starts, default=None)
    uses = {one.use for one in predictors if one.counts is not None}  # what has none cannot choose
    use: Use = uses.pop() if len(uses) == 1 else "both"
    return Predictor(tuple(replace(one, vocabulary=shared) for one in networks), largest, use)
