"""Learning by truncated back-propagation through time, told as a sequence of small events.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser
            every so often: a check-up       held-out loss; the best parameters so far are kept

``train`` is a generator: whoever iterates it decides what to draw, when to save and when to stop.
Everything that the run needs to go on is in its TrainState, so stopping is no longer asking.

How good the parameters are at this moment, found out at a small part of what learning costs.

How the learning rate rises and falls over a run.

rate
 1 |   ____                 constant ______________
   |  /    ``-._            linear   a straight line down
   | /          `-.         cosine   as drawn
   |/              `-.__
   +--------------------- progress
    warm-up

The time that a run takes, without the time in which it was stopped: Ctrl-Z, or a lid closed.

Who computes uses the processor. A lap that was long and hardly used it was slept through."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus, Examples
from charrnn.errors import DivergedError, ResumeError
from charrnn.network.parameters import LanguageModel
from charrnn.network.regularization import Regularization
from charrnn.network.unfolded import Window
from charrnn.scoring.score import Score
from charrnn.scoring.scorer import NetworkScorer
from charrnn.settings.training import Ending, Fitted, Schedule, ending
from charrnn.training.batches import Epoch
from charrnn.training.optimizers import Optimizer, clip
from charrnn.training.own_inputs import OwnInputs
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import Best, TrainState, entropy, log_frequencies

SHARE = 0.1  # symbols examined for each one that is trained on between two check-ups
MINIMUM = 1 << 14
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are looked at beside it
STRETCHES = 16  # of texts that are few and long: some of them may be easier than the rest
SHORTEST = 1 << 8  # symbols of a stretch
SETTLING = 1 << 5  # of these that do not count, for what stood before them was not read


class Part(NamedTuple):
    """What is looked at, and which of its symbols count."""

    examples: Examples
    counted: NDArray[np.bool_]  # (S,)


class Validator:
    """The texts to look at, and who scores them: each of several ranks a part."""

    def __init__(
        self, model: LanguageModel, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        self._held_out = part_of(corpus.held_out, most_looked_at(config))
        self._familiar = part_of(corpus.train, FAMILIAR)
        self._scorer = NetworkScorer(model, config.workers, fast=True)
        self._ranks = ranks

    def score(self) -> Score | None:
        """The loss on held-out text; nothing where none is held out."""
        if not len(self._held_out.examples):
            return None
        return self._sums(self._held_out)

    def familiar_nats(self) -> float:
        """The loss per character on a little of what was learned from."""
        return self._sums(self._familiar).nats_per_character

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def _sums(self, part: Part) -> Score:
        mine = self._scorer.score_in_chunks(*part, self._ranks.number, self._ranks.count)
        return self._ranks.total(mine)


def most_looked_at(config: Fitted) -> int:
    """How many symbols of held-out text a check-up looks at, if there are more."""
    between = config.check_every * config.batch * config.moves_on
    return max(MINIMUM, int(between * SHARE))


def part_of(examples: Examples, most: int) -> Part:
    """All of them if they have at most so many symbols, else evenly spaced ones; where those are
    few and long, evenly spaced stretches of them, end to end.
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
    """As if they were one text, of which not all is there."""
    each = min(most, max(SHORTEST, most // STRETCHES))
    last = len(examples.ids) - each
    places = np.linspace(0, last, most // each, dtype=np.int64)
    ids = np.concatenate([examples.ids[at : at + each] for at in places])
    counted = np.tile(np.arange(each) >= SETTLING, len(places))
    counted[:each] = True
    return Part(Examples(ids, np.array([0, len(ids)], np.uint32)), counted)


FLOOR = 0.01  # where a schedule ends, as a share of the learning rate


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """What becomes of the learning rate at a step, counted from 0, when so much is done."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


LONG = 1.0  # seconds
HARDLY = 20  # times as long as the processor was used


class Stopwatch:
    """Laps, each from the end of the one before."""

    def __init__(self) -> None:
        self._wall, self._used = time.monotonic(), time.process_time()

    def lap(self) -> float:
        """The seconds since the last lap, or since the clock was made."""
        wall, used = time.monotonic(), time.process_time()
        seconds, work = wall - self._wall, used - self._used
        self._wall, self._used = wall, used
        return work if seconds > LONG and seconds > HARDLY * work else seconds


USUAL_LR = 0.002


@dataclass(frozen=True)
class Step:
    """One window was learned from."""

    step: int
    characters: int  # targets in the window, ends included
    nats_per_character: float
    gradient_norm: float
    lr: float


@dataclass(frozen=True)
class Checkup:
    """The held-out text was scored; or, where nothing is held out, only the time had come."""

    step: int
    score: Score | None
    train_nats_per_character: float  # since the last check-up, while parts were hidden
    is_best: bool
    familiar_nats_per_character: float = math.nan  # of some of the same, measured as the score is
    together_nats_per_character: float = math.nan  # of the score, where several are mixed


@dataclass(frozen=True)
class Done:
    """The run is over."""

    why: Ending


Event = Step | Checkup | Done


def train(
    state: TrainState, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
) -> Iterator[Event]:
    """Go on from this state until the run is over, changing the state in place.

    Where there are several ranks, each of them iterates over the same steps.
    """
    learner = Learner(state, corpus, config, ranks)
    model = LanguageModel(state.parameters, corpus.vocabulary, config.carry)
    validator = Validator(model, corpus, config, ranks)
    windows: Iterator[Window] | None = None
    while True:
        if is_due(state, config):
            learner.clock.lap()
            ranks.align(state.parameters.flat, state.moments, state.lanes)
            familiar = validator.familiar_nats()
            learner.check_bounds(familiar)
            score = validator.score()
            learner.note_time()
            yield check_up(state, score, familiar)
        if why := ended(state, config):
            yield Done(why)
            return
        if windows is None:
            windows = learner.begin_epoch()
        yield learner.learn_from(next(windows))
        if state.window == 0:
            windows = None


class Learner:
    """What takes one step after the other: the unfolded network, the optimiser and a watch."""

    def __init__(
        self, state: TrainState, corpus: Corpus, config: Fitted, ranks: Ranks = ALONE
    ) -> None:
        p = state.parameters
        self.state, self.corpus, self.config, self.ranks = state, corpus, config, ranks
        self.parallel = ranks.parallel(
            p.architecture, config.bptt, config.batch, config.workers, p.flat.dtype
        )
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        self.regularization = Regularization(
            p,
            config.batch,
            config.seed,
            config.dropout,
            config.dropconnect,
            config.blank,
            self.parallel.here,
        )
        self.own_inputs = OwnInputs(p.architecture, config)
        self.gradient = p.like()
        self.clock = Stopwatch()
        self.limit = 4 * entropy(log_frequencies(corpus)) + 10  # nats each: more is divergence
        self.windows = 0

    def begin_epoch(self) -> Iterator[Window]:
        """The windows of this epoch that are still to be read."""
        state, config = self.state, self.config
        epoch = Epoch(
            self.corpus.train,
            config.batch,
            config.bptt,
            config.seed,
            state.epoch,
            config.carry,
            config.moves_on,
            counting=bool(state.parameters.architecture.inputs),
            here=self.parallel.here,
        )
        self.windows = epoch.windows
        if state.window >= self.windows:
            raise ResumeError(
                f"the run stands at window {state.window:,} of an epoch of {self.windows:,}",
                "It was not saved by this program; train anew.",
            )
        self.parallel.start_from(state.lanes)
        return epoch.starting_from(state.window)

    @np.errstate(all="ignore")  # what overflows shows in the loss
    def learn_from(self, window: Window) -> Step:
        """Take one step; the state is one step on."""
        state, config, gradient = self.state, self.config, self.gradient
        self.clock.lap()  # what whoever watches took is not the run's
        done = progress(state, config, len(self.corpus.train.ids))
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        hiding = self.regularization
        hiding.begin(state.step)
        window = self.own_inputs.read(state.parameters, window, state.lanes, state.step, done)
        nats = self.parallel.nats_and_gradient(
            hiding.weights(state.parameters),
            hiding.characters(window),
            gradient,
            1 / (config.batch * config.moves_on),  # of a loss in the mean over a full window
            hiding.units(),
        )
        hiding.through_weights(gradient)
        norm = clip(gradient.flat, config.clip)
        count = window.count
        self.check_bounds(nats / count if math.isfinite(norm) else norm)
        state.step += 1
        self.optimizer.update(state.parameters.flat, gradient.flat, state.moments, state.step, lr)
        state.characters += count
        state.nats += nats
        state.since += count
        self._move_on()
        self.note_time()
        return Step(state.step, count, nats / count, norm, lr)

    def note_time(self) -> None:
        """Count the time of this lap, where minutes are what ends the run."""
        if self.config.minutes is not None:
            self.state.minutes += self.ranks.of_first(self.clock.lap()) / 60

    def check_bounds(self, nats_per_character: float) -> None:
        """Raise DivergedError where learning has made it far worse than knowing nothing.

        A step sees what the one before it did. A check-up has to look for itself, or what it keeps
        and has saved could be ruins.
        """
        if not nats_per_character < self.limit:  # nor if it is NaN
            raise diverged(self.state, self.config)

    def _move_on(self) -> None:
        state = self.state
        state.window += 1
        self.parallel.copy_state(state.lanes)
        if state.window == self.windows:
            state.epoch, state.window = state.epoch + 1, 0
            for h in state.lanes:
                h[...] = 0


def is_due(state: TrainState, config: Fitted) -> bool:
    """Whether the next thing is a check-up; a run that stopped right before one resumes with it."""
    if state.step == 0 or (state.history and state.history[-1]["step"] == state.step):
        return False
    return state.step % config.check_every == 0 or ended(state, config) is not None


def check_up(state: TrainState, score: Score | None, familiar: float) -> Checkup:
    """Keep the parameters if they are the best so far, and note it all."""
    train_loss = state.nats / state.since
    now = train_loss if score is None else score.nats_per_character
    is_best = score is None or state.best is None or now < state.best.nats_per_character
    if is_best:
        state.best = Best(state.step, now, state.parameters.flat.copy())
    row = {"step": state.step, "characters": state.characters, "train": train_loss}
    state.history.append(row if score is None else row | {"held_out": now})
    state.nats, state.since = 0.0, 0
    return Checkup(state.step, score, train_loss, is_best, familiar)


def checkup_again(state: TrainState, corpus: Corpus, config: Fitted) -> Checkup | None:
    """The check-up that a run has ended with, as it was told then."""
    if not state.history:
        return None
    validator = Validator(
        LanguageModel(state.parameters, corpus.vocabulary, config.carry), corpus, config
    )
    score, train_loss = validator.score(), state.history[-1]["train"]
    is_best = state.best is not None and state.best.step == state.step
    return Checkup(state.step, score, train_loss, is_best, validator.familiar_nats())


def progress(state: TrainState, config: Fitted, symbols: int) -> float:
    """The share of the run that is done, from 0 to 1, by what was seen or by the time it took."""
    seen = state.characters / (config.epochs * symbols)
    used = 0.0 if config.minutes is None else state.minutes / config.minutes
    return min(1.0, max(seen, used))


def ended(state: TrainState, config: Fitted) -> Ending | None:
    """What has ended the run, if anything has."""
    best_step = None if state.best is None else state.best.step
    return ending(config, state.epoch, state.minutes, best_step, state.history)


def diverged(state: TrainState, config: Fitted) -> DivergedError:
    """What to say when the loss leaves every bound."""
    lr = f"{min(config.lr / 5, USUAL_LR):.1g}"
    return DivergedError(
        f"the loss grew out of bounds at step {state.step:,}",
        f"Try a smaller learning rate, such as [lr] {lr}.",
    )
