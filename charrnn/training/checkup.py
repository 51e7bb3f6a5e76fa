"""Check-ups: the held-out loss, measured on a part of the text at a small part of training's cost.

A check-up of several networks also measures their mixture, with the counts if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

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
from charrnn.training.state import Best, TrainState
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
    """A check-up: the held-out text was scored, if there is any."""

    step: int
    score: Score | None
    train_nats_per_character: float  # since the last check-up, with dropout and the like
    is_best: bool
    familiar_nats_per_character: float = math.nan  # on training text, without dropout
    together_nats_per_character: float = math.nan  # of the mixture, if there is one


class Part(NamedTuple):
    """Examples to score, and which of their symbols count."""

    examples: Examples
    counted: NDArray[np.bool_]  # (S,)


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
        return self._score(self._held_out) if len(self._held_out.examples) else None

    def familiar_nats(self) -> float:
        """Return the loss per character on a little of the training text."""
        return self._score(self._familiar).nats_per_character

    @np.errstate(all="ignore")  # overflow shows in the loss
    def _score(self, part: Part) -> Score:
        share = self._scorer.score_in_chunks(*part, self._ranks.number, self._ranks.count)
        return self._ranks.total(share)


def checkup_size(config: Fitted) -> int:
    """Return how many symbols of held-out text a check-up scores at most."""
    return max(MINIMUM, int(config.check_every * config.batch * config.moves_on * SHARE))


def part_of(examples: Examples, most: int) -> Part:
    """Return evenly spaced examples with at most about that many symbols.

    Of examples that are few and long, evenly spaced stretches are taken instead.
    """
    total = len(examples.ids)
    if total <= most:
        return Part(examples, np.ones(total, np.bool_))
    every = -(-total // most)
    if len(examples) < STRETCHES * every:
        return stretches_of(examples, most)
    chosen = [examples.nth(number) for number in range(0, len(examples), every)]
    starts = np.cumsum([0, *(len(ids) for ids in chosen)]).astype(np.uint32)
    return Part(Examples(np.concatenate(chosen), starts), np.ones(starts[-1], np.bool_))


def stretches_of(examples: Examples, most: int) -> Part:
    """Return evenly spaced stretches of the examples, end to end as one text."""
    length = min(most, max(SHORTEST, most // STRETCHES))
    last = len(examples.ids) - length
    places = np.linspace(0, last, most // length, dtype=np.int64)
    ids = np.concatenate([examples.ids[at : at + length] for at in places])
    counted = np.tile(np.arange(length) >= SETTLING, len(places))
    counted[:length] = True
    return Part(Examples(ids, np.array([0, len(ids)], np.uint32)), counted)


def record_checkup(state: TrainState, score: Score | None, familiar: float) -> Checkup:
    """Add a check-up to the history, and keep the parameters if they are the best so far."""
    train_loss = state.nats / state.since
    now = train_loss if score is None else score.nats_per_character
    is_best = score is None or state.best is None or now < state.best.nats_per_character
    if is_best:
        state.best = Best(state.step, now, state.parameters.flat.copy())
    row = {"step": state.step, "characters": state.characters, "train": train_loss}
    state.history.append(row if score is None else row | {"held_out": now})
    state.nats, state.since = 0.0, 0
    return Checkup(state.step, score, train_loss, is_best, familiar)


def repeat_checkup(state: TrainState, corpus: Corpus, config: Fitted) -> Checkup:
    """Return the last check-up of a run that has ended, measured once more."""
    model = LanguageModel(state.parameters, corpus.vocabulary, config.carry)
    validator = Validator(model, corpus, config)
    score, train_loss = validator.score(), state.history[-1]["train"]
    is_best = state.best is not None and state.best.step == state.step
    return Checkup(state.step, score, train_loss, is_best, validator.familiar_nats())


class JointCheckups:
    """Check-ups of several networks: the mean of their last ones, and the loss of the mixture."""

    def __init__(
        self,
        states: Sequence[TrainState],
        corpus: Corpus,
        config: Fitted,
        counted: Ids | None,
    ) -> None:
        self.latest: dict[int, Checkup] = {}  # of each network
        self.lowest = lowest_so_far(states)
        self._states = states
        self._corpus = corpus
        self._config = config
        self._counted = counted

    @cached_property
    def mixture(self) -> Mixture:
        """The mixture, prepared before the first check-up."""
        models = [
            LanguageModel(state.parameters, self._corpus.vocabulary, self._config.carry)
            for state in self._states
        ]
        return Mixture(models, self._corpus, self._config, self._counted)

    def mean(self, step: int) -> Checkup:
        """Return the mean of the networks' last check-ups, the best if it is the lowest so far."""
        for i, state in enumerate(self._states):
            if i not in self.latest and state.history:  # it had ended before the run was resumed
                own = of_member(self._config, i)
                self.latest[i] = repeat_checkup(state, self._corpus, own)
        checkups = [self.latest[i] for i in sorted(self.latest)]
        share = 1 / len(checkups)
        checkup = replace(
            checkups[0],
            step=step,
            train_nats_per_character=sum(c.train_nats_per_character for c in checkups) * share,
            familiar_nats_per_character=sum(c.familiar_nats_per_character for c in checkups)
            * share,
            is_best=True,
        )
        scores = [checkup.score for checkup in checkups if checkup.score is not None]
        if not scores:
            return checkup
        names = ("units", "units_of_ends", "units_of_unknown")
        means = {name: sum(getattr(s, name) for s in scores) // len(scores) for name in names}
        score = replace(scores[0], **means)
        nats = score.nats_per_character
        is_best, self.lowest = nats < self.lowest, min(self.lowest, nats)
        together = nats - self.mixture.gain()
        return replace(checkup, score=score, is_best=is_best, together_nats_per_character=together)


def lowest_so_far(states: Sequence[TrainState]) -> float:
    """Return the lowest mean of the held-out losses at a check-up so far."""
    rows = [
        (row["step"], i, row["held_out"])
        for i, state in enumerate(states)
        for row in state.history
        if "held_out" in row
    ]
    lowest = math.inf
    latest: dict[int, float] = {}
    for step, checkups in groupby(sorted(rows), key=lambda row: row[0]):
        losses = {i: loss for _, i, loss in checkups}
        latest |= losses
        if all(i in losses for i, state in enumerate(states) if state.step >= step):
            lowest = min(lowest, sum(latest.values()) / len(latest))
    return lowest


class Mixture:
    """All networks and the counts, scored together on a fixed part of the held-out text."""

    def __init__(
        self, models: Sequence[LanguageModel], corpus: Corpus, config: Fitted, counted: Ids | None
    ) -> None:
        symbols = corpus.vocabulary.symbols
        self._part = part_of(corpus.held_out, max(1 << 8, min(MIXED, LOGITS // symbols)))
        self._scorers = [
            NetworkScorer(model, config.workers, fast=True, keep_logits=True) for model in models
        ]
        self._log_counts = None
        if counted is not None:
            counts = Counts(counted, symbols)
            ids = self._part.examples.ids
            contexts, _ = counts.contexts_of(ids, counts.after_end())
            self._log_counts = np.log(counts.probabilities(contexts))

    @np.errstate(all="ignore")  # overflow shows in the loss
    def gain(self) -> float:
        """Return how many nats per character the mixture is better than the mean network."""
        examples, counted = self._part
        ids = examples.ids
        alone = [scorer.nats_in_chunks(examples)[counted].mean() for scorer in self._scorers]
        o = mean_logits([scorer.logits for scorer in self._scorers if scorer.logits is not None])
        o = o.copy() if self._log_counts is None else mix_with_counts(o, self._log_counts)
        nats: Floats = nats_of(o, ids.astype(np.intp), UNKNOWN, ranking=False)[0].astype(np.float64)
        add_novelty(self._scorers[0].model, ids, nats, None)
        return float(np.mean(alone) - nats[counted].mean())


def scores_of_best(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None,
    *,
    however_long: bool = False,
) -> dict[str, Score]:
    """Return the exact scores of the best parameters on the whole held-out text.

    The keys are "network"; with counts also "counts" and "both"; with several networks also
    "alone", the mean of their own losses. The result is empty if nothing is held out, and unless
    ``however_long``, if scoring would take long in comparison with training.
    """
    held_out, vocabulary = corpus.held_out, corpus.vocabulary
    symbols = len(held_out.ids)
    is_long = symbols > max(AT_ONCE, int(SHARE * states[0].characters))
    if states[0].best is None or not symbols or (is_long and not however_long):
        return {}
    networks = tuple(
        LanguageModel(
            Parameters(state.parameters.architecture, state.best.flat), vocabulary, config.carry
        )
        for state in states
        if state.best is not None
    )
    counts = None if counted is None else Counts(counted, vocabulary.symbols)
    scorer = scorer_of(Predictor(networks, counts), config.workers)
    nats, _ = scorer.read(held_out.ids)
    parts: dict[str, Floats] = {"network": nats}
    if isinstance(scorer, MixedScorer):
        parts = {**scorer.parts, **({"alone": scorer.mean_alone} if len(networks) > 1 else {})}
    return {name: tally(held_out.ids, cost) for name, cost in parts.items()}
