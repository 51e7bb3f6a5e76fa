"""Truncated back-propagation through time, as a generator of small events.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser -> average of the last parameters
            now and then: a check-up         held-out loss; the best average so far is kept

The average has the last steps, up to 0.4 of all so far, and fewer as the rate falls: it learns as
the network does, without the noise of single steps. A check-up measures its held-out loss, on a
part of the text, at a small part of training's cost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Corpus, Examples
from charrnn.default_settings import Ending, Fitted
from charrnn.errors import DivergedError, ResumeError
from charrnn.losses import Score, tally
from charrnn.mixture import Predictor
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.through_time import Window
from charrnn.surprisals import score_ids
from charrnn.system import cores_for
from charrnn.training.batches import Epoch
from charrnn.training.optimizers import Optimizer, clip, haste, rate
from charrnn.training.processes import Lanes
from charrnn.training.regularization import OwnInputs, Regularization
from charrnn.training.state import Best, TrainState, find_ending, progress

TRAINED_ON = 10  # symbols between two check-ups, for each symbol scored
LEAST_SCORED = 1 << 14  # symbols of a check-up, if so many are held out
AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are scored as well
STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
STRETCH = 1 << 9  # symbols counted in a lane of a check-up
SETTLING = 1 << 5  # symbols of a stretch that do not count: their context was not read
USUAL_LR = 0.002
AVERAGED = 0.4  # of the steps so far go into the average; fewer, the lower the rate has fallen


@dataclass(frozen=True)
class Step:
    """An event of training: the network learned from a window of the text."""

    step: int
    characters: int  # targets in the window, ENDs included
    nats_per_character: float
    gradient_norm: float
    lr: float


@dataclass(frozen=True)
class Checkup:
    """An event of training: the loss was measured on the held-out text."""

    step: int
    score: Score | None
    train_nats_per_character: float  # on training text, measured like the held-out loss
    is_best: bool
    # the mean over the steps since the last check-up, with dropout and the like
    train_while_hidden_nats_per_character: float


@dataclass(frozen=True)
class Done:
    """An event of training, the last: the run is over."""

    why: Ending


Event = Step | Checkup | Done
Part = tuple[Examples, NDArray[np.bool_]]  # examples to score, and which of their symbols count


def train(state: TrainState, corpus: Corpus, config: Fitted) -> Iterator[Event]:
    """Train until the run is over, changing the state in place."""
    learner = Learner(state, corpus, config)
    try:
        while (why := find_ending(state, config)) is None or is_due(state, config):
            began = time.monotonic()  # what the caller does between events is left out
            event = learner.check_up() if is_due(state, config) else learner.take_step()
            if config.minutes is not None:
                state.minutes += (time.monotonic() - began) / 60
            yield event
    finally:
        learner.lanes.close()
    yield Done(why)


class Learner:
    """Takes the steps and the check-ups of a run."""

    def __init__(self, state: TrainState, corpus: Corpus, config: Fitted) -> None:
        p = state.parameters
        self.state, self.corpus, self.config = state, corpus, config
        sizes = [config.bptt, config.batch, config.parts, int(config.dropout > 0)]
        self.lanes = Lanes(p.architecture, sizes, cores_for(config.cores))
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        self.regularization = Regularization(p, config)
        self.own_inputs = OwnInputs(p.architecture, config)
        self.limit = 4 * corpus.entropy + 10  # nats per character: more is divergence
        self.epoch: Epoch | None = None
        self.windows: Iterator[Window] = iter(())  # of the epoch, still to be read
        learned = config.check_every * config.batch * config.bptt  # between two check-ups
        self.held_out = part_of(corpus.held_out, max(LEAST_SCORED, learned // TRAINED_ON))
        self.familiar = part_of(corpus.train, FAMILIAR)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def take_step(self) -> Step:
        """Change the parameters by the gradient of one window."""
        state, config, lanes, noise = self.state, self.config, self.lanes, self.regularization
        window = self.next_window()
        done = progress(state, config, len(self.corpus.train.ids))
        steps = (state.step + 1) / done if done else math.inf  # of the whole run
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        noise.begin(state.step, done)
        window = self.own_inputs.read(state.parameters, window, state.lanes, state.step, done)
        lanes.p.flat[...] = state.parameters.flat
        noise.hide_weights(lanes.p)
        nats = lanes.nats_and_gradient(noise.characters(window), state.lanes, noise.units())
        noise.through_weights(lanes.gradient)
        gradient = lanes.gradient.flat
        norm = clip(gradient, config.clip)
        self.check_divergence(nats / window.count if math.isfinite(norm) else norm)
        state.step += 1
        p, moments = state.parameters.flat, state.moments
        self.optimizer.update(p, gradient, moments, state.step, lr, haste(steps))
        averaged = max(1.0, AVERAGED * state.step * lr / config.lr)
        state.average += (state.parameters.flat - state.average) / np.float32(averaged)
        state.characters += window.count
        state.nats += nats
        state.since += window.count
        state.window += 1
        if self.epoch is not None and state.window == self.epoch.windows:
            state.epoch, state.window, self.epoch = state.epoch + 1, 0, None
            for h in state.lanes:
                h[...] = 0
        return Step(state.step, window.count, nats / window.count, norm, lr)

    def next_window(self) -> Window:
        """Return the next window of this epoch, which begins here or goes on."""
        state, config = self.state, self.config
        if self.epoch is None:
            sizes = config.batch, config.bptt, config.seed, state.epoch
            counting = bool(state.parameters.architecture.inputs)
            self.epoch = Epoch(self.corpus.train, *sizes, counting=counting)
            if state.window >= self.epoch.windows:
                what = f"the run is at window {state.window:,} of {self.epoch.windows:,}"
                raise ResumeError(what, "It was not saved by this program; train a new model.")
            self.windows = self.epoch.starting_from(state.window)
        return next(self.windows)

    def check_up(self) -> Checkup:
        """Score the network, and keep its parameters if they are the best so far."""
        state = self.state
        familiar = self.score(self.familiar).nats_per_character
        self.check_divergence(familiar)  # a step shows only what the step before it has done
        score = self.score(self.held_out) if len(self.held_out[0]) else None
        hidden = state.nats / state.since
        loss = hidden if score is None else score.nats_per_character
        is_best = score is None or state.best is None or loss < state.best.nats_per_character
        if is_best:
            state.best = Best(state.step, loss, state.average.copy())
        row: dict[str, float] = {"step": state.step, "characters": state.characters}
        row |= {"train": familiar, "train_while_hidden": hidden}
        state.history.append(row if score is None else row | {"held_out": loss})
        state.nats, state.since = 0.0, 0
        return Checkup(state.step, score, familiar, is_best, hidden)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def score(self, part: Part) -> Score:
        """Return the loss on a part of a text, in float32."""
        examples, counted = part
        average = Parameters(self.state.parameters.architecture, self.state.average)
        model = LanguageModel(average, self.corpus.vocabulary)
        predictor = Predictor([model], dtype=np.float32)
        nats, _ = score_ids(predictor, examples.ids, stretch=STRETCH, warm_up=SETTLING)
        return tally(examples.ids[counted], nats["network"][counted])

    def check_divergence(self, nats_per_character: float) -> None:
        """Raise DivergedError if the loss is far worse than that of knowing nothing, or NaN."""
        if not nats_per_character < self.limit:
            lr = f"{min(self.config.lr / 5, USUAL_LR):.1g}"
            what = f"the loss diverged at step {self.state.step:,}"
            raise DivergedError(what, f"Try a smaller learning rate, such as [lr] {lr}.")


def is_due(state: TrainState, config: Fitted) -> bool:
    """Return True if a check-up comes next, also in a run that was stopped right before one."""
    if state.step == 0 or (state.history and state.history[-1]["step"] == state.step):
        return False
    return state.step % config.check_every == 0 or find_ending(state, config) is not None


def part_of(examples: Examples, most: int) -> Part:
    """Return evenly spaced examples with about that many symbols, or stretches of long ones."""
    total = len(examples.ids)
    step = -(-total // most)
    if len(examples) >= STRETCHES * step or total <= most:
        if total > most:
            chosen = [examples.nth(i) for i in range(0, len(examples), step)]
            examples = Examples(np.concatenate(chosen))
        return examples, np.ones(len(examples.ids), np.bool_)
    length = min(most, max(SHORTEST, most // STRETCHES))
    places = np.linspace(0, total - length, most // length, dtype=np.int64)
    ids = examples.ids[places[:, None] + np.arange(length)].ravel()
    counted = np.tile(np.arange(length) >= SETTLING, len(places))
    counted[:length] = True
    return Examples(ids), counted
