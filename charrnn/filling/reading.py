"""What a model says of each symbol that may come next: log P, for many texts at once."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from charrnn.filling.pattern import Pattern, Symbols
from charrnn.network.language_model import LanguageModel
from charrnn.network.rounding import Array64
from charrnn.network.softmax import normalise
from charrnn.prediction.predictor import Predictor, State, predictor_of
from charrnn.vocabulary import UNKNOWN

LANES: Final = 1 << 14  # at most
OUTPUTS: Final = 1 << 23  # at most, of all lanes at a step
STATES: Final = 1 << 25  # numbers in the states of all lanes, at most


class NextSymbols:
    """A stepper, and the room that a model leaves for characters never seen."""

    def __init__(self, model: LanguageModel | Predictor, workers: int = 1) -> None:
        predictor = predictor_of(model)
        self.vocabulary = predictor.vocabulary
        state = sum(array.size for array in predictor.steps(1).zeros(1))
        self.lanes = max(64, min(LANES, OUTPUTS // self.vocabulary.symbols, STATES // state))
        self._stepper = predictor.steps(self.lanes, workers)

    def zeros(self, lanes: int) -> State:
        """The states before anything is read."""
        return self._stepper.zeros(lanes)

    def log_p(self, pattern: Pattern, x: Symbols, state: State, index: int) -> Array64:
        """Read x (B,), the index-th symbol of each text; log P of what comes next, (B, E).

        It is that of charrnn's scores: of all texts there are, whatever they are made of.
        """
        o = self._stepper.step(pattern.read_as[x], state, index)
        logits: Array64 = o - np.maximum.reduce(o, 1)[:, None]
        known: Array64 = logits - np.log(normalise(logits.copy()))[:, None]
        novelty = self.vocabulary.novelty
        known += math.log1p(-novelty)
        if not pattern.unseen:
            return known
        expected = math.log(novelty) if novelty else -math.inf
        one = np.logaddexp(known[:, UNKNOWN], expected) - self.vocabulary.unseen_nats
        return np.concatenate([known, np.repeat(one[:, None], len(pattern.unseen), 1)], 1)


def log_sum(logs: Array64) -> float:
    """log of the sum of exp; -inf of nothing."""
    most = float(logs.max(initial=-math.inf))
    return most + math.log(float(np.exp(logs - most).sum())) if most > -math.inf else most
