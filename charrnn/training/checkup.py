"""Check-ups: the held-out loss, measured on a part of the text at a small part of training's cost.

A check-up of several networks also measures their mixture, with the counts if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.counts.model import Counts
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import add_novelty, nats_of
from charrnn.scoring.mixed import MixedScorer, scorer_of
from charrnn.scoring.pieces import Floats
from charrnn.scoring.predictor import Predictor, mean_logits, mix_with_counts
from charrnn.scoring.score import Score, tally
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.training import Fitted, of_member
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import TrainState
from charrnn.vocabulary import UNKNOWN, Ids

SHARE = 0.1  # symbols scored at a check-up for each one trained on since the last
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are scored as well
STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
SETTLING = 1 << 5  # symbols of a stretch that do not count: their context was not read
MIXED = 1 << 13  # symbols on which a mixture is scored
LOGITS = 1 << 20  # of a mixture, at most


@dataclass(frozen=True)
class Checkup:
    step: int
    score: Score | None
    train_nats_per_character: float  # since the last check-up, with dropout and the like
    is_best: bool
    familiar_nats_per_character: float = math.nan  # on training text, without dropout
    together_nats_per_character: float = math.nan  # of the mixture, if there is one


Part = tuple[Examples, NDArray[np.bool_]]  # examples to score, and which of their symbols count


class Validator:
    """The texts of check-ups and their scorer; each of several ranks scores a share."""

    def __init__(
        self, model: LanguageModel, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        self._held_out = part_of(corpus.held_out, checkup_size(config))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = NetworkScorer(model, config.workers, fast=True)
        self._ranks = ranks

    def score(self) -> Score | None:
        """Return the loss on held-out text; None if nothing is held out."""
        return self._score(*self._held_out) if len(self._held_out[0]) else None

    def familiar_nats(self) -> float:
        """Return the loss per character on a little of the training text."""
        return self._score(*self._familiar).nats_per_character

    @np.errstate(all="ignore")  # overflow shows in the loss
    def _score(self, examples: Examples, counted: NDArray[np.bool_]) -> Score:
        ranks = self._ranks
        return ranks.total(
            self._scorer.score_in_chunks(examples, counted, ranks.number, ranks.count)
        )


def checkup_size(config: Fitted) -> int:
    """Return how many symbols of held-out text a check-up scores at most."""
    return max(MINIMUM, int(config.check_every * config.batch * config.moves_on * SHARE))


def part_of(examples: Examples, most: int) -> Part:
    """Return evenly spaced examples with about that many symbols, or stretches of long ones."""
    total = len(examples.ids)
    if total <= most:
        return examples, np.ones(total, np.bool_)
    every = -(-total // most)
    if len(examples) < STRETCHES * every:
        return stretches_of(examples, most)
    ids = [examples.nth(i) for i in range(0, len(examples), every)]
    starts = np.cumsum([0, *map(len, ids)]).astype(np.uint32)
    return Examples(np.concatenate(ids), starts), np.ones(starts[-1], np.bool_)


def stretches_of(examples: Examples, most: int) -> Part:
    """Return evenly spaced stretches of the examples, end to end as one text."""
    length = min(most, max(SHORTEST, most // STRETCHES))
    last = len(examples.ids) - length
    places = np.linspace(0, last, most // length, dtype=np.int64)
    ids = np.concatenate([examples.ids[at : at + length] for at in places])
    counted = np.tile(np.arange(length) >= SETTLING, len(places))
    counted[:length] = True
    return Examples(ids, np.array([0, len(ids)], np.uint32)), counted


class JointCheckups:
    """Check-ups of several networks: the mean of their last ones, and the loss of the mixture."""

    def __init__(
        self, states: Sequence[TrainState], corpus: Corpus, config: Fitted, counted: Ids | None
    ) -> None:
        self.latest: dict[int, Checkup] = {}  # of each network
        self.lowest = lowest_so_far(states)
        self._states = states
        self._corpus = corpus
        self._config = config
        self._counted = counted

    @cached_property
    def scorers(self) -> list[NetworkScorer]:
        vocabulary, config = self._corpus.vocabulary, self._config
        models = (LanguageModel(s.parameters, vocabulary, config.carry) for s in self._states)
        return [NetworkScorer(m, config.workers, fast=True, keep_logits=True) for m in models]

    @cached_property
    def mixed(self) -> Part:
        most = min(MIXED, LOGITS // self._corpus.vocabulary.symbols)
        return part_of(self._corpus.held_out, max(1 << 8, most))

    @cached_property
    def log_counts(self) -> Floats | None:
        if self._counted is None:
            return None
        counts = Counts(self._counted, self._corpus.vocabulary.symbols)
        contexts, _ = counts.contexts_of(self.mixed[0].ids, counts.after_end())
        return np.log(counts.probabilities(contexts))

    @np.errstate(all="ignore")  # overflow shows in the loss
    def gain(self) -> float:
        """Return how many nats per character the mixture is better than the mean network."""
        examples, counted = self.mixed
        ids = examples.ids
        alone = [scorer.nats_in_chunks(examples)[counted].mean() for scorer in self.scorers]
        o = mean_logits([scorer.logits for scorer in self.scorers if scorer.logits is not None])
        o = o.copy() if self.log_counts is None else mix_with_counts(o, self.log_counts)
        nats: Floats = nats_of(o, ids.astype(np.intp), UNKNOWN, ranking=False)[0].astype(np.float64)
        add_novelty(self.scorers[0].model, ids, nats, None)
        return float(np.mean(alone) - nats[counted].mean())

    def mean(self, step: int) -> Checkup:
        """Return the mean of the networks' last check-ups, the best if it is the lowest so far."""
        for i, state in enumerate(self._states):
            if i not in self.latest and state.history:  # it had ended before the run was resumed
                model = LanguageModel(state.parameters, self._corpus.vocabulary, self._config.carry)
                validator = Validator(model, self._corpus, of_member(self._config, i))
                self.latest[i] = Checkup(
                    state.step,
                    validator.score(),
                    state.history[-1]["train"],
                    state.best is not None and state.best.step == state.step,
                    validator.familiar_nats(),
                )
        checkups = [self.latest[i] for i in sorted(self.latest)]
        share = 1 / len(checkups)
        names: Sequence[str] = ("train_nats_per_character", "familiar_nats_per_character")
        losses: Any = {name: sum(getattr(c, name) for c in checkups) * share for name in names}
        checkup = replace(checkups[0], step=step, is_best=True, **losses)
        scores = [checkup.score for checkup in checkups if checkup.score is not None]
        if not scores:
            return checkup
        names = ("units", "units_of_ends", "units_of_unknown")
        means = {name: sum(getattr(s, name) for s in scores) // len(scores) for name in names}
        score = replace(scores[0], **means)
        nats = score.nats_per_character
        is_best, self.lowest = nats < self.lowest, min(self.lowest, nats)
        together = nats - self.gain()
        return replace(checkup, score=score, is_best=is_best, together_nats_per_character=together)


def lowest_so_far(states: Sequence[TrainState]) -> float:
    """Return the lowest mean of the held-out losses at a check-up so far."""
    histories = [
        {row["step"]: row["held_out"] for row in state.history if "held_out" in row}
        for state in states
    ]
    lowest = math.inf
    latest: dict[int, float] = {}
    for step in sorted(set[float]().union(*histories)):
        latest |= {i: losses[step] for i, losses in enumerate(histories) if step in losses}
        going = (i for i, state in enumerate(states) if state.step >= step)
        if all(step in histories[i] for i in going):
            lowest = min(lowest, sum(latest.values()) / len(latest))
    return lowest


def scores_of_best(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None,
    *,
    however_long: bool = False,
) -> dict[str, Score]:
    """Return the exact scores of the best parameters on the whole held-out text, if any.

    The keys are "network"; with counts also "counts" and "both"; with several networks also
    "alone", the mean of their own losses. Scoring that takes long is left out by default.
    """
    held_out, vocabulary = corpus.held_out, corpus.vocabulary
    symbols = len(held_out.ids)
    is_long = symbols > max(AT_ONCE, int(SHARE * states[0].characters))
    if states[0].best is None or not symbols or (is_long and not however_long):
        return {}
    best = [Parameters(s.parameters.architecture, s.best.flat) for s in states if s.best]
    networks = tuple(LanguageModel(p, vocabulary, config.carry) for p in best)
    counts = None if counted is None else Counts(counted, vocabulary.symbols)
    scorer = scorer_of(Predictor(networks, counts), config.workers)
    nats, _ = scorer.read(held_out.ids)
    parts: dict[str, Floats] = {"network": nats}
    if isinstance(scorer, MixedScorer):
        parts = {**scorer.parts, **({"alone": scorer.mean_alone} if len(networks) > 1 else {})}
    return {name: tally(held_out.ids, cost) for name, cost in parts.items()}
