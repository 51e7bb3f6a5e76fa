"""Truncated back-propagation through time: the state of a run, its optimiser, and its loop.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser -> average of the last parameters
            now and then: a check-up         held-out loss; the best average so far is kept

A new network predicts each symbol by its frequency in the corpus, whatever came before. A network
that starts from a model has the model's sizes and predicts as the model does.

The average spans about the last 40 % of the steps, and fewer as the rate falls. It learns as the
network does, without the noise of single steps. A check-up measures its held-out loss, on a part of
the text, at a small part of training's cost.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from charrnn.errors import DivergedError, ResumeError, SettingError
from charrnn.network.arrays import Array
from charrnn.network.parameters import LanguageModel, Parameters, architecture_of, initial
from charrnn.network.through_time import State, Window
from charrnn.prediction.predictor import check_mixable
from charrnn.prediction.scoring import Score
from charrnn.settings.training import AUTOMATIC, WEIGHTS, Ending, Fitted, Schedule, UpdateRule
from charrnn.system.cores import cores_for
from charrnn.text.corpus import Corpus
from charrnn.training.batches import BatchSize, Epoch, Noise, OwnInputs, portions_of
from charrnn.training.processes import SharedBatch

# The optimisers: m and v are their moments
#
#     sgd       m = 0.9 m + g;                                       p -= lr m
#     adagrad   v = v + g^2;                                         p -= lr g / (sqrt v + e)
#     rmsprop   v = 0.99 v + 0.01 g^2;                               p -= lr g / (sqrt v + e)
#     adam      m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;     p -= lr m^ / (sqrt v^ + e)
#
# where m^ = m / (1 - b1^step) and v^ = v / (1 - b2^step). Weight decay shrinks the matrices by lr
# times the decay, apart from the moments.


MOMENTS: dict[UpdateRule, tuple[str, ...]]
MOMENTS = {"adam": ("m", "v"), "rmsprop": ("v",), "adagrad": ("v",), "sgd": ("m",)}
Moments = dict[str, Array]

BETA1, BETA2 = 0.9, 0.999  # Adam's memory of past gradients and squares
DECAY_OF_SQUARES = 0.99  # RMSprop's memory of past squares
MOMENTUM = 0.9
EPSILON = 1e-8
LOWEST_RATE = 0.01  # of a schedule, as a share of the learning rate
ENOUGH_STEPS, MOST_HASTE = 3000, 3.0  # of a run; with fewer, U1 and V have a higher rate
FEWEST_BEFORE_STOP = 12  # check-ups of a run that automatic patience may end


def initial_moments(rule: UpdateRule, p: Parameters) -> Moments:
    return {name: np.zeros_like(p.flat) for name in MOMENTS[rule]}


def rate(schedule: Schedule, step: int, warmup: int, done: float) -> float:
    """Return the factor of the learning rate at a step, counted from 0: a rise, then a fall."""
    rising = min(1.0, (step + 1) / (warmup + 1))
    remaining = 1.0 - done
    if schedule == "constant":
        return rising
    falling = remaining if schedule == "linear" else (1 - math.cos(math.pi * remaining)) / 2
    return rising * (LOWEST_RATE + (1 - LOWEST_RATE) * falling)


def clip(gradient: Array, longest: float) -> float:
    """Shorten the gradient to ``longest`` unless that is 0, and return its norm before that."""
    length = math.sqrt(float(np.dot(gradient, gradient)))
    if 0 < longest < length:
        gradient *= longest / length
    return length


def haste_in(steps: float) -> float:
    """Return the factor of the rate of U1 and V: above 1 in a run of few steps.

    Their rows are those of symbols, and the rare ones are seen too seldom to learn at the rate
    of W. In many steps that rate is enough, and a higher one learns small texts by heart.
    """
    return min(MOST_HASTE, max(1.0, ENOUGH_STEPS / steps))


class Optimizer:
    """A rule for some parameters, and its memory for a step."""

    def __init__(self, rule: UpdateRule, p: Parameters, weight_decay: float = 0.0) -> None:
        self.rule, self.weight_decay = rule, weight_decay
        self._p, self._matrices = p.flat, [array for array in p.values() if array.ndim == 2]
        change = p.like()
        self._change, self._scratch = change.flat, np.empty_like(p.flat)
        self._symbol_changes = change["U1"], change["V"]

    def update(self, g: Array, moments: Moments, step: int, lr: float, haste: float = 1.0) -> None:
        """Update p and the moments in place with the gradient of a step, counted from 1.

        The rate of U1 and V is ``haste`` times lr.
        """
        if self.weight_decay:
            for matrix in self._matrices:
                matrix *= 1 - lr * self.weight_decay
        if self.rule == "sgd":
            m = moments["m"]
            m *= MOMENTUM
            m += g
            np.multiply(m, lr, out=self._change)
        elif self.rule == "adam":
            self._adam(g, moments["m"], moments["v"], step, lr)
        else:
            self._divide_by_root(g, moments["v"], lr)
        if haste != 1:
            for change in self._symbol_changes:
                change *= haste
        self._p -= self._change

    def _adam(self, g: Array, m: Array, v: Array, step: int, lr: float) -> None:
        change, scratch = self._change, self._scratch
        m *= BETA1
        np.multiply(g, 1 - BETA1, out=scratch)
        m += scratch
        v *= BETA2
        np.multiply(g, g, out=scratch)
        scratch *= 1 - BETA2
        v += scratch
        root = math.sqrt(1 - BETA2**step)
        # m^ / (sqrt v^ + e) = m root / ((1 - b1^step) (sqrt v + e root))
        np.sqrt(v, out=scratch)
        scratch += EPSILON * root
        np.divide(m, scratch, out=change)
        change *= lr * root / (1 - BETA1**step)

    def _divide_by_root(self, g: Array, v: Array, lr: float) -> None:
        """Make a step of adagrad, or of rmsprop, which forgets."""
        change = self._change
        np.multiply(g, g, out=change)
        if self.rule == "rmsprop":
            v *= DECAY_OF_SQUARES
            change *= 1 - DECAY_OF_SQUARES
        v += change
        np.sqrt(v, out=change)
        change += EPSILON
        np.divide(g, change, out=change)
        change *= lr


class Best(NamedTuple):
    """The parameters with the lowest held-out loss so far; the last ones if nothing is held out."""

    step: int
    nats_per_character: float
    flat: Array


@dataclass(kw_only=True)
class Counters:
    """The progress of a run."""

    step: int = 0
    epoch: int = 0
    window: int = 0  # of the epoch: how many have been read
    characters: int = 0  # targets seen, ENDs included
    nats: float = 0.0  # of the targets since the last check-up
    targets: int = 0  # the number of those targets
    minutes: float = 0.0  # used so far; counted only if minutes limit the run


@dataclass
class TrainState(Counters):
    """Everything that changes in a run. It belongs to ``train`` while that is running."""

    parameters: Parameters
    moments: Moments
    average: Array  # of the parameters, which check-ups measure
    carried: State  # (B, H) for each state: into the next window
    best: Best | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # a row a check-up


def start(corpus: Corpus, config: Fitted, model: LanguageModel | None = None) -> TrainState:
    """Return the state before the first step, with the parameters of a model if there is one."""
    if config.counts:
        check_mixable(config.ends)
    check_patience(config.patience, len(corpus.held_out))
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    if model is not None:
        size = len(corpus.train.ids)
        # each count and 1, so that none is 0
        softened = (np.exp(corpus.log_frequencies) * size + 1) / (size + architecture.symbols)
        p = model.parameters_for(corpus.vocabulary, softened)
    else:
        rng = np.random.default_rng([config.seed, WEIGHTS])
        p = initial(architecture, corpus.log_frequencies, rng, radius=config.init_radius)
        if architecture.head.lengths is not None:
            starts = corpus.train.starts.astype(np.int64)
            architecture.head.lengths.begin(p, np.diff(starts) - 1)
    shape = config.batch, config.hidden
    zeros: State = [np.zeros(shape, p.flat.dtype) for _ in architecture.state_names]
    return TrainState(p, initial_moments(config.optimizer, p), p.flat.copy(), zeros)


def check_patience(patience: int | None, held_out: int) -> None:
    """Raise SettingError if patience would wait for a held-out loss, and nothing is held out."""
    if patience is not None and not held_out:
        what = f"patience {patience} needs held-out text, and nothing is held out"
        hint = "Leave it out, or hold out some text with [holdout] or [valid]."
        raise SettingError(what, hint, "patience")


def find_ending(state: TrainState, config: Fitted) -> Ending | None:
    """Return why a run has ended, or None if it goes on."""
    best_step = None if state.best is None else state.best.step
    return ending_at(config, state.epoch, state.minutes, best_step, state.history)


def ending_at(
    config: Fitted,
    epochs: int,
    minutes: float,
    best_step: int | None,
    history: Sequence[Mapping[str, float]],
) -> Ending | None:
    """Return why a run that is this far has ended, or None.

    Automatic patience makes a quarter more check-ups than led to the best, and at least 12 in all.
    """
    if epochs >= config.epochs:
        return "epochs"
    if config.minutes is not None and minutes >= config.minutes:
        return "minutes"
    if config.patience is not None and best_step is not None:
        # Called at each step, so a long history is not counted row by row.
        until_best = bisect_right(history, best_step, key=lambda row: int(row["step"]))
        after_best = len(history) - until_best
        automatic = max(until_best // 4, FEWEST_BEFORE_STOP - until_best)
        patience = automatic if config.patience == AUTOMATIC else config.patience
        return "patience" if after_best >= patience else None
    return None


def share_done(state: TrainState, config: Fitted, length: int) -> float:
    """Return the share of the run that is done, by symbols seen or by time, from 0 to 1."""
    seen = state.characters / (config.epochs * length)
    used = 0.0 if config.minutes is None else state.minutes / config.minutes
    return min(1.0, max(seen, used))


# Steps and check-ups


TRAINED_PER_SCORED = 15  # symbols between two check-ups, for each symbol scored
LEAST_SCORED = 1 << 14  # symbols of a check-up, if so many are held out
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


def train(state: TrainState, corpus: Corpus, config: Fitted) -> Iterator[Event]:
    """Train until the run is over, changing the state in place."""
    yield from events_of(Learner(state, corpus, config))


def events_of(learner: Learner) -> Iterator[Event]:
    """Train as ``train`` does, by a learner whose processes have been started."""
    state, config = learner.state, learner.config
    try:
        while True:
            why = find_ending(state, config)
            if is_due(state, config):  # also after the last step
                act: Callable[[], Event] = learner.check_up
            elif why is None:
                act = learner.take_step
            else:
                break
            began = time.monotonic()  # what the caller does between events is left out
            event = act()
            if config.minutes is not None:
                state.minutes += (time.monotonic() - began) / 60
            yield event
    finally:
        learner.batch.close()
    yield Done(why)


class Learner:
    """Takes the steps and the check-ups of a run."""

    def __init__(self, state: TrainState, corpus: Corpus, config: Fitted) -> None:
        p = state.parameters
        self.state, self.corpus, self.config = state, corpus, config
        size = BatchSize(config.bptt, config.batch, config.parts, config.dropout > 0)
        self.batch = SharedBatch(p.architecture, size, cores_for(config.cores))
        self.optimizer = Optimizer(config.optimizer, p, config.weight_decay)
        self.noise = Noise(p, config)
        self.own_inputs = OwnInputs(p.architecture, config)
        self.limit = 4 * corpus.entropy + 10  # nats per character: more is divergence
        self.epoch: Epoch | None = None
        self.unread: Iterator[Window] = iter(())  # windows of the epoch
        trained = config.check_every * config.batch * config.bptt  # from check-up to check-up
        scored = max(LEAST_SCORED, trained // TRAINED_PER_SCORED)
        texts = [corpus.train, corpus.held_out]
        self.portions = portions_of(texts, [FAMILIAR, scored], config.parts)

    @np.errstate(all="ignore")  # overflow shows in the loss
    def take_step(self) -> Step:
        """Change the parameters by the gradient of one window."""
        state, batch, noise = self.state, self.batch, self.noise
        window = self.next_window()
        done = share_done(state, self.config, len(self.corpus.train.ids))
        noise.begin(state.step, done)
        window = self.own_inputs.read(state.parameters, window, state.carried, state.step, done)
        # The order of the draws: weights, characters, units.
        batch.p.flat[...] = state.parameters.flat
        noise.hide_weights(batch.p)
        inputs, masks = noise.hide_characters(window), noise.dropout_masks()
        nats = batch.nats_and_gradient(inputs, state.carried, masks)
        noise.mask_gradient(batch.gradient)
        norm = clip(batch.gradient.flat, self.config.clip)
        self.check_divergence(nats / window.count, norm)
        lr = self.learn(batch.gradient.flat, done)
        self.finish_window(window, nats)
        return Step(state.step, window.count, nats / window.count, norm, lr)

    def learn(self, gradient: Array, done: float) -> float:
        """Change the parameters and their average, and return the learning rate of this step."""
        state, config = self.state, self.config
        p, moments = state.parameters.flat, state.moments
        lr = config.lr * rate(config.schedule, state.step, config.warmup, done)
        state.step += 1
        planned_steps = state.step / done if done else math.inf
        self.optimizer.update(gradient, moments, state.step, lr, haste_in(planned_steps))
        span = max(1.0, AVERAGED * state.step * lr / config.lr)  # steps in the average
        state.average += (p - state.average) / np.float32(span)
        return lr

    def finish_window(self, window: Window, nats: float) -> None:
        """Count the targets of a window. The last window ends the epoch, and clears the states."""
        state = self.state
        state.characters += window.count
        state.nats += nats
        state.targets += window.count
        state.window += 1
        if self.epoch is not None and state.window == self.epoch.window_count:
            state.epoch += 1
            state.window = 0
            self.epoch = None
            for h in state.carried:
                h[...] = 0

    def next_window(self) -> Window:
        """Return the next window of this epoch, which begins here or goes on."""
        state, config = self.state, self.config
        if self.epoch is None:
            sizes = config.batch, config.bptt, config.seed, state.epoch
            counting = bool(state.parameters.architecture.inputs)
            self.epoch = Epoch(self.corpus.train, *sizes, counting=counting)
            if state.window >= self.epoch.window_count:
                what = f"the run is at window {state.window:,} of {self.epoch.window_count:,}"
                raise ResumeError(what, "It was not saved by this program; train a new model.")
            self.unread = self.epoch.windows_from(state.window)
        return next(self.unread)

    def check_up(self) -> Checkup:
        """Score the network, and keep its parameters if they are the best so far."""
        state = self.state
        of_train, of_held_out = self.scores()
        familiar = of_train.nats_per_character
        self.check_divergence(familiar)  # the loss of a step is from before its update
        score = of_held_out if of_held_out.count else None
        train_while_hidden = state.nats / state.targets
        loss = train_while_hidden if score is None else score.nats_per_character
        is_best = score is None or state.best is None or loss < state.best.nats_per_character
        if is_best:
            state.best = Best(state.step, loss, state.average.copy())
        row: dict[str, float] = {"step": state.step, "characters": state.characters}
        row |= {"train": familiar, "train_while_hidden": train_while_hidden}
        state.history.append(row if score is None else row | {"held_out": loss})
        state.nats, state.targets = 0.0, 0
        return Checkup(state.step, score, familiar, is_best, train_while_hidden)

    def scores(self) -> list[Score]:
        """Return the losses on excerpts of the training text and of the held-out text."""
        self.batch.p.flat[...] = self.state.average  # until the next step
        by_portion = self.batch.scores(self.corpus.vocabulary, self.portions)
        return [sum(scores, Score()) for scores in zip(*by_portion, strict=True)]

    def check_divergence(self, nats_per_character: float, norm: float = 0.0) -> None:
        """Raise DivergedError if the loss is far worse than that of knowing nothing, or NaN.

        Raise it also for a norm that is not finite.
        """
        is_sound = nats_per_character < self.limit and math.isfinite(norm)  # False for NaN
        if not is_sound:
            lr = f"{min(self.config.lr / 5, LR_TO_TRY):.1g}"
            what = f"the loss diverged at step {self.state.step:,}"
            # Errors write [lr] as lr in Python, and as --lr on the command line.
            raise DivergedError(what, f"Try a smaller learning rate, such as [lr] {lr}.")


def is_due(state: TrainState, config: Fitted) -> bool:
    """Return True if a check-up comes next, also in a run that was stopped right before one."""
    if state.step == 0 or (state.history and state.history[-1]["step"] == state.step):
        return False
    return state.step % config.check_every == 0 or find_ending(state, config) is not None
