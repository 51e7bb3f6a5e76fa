"""Truncated back-propagation through time, as a generator of small events.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser
            now and then: a check-up         held-out loss; the best parameters so far are kept

A check-up measures the held-out loss on a part of the text, at a small part of training's cost. A
check-up of several networks also measures their mixture, with the counts if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.counts.kneser_ney import Counts
from charrnn.errors import DivergedError, ResumeError
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.readout import add_novelty, nats_of
from charrnn.network.unfolded import Window
from charrnn.scoring import predictor
from charrnn.scoring.pieces import Floats
from charrnn.scoring.score import Score
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.training import Ending, Fitted, of_member
from charrnn.training.batches import Epoch
from charrnn.training.noise import OwnInputs, Regularization
from charrnn.training.optimizers import Optimizer, clip
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import Best, Stopwatch, TrainState, find_ending, is_due, progress, rate
from charrnn.vocabulary import Ids

SHARE = 0.1  # symbols scored at a check-up for each one trained on since the last
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are scored as well
STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
SETTLING = 1 << 5  # symbols of a stretch that do not count: their context was not read
MIXED = 1 << 13  # symbols on which a mixture is scored
LOGITS = 1 << 20  # of a mixture, at most

# The two losses on training text in the history of a run, and in all that shows or prints it.
# "train" is measured like the held-out loss, so the two can be compared. "train_while_hidden" is
# the mean of the training steps, with dropout and the like. Older model files hold only the second.
LOSSES = ("train", "train_while_hidden")


@dataclass(frozen=True)
class Checkup:
    """An event of training: the loss was measured on the held-out text."""

    step: int
    score: Score | None
    train_nats_per_character: float  # on training text, measured like the held-out loss
    is_best: bool
    # the mean over the steps since the last check-up, with dropout and the like
    train_while_hidden_nats_per_character: float
    together_nats_per_character: float = math.nan  # of the mixture, if there is one


Part = tuple[Examples, NDArray[np.bool_]]  # examples to score, and which of their symbols count


class Validator:
    """The texts of check-ups and their scorer; each of several ranks scores a share."""

    def __init__(
        self, model: LanguageModel, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        self._held_out = part_of(corpus.held_out, checkup_size(config))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = NetworkScorer(model, config.threads, fast=True)
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
        own = self._scorer.score_in_chunks(examples, counted, ranks.number, ranks.count)
        return ranks.total(own)


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
    some = Examples.of([examples.nth(i) for i in range(0, len(examples), every)])
    return some, np.ones(len(some.ids), np.bool_)


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
        self._states, self._corpus, self._config = states, corpus, config
        # at once, since check-ups count as training time and a resumed run builds the counts again
        self.log_counts = None if counted is None else self._log_counts(counted)

    @cached_property
    def scorers(self) -> list[NetworkScorer]:
        vocabulary, config = self._corpus.vocabulary, self._config
        models = (LanguageModel(s.parameters, vocabulary, config.carry) for s in self._states)
        return [NetworkScorer(m, config.threads, fast=True, keep_logits=True) for m in models]

    @cached_property
    def mixed(self) -> Part:
        most = min(MIXED, LOGITS // self._corpus.vocabulary.symbols)
        return part_of(self._corpus.held_out, max(1 << 8, most))

    def _log_counts(self, counted: Ids) -> Floats | None:
        if not len(self._corpus.held_out):
            return None
        counts = Counts(counted, self._corpus.vocabulary.symbols)
        contexts, _ = counts.contexts_of(self.mixed[0].ids, counts.after_end())
        return np.log(counts.probabilities(contexts))

    @np.errstate(all="ignore")  # overflow shows in the loss
    def gain(self) -> float:
        """Return how many nats per character the mixture is better than the mean network."""
        examples, counted = self.mixed
        ids = examples.ids
        alone = [scorer.read_in_chunks(examples)[0][counted].mean() for scorer in self.scorers]
        logits = [scorer.logits for scorer in self.scorers if scorer.logits is not None]
        o = predictor.mean_logits(logits)
        o = o.copy() if self.log_counts is None else predictor.mix_with_counts(o, self.log_counts)
        nats: Floats = nats_of(o, ids.astype(np.intp), ranking=False)[0].astype(np.float64)
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
                    validator.familiar_nats(),
                    state.best is not None and state.best.step == state.step,
                    state.history[-1]["train_while_hidden"],
                )
        checkups = [self.latest[i] for i in sorted(self.latest)]
        share = 1 / len(checkups)
        names: Sequence[str] = [f"{name}_nats_per_character" for name in LOSSES]
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


def nats_of_best(
    states: Sequence[TrainState],
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None,
    *,
    however_long: bool = False,
) -> dict[str, Floats]:
    """Return the exact surprisals of the whole held-out text under the best parameters, if any.

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
    scorer = predictor.scorer_of(predictor.Predictor(networks, counts), config.threads)
    nats, _ = scorer.read(held_out.ids)
    if not isinstance(scorer, predictor.MixedScorer):
        return {"network": nats}
    return {**scorer.parts, **({"alone": scorer.mean_alone} if len(networks) > 1 else {})}


USUAL_LR = 0.002


@dataclass(frozen=True)
class Step:
    """An event of training: the network learned from a window of the text."""

    step: int
    characters: int  # targets in the window, ENDs included
    nats_per_character: float
    gradient_norm: float
    lr: float


@dataclass(frozen=True)
class Done:
    """An event of training, the last: the run is over."""

    why: Ending


Event = Step | Checkup | Done


def train(
    state: TrainState, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
) -> Iterator[Event]:
    """Train until the run is over, changing the state in place; all ranks take the same steps."""
    learner = Learner(state, corpus, config, ranks)
    while (why := find_ending(state, config)) is None or is_due(state, config):
        yield learner.check_up() if is_due(state, config) else learner.take_step()
    yield Done(why)


class Learner:
    def __init__(
        self, state: TrainState, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        p = state.parameters
        self.state, self.corpus, self.config, self.ranks = state, corpus, config, ranks
        self.parallel = ranks.parallel(p, config)
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        self.regularization = Regularization(p, config, self.parallel.here)
        self.own_inputs = OwnInputs(p.architecture, config)
        self.gradient = p.like()
        self.clock = Stopwatch()
        self.limit = 4 * corpus.entropy + 10  # nats per character: more is divergence
        self.windows_left: Iterator[Window] | None = None  # of this epoch
        self.windows = 0  # in an epoch

    @cached_property
    def validator(self) -> Validator:
        model = LanguageModel(self.state.parameters, self.corpus.vocabulary, self.config.carry)
        return Validator(model, self.corpus, self.config, self.ranks)

    def take_step(self) -> Step:
        self.clock.lap()  # leaves out what the caller did meanwhile
        if self.windows_left is None:
            self.windows_left = self.begin_epoch()
        step = self.learn_from(next(self.windows_left))
        if self.state.window == 0:
            self.windows_left = None
        return step

    def begin_epoch(self) -> Iterator[Window]:
        """Return the windows of this epoch that are still to be read."""
        state, config = self.state, self.config
        sizes = config.batch, config.bptt, config.seed, state.epoch, config.carry, config.moves_on
        counting = bool(state.parameters.architecture.inputs)
        here = self.parallel.here
        epoch = Epoch(self.corpus.train, *sizes, counting=counting, here=here)
        self.windows = epoch.windows
        if state.window >= self.windows:
            what = f"the run is at window {state.window:,} of an epoch of {self.windows:,}"
            raise ResumeError(what, "It was not saved by this program; train a new model.")
        self.parallel.start_from(state.lanes)
        return epoch.starting_from(state.window)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def learn_from(self, window: Window) -> Step:
        """Change the parameters by the gradient of one window."""
        state, config, gradient = self.state, self.config, self.gradient
        done = progress(state, config, len(self.corpus.train.ids))
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        noise = self.regularization
        noise.begin(state.step)
        window = self.own_inputs.read(state.parameters, window, state.lanes, state.step, done)
        p, hidden = noise.weights(state.parameters), noise.characters(window)
        scale = 1 / (config.batch * config.moves_on)  # the mean loss over a full window
        nats = self.parallel.nats_and_gradient(p, hidden, gradient, scale, noise.units())
        nats = self.ranks.add_up(gradient.flat, nats)
        noise.through_weights(gradient)
        norm = clip(gradient.flat, config.clip)
        self.check_divergence(nats / window.count if math.isfinite(norm) else norm)
        state.step += 1
        self.optimizer.update(state.parameters.flat, gradient.flat, state.moments, state.step, lr)
        state.characters += window.count
        state.nats += nats
        state.since += window.count
        state.window += 1
        self.parallel.copy_state(state.lanes)
        self.ranks.share(state.lanes)
        if state.window == self.windows:
            state.epoch, state.window = state.epoch + 1, 0
            for h in state.lanes:
                h[...] = 0
        self._add_time()
        return Step(state.step, window.count, nats / window.count, norm, lr)

    def check_up(self) -> Checkup:
        """Score the network, and keep its parameters if they are the best so far."""
        state = self.state
        self.clock.lap()
        self.ranks.align(state.parameters.flat, state.moments, state.lanes)
        familiar = self.validator.familiar_nats()
        self.check_divergence(familiar)  # a step shows only what the step before it has done
        score = self.validator.score()
        self._add_time()
        hidden = state.nats / state.since
        now = hidden if score is None else score.nats_per_character
        is_best = score is None or state.best is None or now < state.best.nats_per_character
        if is_best:
            state.best = Best(state.step, now, state.parameters.flat.copy())
        row: dict[str, float] = {"step": state.step, "characters": state.characters}
        row |= {LOSSES[0]: familiar, LOSSES[1]: hidden}
        state.history.append(row if score is None else row | {"held_out": now})
        state.nats, state.since = 0.0, 0
        return Checkup(state.step, score, familiar, is_best, hidden)

    def check_divergence(self, nats_per_character: float) -> None:
        """Raise DivergedError if the loss is far worse than that of knowing nothing, or NaN."""
        if not nats_per_character < self.limit:
            lr = f"{min(self.config.lr / 5, USUAL_LR):.1g}"
            what = f"the loss diverged at step {self.state.step:,}"
            raise DivergedError(what, f"Try a smaller learning rate, such as [lr] {lr}.")

    def _add_time(self) -> None:
        if self.config.minutes is not None:
            self.state.minutes += self.ranks.of_first(self.clock.lap()) / 60
