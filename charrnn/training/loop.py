"""Truncated back-propagation through time, as a generator of small events.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser
            now and then: a check-up         held-out loss; the best parameters so far are kept

A check-up measures the held-out loss on a part of the text, at a small part of training's cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Corpus, Examples
from charrnn.counts import Ngrams
from charrnn.errors import DivergedError, ResumeError
from charrnn.network import Array64
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.unfolded import Window
from charrnn.predictor import Predictor, Use
from charrnn.score import Score, oddest, tally
from charrnn.scorer import score_ids
from charrnn.settings import Ending, Fitted
from charrnn.system import cores_for
from charrnn.training.batches import Epoch
from charrnn.training.lanes import Lanes
from charrnn.training.noise import OwnInputs, Regularization
from charrnn.training.optimizers import Optimizer, clip
from charrnn.training.state import Best, Stopwatch, TrainState, find_ending, is_due, progress, rate
from charrnn.vocabulary import Ids

SHARE = 0.1  # symbols scored at a check-up for each one trained on since the last
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are scored as well
STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
STRETCH = 1 << 9  # symbols counted in a lane of a check-up
SETTLING = 1 << 5  # symbols of a stretch that do not count: their context was not read

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


Part = tuple[Examples, NDArray[np.bool_]]  # examples to score, and which of their symbols count


class Validator:
    """The texts of check-ups and their scorer."""

    def __init__(self, model: LanguageModel, corpus: Corpus, config: Fitted) -> None:
        self._held_out = part_of(corpus.held_out, checkup_size(config))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._model = model

    def score(self) -> Score | None:
        """Return the loss on held-out text; None if nothing is held out."""
        return self._score(*self._held_out) if len(self._held_out[0]) else None

    def familiar_nats(self) -> float:
        """Return the loss per character on a little of the training text."""
        return self._score(*self._familiar).nats_per_character

    @np.errstate(all="ignore")  # overflow shows in the loss
    def _score(self, examples: Examples, counted: NDArray[np.bool_]) -> Score:
        predictor = Predictor([self._model], dtype=np.float32)
        nats, _ = score_ids(predictor, examples.ids, stretch=STRETCH, warm_up=SETTLING)
        return tally(examples.ids[counted], nats["network"][counted])


def checkup_size(config: Fitted) -> int:
    """Return how many symbols of held-out text a check-up scores at most."""
    return max(MINIMUM, int(config.check_every * config.batch * config.bptt * SHARE))


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


def nats_of_best(
    state: TrainState,
    corpus: Corpus,
    config: Fitted,
    counted: Ids | None,
    *,
    however_long: bool = False,
) -> dict[Use, Array64]:
    """Return the surprisals of the whole held-out text under the best parameters, if any.

    The keys are "network"; with counts also "counts" and "both". Scoring that takes long is left
    out by default.
    """
    held_out, vocabulary = corpus.held_out, corpus.vocabulary
    symbols = len(held_out.ids)
    is_long = symbols > max(AT_ONCE, int(SHARE * state.characters))
    if state.best is None or not symbols or (is_long and not however_long):
        return {}
    best = Parameters(state.parameters.architecture, state.best.flat)
    counts = None if counted is None else Ngrams(counted, vocabulary.symbols)
    predictor = Predictor([LanguageModel(best, vocabulary)], counts)
    return score_ids(predictor, held_out.ids)[0]


def note_oddest(record: dict[str, float | None], ids: Ids, costs: Mapping[Use, Array64]) -> None:
    """Record the most nats per character of a held-out example by part; None for too few."""
    known = oddest(ids, [*costs.values()]) if costs else None
    record.update(dict.fromkeys(record))
    record.update(zip(costs, known or (), strict=False))


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


def train(state: TrainState, corpus: Corpus, config: Fitted) -> Iterator[Event]:
    """Train until the run is over, changing the state in place."""
    learner = Learner(state, corpus, config)
    try:
        while (why := find_ending(state, config)) is None or is_due(state, config):
            yield learner.check_up() if is_due(state, config) else learner.take_step()
    finally:
        learner.lanes.close()
    yield Done(why)


class Learner:
    def __init__(self, state: TrainState, corpus: Corpus, config: Fitted) -> None:
        p = state.parameters
        self.state, self.corpus, self.config = state, corpus, config
        sizes = [config.bptt, config.batch, config.parts, int(config.dropout > 0)]
        self.lanes = Lanes(p.architecture, sizes, cores_for(config.cores))
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        self.regularization = Regularization(p, config)
        self.own_inputs = OwnInputs(p.architecture, config)
        self.clock = Stopwatch()
        self.limit = 4 * corpus.entropy + 10  # nats per character: more is divergence
        self.windows_left: Iterator[Window] | None = None  # of this epoch
        self.windows = 0  # in an epoch

    @cached_property
    def validator(self) -> Validator:
        model = LanguageModel(self.state.parameters, self.corpus.vocabulary)
        return Validator(model, self.corpus, self.config)

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
        sizes = config.batch, config.bptt, config.seed, state.epoch
        counting = bool(state.parameters.architecture.inputs)
        epoch = Epoch(self.corpus.train, *sizes, counting=counting)
        self.windows = epoch.windows
        if state.window >= self.windows:
            what = f"the run is at window {state.window:,} of an epoch of {self.windows:,}"
            raise ResumeError(what, "It was not saved by this program; train a new model.")
        return epoch.starting_from(state.window)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def learn_from(self, window: Window) -> Step:
        """Change the parameters by the gradient of one window."""
        state, config, lanes = self.state, self.config, self.lanes
        done = progress(state, config, len(self.corpus.train.ids))
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        noise = self.regularization
        noise.begin(state.step)
        window = self.own_inputs.read(state.parameters, window, state.lanes, state.step, done)
        lanes.p.flat[...] = state.parameters.flat
        noise.hide_weights(lanes.p)
        hidden = noise.characters(window)
        nats = lanes.nats_and_gradient(hidden, state.lanes, noise.units())
        noise.through_weights(lanes.gradient)
        norm = clip(lanes.gradient.flat, config.clip)
        self.check_divergence(nats / window.count if math.isfinite(norm) else norm)
        state.step += 1
        self.optimizer.update(
            state.parameters.flat, lanes.gradient.flat, state.moments, state.step, lr
        )
        state.characters += window.count
        state.nats += nats
        state.since += window.count
        state.window += 1
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
            self.state.minutes += self.clock.lap() / 60
