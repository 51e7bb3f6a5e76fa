"""Truncated back-propagation through time: steps and check-ups.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser -> average of the last parameters
            now and then: a check-up         held-out loss; the best average so far is kept

The average spans about the last 40 % of the steps, and fewer as the rate falls. A check-up measures
its held-out loss, on a part of the text.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from charrnn.errors import DivergedError, ResumeError
from charrnn.network.arrays import Array
from charrnn.network.through_time import Window
from charrnn.prediction.losses import Score
from charrnn.settings.training import Ending, Fitted
from charrnn.text.corpus import Corpus
from charrnn.training.automatic_settings import LEAST_SCORED, TRAINED_PER_SCORED
from charrnn.training.batches import Epoch, portions_of
from charrnn.training.noise import Noise
from charrnn.training.optimizer import MOMENTUM, Optimizer, clip, rate, symbol_rate_factor
from charrnn.training.processes import SharedBatch, norm, sample_inputs
from charrnn.training.state import Best, TrainState, find_ending, share_done

SCORED_AT_ONCE = 1 << 16  # symbols that are scored in a moment
FAMILIAR = 1 << 12  # symbols of the training text that are scored as well
LR_TO_TRY = 0.002
AVERAGED = 0.4  # of the steps so far go into the average, and fewer as the rate falls


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
    """An event of training: the loss was measured."""

    step: int
    score: Score | None  # on held-out text, if there is any
    train_nats_per_character: float  # on training text, measured like the held-out loss
    is_best: bool
    # the mean over the steps since the last check-up, with dropout and the like
    train_with_noise_nats_per_character: float


@dataclass(frozen=True)
class Done:
    """An event of training, the last: the run is over."""

    why: Ending


Event = Step | Checkup | Done


class Learner:
    """Takes the steps and the check-ups of a run, and changes its state in place."""

    def __init__(self, state: TrainState, corpus: Corpus, config: Fitted) -> None:
        p = state.parameters
        self.state, self.corpus, self.config = state, corpus, config
        self.batch = SharedBatch(p.architecture, config)
        momentum = 0.0 if config.book else MOMENTUM
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay, momentum)
        self.noise = Noise(p, config)
        self.limit = 4 * corpus.entropy + 10  # nats per character: more is divergence
        self.epoch: Epoch | None = None
        self.unread: Iterator[Window] = iter(())  # windows of the epoch
        trained = config.check_every * config.batch * config.bptt  # from check-up to check-up
        sizes = FAMILIAR, max(LEAST_SCORED, trained // TRAINED_PER_SCORED)
        self.portions = portions_of((corpus.train, corpus.held_out), sizes, config.shards)

    def events(self) -> Iterator[Event]:
        """Train until the run is over."""
        state, config = self.state, self.config
        try:
            while True:
                why = find_ending(config, state, state.best, state.history)
                last_checked = state.history[-1]["step"] if state.history else 0
                is_due = why is not None or state.step % config.check_every == 0
                needs_checkup = is_due and state.step != last_checked
                if why is not None and not needs_checkup:
                    break
                began = time.monotonic()  # what the caller does between events is left out
                event = self.check_up() if needs_checkup else self.take_step()
                if config.minutes is not None:
                    state.minutes += (time.monotonic() - began) / 60
                yield event
        finally:
            self.batch.close()
        yield Done(why)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def take_step(self) -> Step:
        """Change the parameters by the gradient of one window."""
        state, batch, noise = self.state, self.batch, self.noise
        window = self.next_window()
        done = share_done(state, self.config, len(self.corpus.train.ids))
        noise.begin_step(state.step, done)
        batch.p.flat[...] = state.parameters.flat
        carried = [h.copy() for h in state.carried]  # which an error leaves as they are
        if batch.shards[0].own_inputs.is_on:
            window = batch.ask(sample_inputs, window, state.carried, state.step, done)
        # The order of the draws: weights, characters, units.
        noise.hide_weights(batch.p)
        inputs, masks = noise.hide_characters(window), noise.dropout_masks()
        nats = batch.nats_and_gradient(inputs, carried, masks)
        noise.mask_gradient(batch.gradient)
        length = batch.ask(norm)
        clip(batch.gradient.flat, length, self.config.clip)
        self.check_divergence(nats / window.count, length)
        lr = self.learn(batch.gradient.flat, done)
        state.carried = carried
        self.finish_window(window, nats)
        return Step(state.step, window.count, nats / window.count, length, lr)

    def learn(self, gradient: Array, done: float) -> float:
        """Change the parameters and their average, and return the learning rate of this step."""
        state, config = self.state, self.config
        p, average = state.parameters.flat, state.average
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        is_early = state.step and done and not config.book
        symbol_rate = symbol_rate_factor(state.step / done) if is_early else 1.0
        state.step += 1
        self.optimizer.update(gradient, state.moments, state.step, lr, symbol_rate)
        if config.book:
            average[...] = p
        else:
            span = max(1.0, AVERAGED * state.step * lr / config.lr)  # steps in the average
            average += (p - average) / np.float32(span)
        return lr

    def next_window(self) -> Window:
        """Return the next window of this epoch, which begins here or goes on."""
        state, config = self.state, self.config
        if self.epoch is None:
            sizes = config.batch, config.bptt, config.seed, state.epoch
            self.epoch = Epoch(self.corpus.train, *sizes)
            if state.window >= self.epoch.window_count:
                what = f"the run is at window {state.window:,} of {self.epoch.window_count:,}"
                raise ResumeError(what, "It was not saved by this program; train a new model.")
            has_inputs = bool(state.parameters.architecture.inputs)
            self.unread = self.epoch.windows_from(state.window, with_positions=has_inputs)
        return next(self.unread)

    def finish_window(self, window: Window, nats: float) -> None:
        """Count the targets of a window. The last window ends the epoch, and clears the states."""
        state = self.state
        state.characters += window.count
        state.nats += nats
        state.targets += window.count
        state.window += 1
        if self.epoch is not None and state.window == self.epoch.window_count:
            state.epoch, state.window, self.epoch = state.epoch + 1, 0, None
            for h in state.carried:
                h[...] = 0

    def check_up(self) -> Checkup:
        """Score the network, and keep its parameters if they are the best so far."""
        state, batch = self.state, self.batch
        batch.p.flat[...] = state.average  # until the next step
        by_portion = batch.scores(self.corpus.vocabulary, self.portions)
        on_train, on_held_out = (sum(scores, Score()) for scores in zip(*by_portion, strict=True))
        familiar = on_train.nats_per_character
        self.check_divergence(familiar)  # the loss of a step is from before its update
        score = on_held_out if on_held_out.count else None
        train_with_noise = state.nats / max(1, state.targets)  # 0 if a file is wrong
        loss = train_with_noise if score is None else score.nats_per_character
        is_best = score is None or state.best is None or loss < state.best.nats_per_character
        if is_best:
            state.best = Best(state.step, loss, state.average.copy())
        row: dict[str, float] = {"step": state.step, "characters": state.characters}
        row |= {"train": familiar, "train_with_noise": train_with_noise}
        state.history.append(row if score is None else row | {"held_out": loss})
        state.nats, state.targets = 0.0, 0
        return Checkup(state.step, score, familiar, is_best, train_with_noise)

    def check_divergence(self, nats_per_character: float, norm: float = 0.0) -> None:
        """Raise DivergedError for a loss far worse than that of knowing nothing, and for NaN."""
        is_sound = nats_per_character < self.limit and math.isfinite(norm)  # False for NaN
        if not is_sound:
            lr = f"{min(self.config.lr / 5, LR_TO_TRY):.1g}"
            what = f"the loss diverged at step {self.state.step:,}"
            raise DivergedError(what, f"Try a smaller learning rate, such as [lr] {lr}.")
