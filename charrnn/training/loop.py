"""Truncated back-propagation through time, as a generator of small events.

for each epoch:                          the examples in a new order, end to end in B lanes
    for each window of T steps:          the state crosses windows, the gradient does not
        gradient -> clip -> optimiser
        now and then: a check-up         held-out loss; the best parameters so far are kept
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.errors import DivergedError, ResumeError
from charrnn.network.parameters import LanguageModel
from charrnn.network.regularization import Regularization
from charrnn.network.unfolded import Window
from charrnn.settings.training import Ending, Fitted, Schedule, ending
from charrnn.training.batches import Epoch
from charrnn.training.checkup import Checkup, Validator
from charrnn.training.optimizers import Optimizer, clip
from charrnn.training.own_inputs import OwnInputs
from charrnn.training.ranks import ALONE, Ranks
from charrnn.training.state import Best, TrainState

FLOOR = 0.01  # the lowest rate of a schedule, as a share of the learning rate
USUAL_LR = 0.002
LONG = 1.0  # seconds
ASLEEP = 20  # times as long as the processor worked: the process was stopped


@dataclass(frozen=True)
class Step:
    step: int
    characters: int  # targets in the window, ENDs included
    nats_per_character: float
    gradient_norm: float
    lr: float


@dataclass(frozen=True)
class Done:
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
        self.state = state
        self.corpus = corpus
        self.config = config
        self.ranks = ranks
        self.parallel = ranks.parallel(p, config)
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        hidden = config.dropout, config.dropconnect, config.blank
        here = self.parallel.here
        self.regularization = Regularization(p, config.batch, config.seed, *hidden, here)
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
            raise ResumeError(
                f"the run is at window {state.window:,} of an epoch of {self.windows:,}",
                "It was not saved by this program; train anew.",
            )
        self.parallel.start_from(state.lanes)
        return epoch.starting_from(state.window)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def learn_from(self, window: Window) -> Step:
        """Change the parameters by the gradient of one window."""
        state, config, gradient = self.state, self.config, self.gradient
        self.clock.lap()  # leaves out what the caller did meanwhile
        done = progress(state, config, len(self.corpus.train.ids))
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        noise = self.regularization
        noise.begin(state.step)
        window = self.own_inputs.read(state.parameters, window, state.lanes, state.step, done)
        p, hidden = noise.weights(state.parameters), noise.characters(window)
        scale = 1 / (config.batch * config.moves_on)  # the mean loss over a full window
        nats = self.parallel.nats_and_gradient(p, hidden, gradient, scale, noise.units())
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
        train_loss = state.nats / state.since
        now = train_loss if score is None else score.nats_per_character
        is_best = score is None or state.best is None or now < state.best.nats_per_character
        if is_best:
            state.best = Best(state.step, now, state.parameters.flat.copy())
        row = {"step": state.step, "characters": state.characters, "train": train_loss}
        state.history.append(row if score is None else row | {"held_out": now})
        state.nats, state.since = 0.0, 0
        return Checkup(state.step, score, train_loss, is_best, familiar)

    def check_divergence(self, nats_per_character: float) -> None:
        """Raise DivergedError if the loss is far worse than that of knowing nothing, or NaN."""
        if not nats_per_character < self.limit:
            lr = f"{min(self.config.lr / 5, USUAL_LR):.1g}"
            raise DivergedError(
                f"the loss grew out of bounds at step {self.state.step:,}",
                f"Try a smaller learning rate, such as [lr] {lr}.",
            )

    def _add_time(self) -> None:
        if self.config.minutes is not None:
            self.state.minutes += self.ranks.of_first(self.clock.lap()) / 60


def is_due(state: TrainState, config: Fitted) -> bool:
    """Return True if a check-up comes next, also in a run that was stopped right before one."""
    if state.step == 0 or (state.history and state.history[-1]["step"] == state.step):
        return False
    return state.step % config.check_every == 0 or find_ending(state, config) is not None


def find_ending(state: TrainState, config: Fitted) -> Ending | None:
    best_step = None if state.best is None else state.best.step
    return ending(config, state.epoch, state.minutes, best_step, state.history)


def progress(state: TrainState, config: Fitted, symbols: int) -> float:
    """Return the share of the run that is done, by symbols seen or by time, from 0 to 1."""
    seen = state.characters / (config.epochs * symbols)
    used = 0.0 if config.minutes is None else state.minutes / config.minutes
    return min(1.0, max(seen, used))


def rate(schedule: Schedule, step: int, warmup: int, progress: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    left = 1.0 - progress
    if schedule == "constant":
        return rising
    falling = left if schedule == "linear" else (1 - math.cos(math.pi * left)) / 2
    return rising * (FLOOR + (1 - FLOOR) * falling)


class Stopwatch:
    """A clock that leaves out the time in which the process was stopped, as by Ctrl-Z."""

    def __init__(self) -> None:
        self._wall, self._used = time.monotonic(), time.process_time()

    def lap(self) -> float:
        wall, used = time.monotonic(), time.process_time()
        seconds, work = wall - self._wall, used - self._used
        self._wall, self._used = wall, used
        return work if seconds > LONG and seconds > ASLEEP * work else seconds
