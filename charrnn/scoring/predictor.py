"""What says which symbol comes next: a network, counts, the mean of several networks, a mixture.

Whoever draws or scores asks a Predictor, and need not know of what it is made. It gives logits: of
the characters, the end and UNKNOWN, whose softmax is the distribution.

How what several say of the next symbol becomes what one says: a distribution again.

    of networks     P  =  the mean of their P
    with counts     P  ~  sqrt(P of the networks  P of counts)          up to 500 symbols
                    P  =  half of each                                  above, where roots are dear

The root of the product, made to sum to one over all symbols, the end and UNKNOWN among them, does a
little better than the mean: where one of both is sure that something cannot come, it does not. In
logits, which need not sum to one, it is their mean. Each row goes by itself, so that it is the same
alone and among thousands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from charrnn.counts.model import Counts
from charrnn.errors import ModelFileError, SettingError
from charrnn.network.parameters import Integers, LanguageModel
from charrnn.network.rounding import Array64
from charrnn.network.stepper import NONE, InputCounts, Stepper
from charrnn.vocabulary import Vocabulary

MOST_ROOTS: Final = 500  # symbols
LEAST: Final = 1e-300  # added to what several networks think possible, so that it has a logarithm
HEADS: Final = ("symbol", "halt")  # whose logits are a distribution, softmaxed, with the end in it


def check_mixable(head_name: str) -> None:
    """Raise SettingError where a network cannot be mixed with anything: how it ends is no chance
    beside those of the characters.
    """
    if head_name not in HEADS:
        raise SettingError(
            f"a network with ends {head_name} cannot be mixed with counts or other networks",
            f"It can with ends {' or '.join(HEADS)}.",
            "ends",
        )


def mean_of(logits: Sequence[Array64]) -> Array64:
    """The logits of the mean of distributions, of which these are the logits, (B, K) each."""
    if len(logits) == 1:
        return logits[0]
    total = np.zeros_like(logits[0])
    for o in logits:
        total += softmax(o)
    total *= 1 / len(logits)
    total += LEAST
    return np.log(total, total)


def with_counts(o: Array64, log_p: Array64) -> Array64:
    """The logits of the mixture of o, the logits of networks, and the log of what counts say;
    (B, K) each.
    """
    if o.shape[1] <= MOST_ROOTS:
        mixed: Array64 = o + log_p
        mixed *= 0.5
        return mixed
    mixed = softmax(o)
    mixed += np.exp(log_p)
    return np.log(mixed, mixed)


def softmax(o: Array64) -> Array64:
    """The distribution, each row added up by itself."""
    y_hat: Array64 = o - np.maximum.reduce(o, 1)[:, None]
    np.exp(y_hat, y_hat)
    y_hat *= (1 / np.add.reduce(y_hat, 1))[:, None]
    return y_hat


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
