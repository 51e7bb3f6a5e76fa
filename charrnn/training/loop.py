"""Learning by truncated back-propagation through time, told as a sequence of small events.

    for each epoch:                          the examples in a new order, end to end in B lanes
        for each window of T steps:          the state crosses windows, the gradient does not
            gradient -> clip -> optimiser
            every so often: a check-up       held-out loss; the best parameters so far are kept

``train`` is a generator: whoever iterates it decides what to draw, when to save and when to stop.
Everything that the run needs to go on is in its TrainState, so stopping is no longer asking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.errors import DivergedError, ResumeError, SettingError
from charrnn.network.architecture import Architecture
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import Array, Parameters, initial
from charrnn.network.regularization import Regularization
from charrnn.network.unfolded import State, Window
from charrnn.scoring.scorer import Score
from charrnn.seeding import WEIGHTS
from charrnn.settings.training import Ending, Fitted, ending
from charrnn.training.batches import Epoch
from charrnn.training.checkup import Validator
from charrnn.training.optimizers import Moments, Optimizer, clip, initial_moments
from charrnn.training.own_inputs import OwnInputs
from charrnn.training.schedules import rate
from charrnn.training.single_process import ALONE, Ranks
from charrnn.training.stopwatch import Stopwatch
from charrnn.training.warm_start import inherited

BLOCK = 1 << 22  # symbols counted at a time
USUAL_LR = 0.002


@dataclass(frozen=True)
class Best:
    """The parameters with the lowest held-out loss so far; where nothing is held out, the last."""

    step: int
    nats_per_character: float
    flat: Array


@dataclass
class TrainState:
    """All that a run knows. It belongs to ``train`` while that is running."""

    parameters: Parameters
    moments: Moments
    lanes: State  # (B, H) for each state: where the next window starts from
    step: int = 0
    epoch: int = 0
    window: int = 0  # of the epoch: how many have been read
    characters: int = 0  # targets seen, ends included
    nats: float = 0.0  # of the targets since the last check-up
    since: int = 0  # how many those are
    minutes: float = 0.0  # used so far; counted only where minutes are what ends the run
    best: Best | None = None
    history: list[dict[str, float]] = field(default_factory=list)  # a row a check-up


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


def start(corpus: Corpus, config: Fitted, model: LanguageModel | None = None) -> TrainState:
    """A network that has learned nothing yet, or no more than this model has."""
    check_patience(config.patience, corpus)
    architecture = architecture_of(config, corpus.vocabulary.symbols)
    rng = np.random.default_rng([config.seed, WEIGHTS])
    if model is None:
        p = initial(architecture, log_frequencies(corpus), rng)
        lengths = architecture.head.lengths
        if lengths is not None:
            starts = corpus.train.starts.astype(np.int64)
            lengths.begin(p, np.diff(starts) - 1)
    else:
        size = len(corpus.train.ids)
        softened = (np.exp(log_frequencies(corpus)) * size + 1) / (size + architecture.symbols)
        p = inherited(model, corpus.vocabulary, softened)
    lanes: State = [
        np.zeros((config.batch, config.hidden), p.flat.dtype) for _ in architecture.state_names
    ]
    return TrainState(p, initial_moments(config.optimizer, p), lanes)


def architecture_of(config: Fitted, symbols: int) -> Architecture:
    """The network that these settings ask for, over so many symbols."""
    sizes = symbols, config.hidden, config.layers, config.cell, config.ends
    asked = ("clock",) if config.clock else ()
    return Architecture(*sizes, forced=config.teacher_forcing, asked=asked)


def check_patience(patience: int | None, corpus: Corpus) -> None:
    """Raise SettingError where patience would wait for a held-out loss that there is not."""
    if patience is not None and not len(corpus.held_out):
        raise SettingError(
            f"patience {patience} needs text that is held out, and there is none",
            "Leave it out, or hold some out.",
            "nothing held out",
            setting="patience",
        )


def log_frequencies(corpus: Corpus) -> Array:
    """How often each symbol is a target in training, as a log; -inf where never."""
    counts = np.zeros(corpus.vocabulary.symbols, np.int64)
    for at in range(0, len(corpus.train.ids), BLOCK):
        block = corpus.train.ids[at : at + BLOCK]
        counts += np.bincount(block, minlength=len(counts))
    with np.errstate(divide="ignore"):
        logs: Array = np.log(counts / counts.sum())
    return logs


def entropy(logs: Array) -> float:
    """The entropy of the unigram distribution: what a network that has learned nothing loses."""
    seen = logs[np.isfinite(logs)]
    return -float(np.sum(np.exp(seen) * seen))


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
            ranks.align(state.parameters.flat, state.moments, state.lanes)
            familiar = validator.familiar_nats()
            learner.check_bounds(familiar)
            yield check_up(state, validator.score(), familiar)
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
        self.clock.lap()  # what check-ups and whoever watches took is not the step's
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
        if config.minutes is not None:
            state.minutes += self.ranks.of_first(self.clock.lap()) / 60
        return Step(state.step, count, nats / count, norm, lr)

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
        f"try a smaller learning rate, such as {lr}",
        "lr",
        lr=lr,
    )
