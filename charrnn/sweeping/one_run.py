"""One run of a sweep from its beginning, or from where it was stopped, to its end.

The file that it comes to is, byte for byte, that of the same run alone with one thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from charrnn.blas import single_threaded
from charrnn.cost import characters_per_second
from charrnn.errors import CharrnnError, DivergedError, ModelBusyError, ResumeError, SaveError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.lock import locked
from charrnn.network.language_model import LanguageModel
from charrnn.presets import fitted, paced
from charrnn.settings.training import Fitted, TrainConfig
from charrnn.sweeping.grid import Trial
from charrnn.sweeping.result import Result, failed
from charrnn.sweeping.shared_data import Split, Splits
from charrnn.training.loop import Checkup, Done, Event
from charrnn.training.members import (
    check_together,
    scores_of_best,
    share_done,
    start_all,
    text_to_count,
    train_all,
)
from charrnn.training.warm_start import sized_like

OFTEN, SELDOM = 10.0, 60.0  # seconds from save to save, at check-ups and at any step
PATIENCE, TICK = 30.0, 0.1  # seconds to wait for a file in all, and from look to look
COSTLY = 50  # times as long as a save took pass until the next


@dataclass(frozen=True)
class Task:
    """A run to be made: plain values, to be sent to whoever makes it."""

    trial: Trial
    learning: dict[str, Any]  # the settings that are the same for all
    model: str  # the file, as the user knows it
    file: str = ""  # where it is written, if not there
    home: str = ""  # where it will be in the end, if it is written on another machine


@dataclass(frozen=True)
class Moved:
    """A run has come so far."""

    name: str
    share: float  # of the whole


@dataclass(frozen=True)
class Ended:
    """A run is over."""

    result: Result


def config_of(
    learning: dict[str, Any], settings: dict[str, Any], seed: int, model: LanguageModel | None
) -> TrainConfig:
    """The settings of a run; SettingError where they contradict each other."""
    given = {**learning, **settings}
    config = TrainConfig(**given, seed=seed, workers=1)
    if model is not None:
        config = sized_like(config, model, given)
    check_together(config)
    return config


def begun(task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """A run that has learned nothing yet."""
    trial, corpus = task.trial, split.corpus
    given = config_of(task.learning, trial.settings, trial.seed, model)
    c = fitted(given, corpus)
    if c.minutes is not None:
        c = paced(c, given, corpus, characters_per_second(c, corpus))
    first, *others = start_all(corpus, c, model)
    counted = text_to_count(corpus, c)
    return Checkpoint(corpus.vocabulary, c, split.record, first, others, counted)


def gone_on_with(path: str, task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """The run in a file; ResumeError unless it is this one."""
    run, corpus = checkpoint.load(path), split.corpus
    trial = task.trial
    wanted = fitted(config_of(task.learning, trial.settings, trial.seed, model), corpus)
    if not is_like(run.config, wanted) or not corpus.is_that_of(
        run.corpus.fingerprint, run.corpus.digest
    ):
        raise ResumeError(
            f"{path} holds another run",
            "Move it away, or sweep anew into another folder.",
        )
    run.corpus = split.record  # which knows where the texts are, wherever the file is by now
    return run


def is_like(had: Fitted, wanted: Fitted) -> bool:
    """Whether they are the same, but for what the speed of a machine has decided."""
    if wanted.minutes is not None:
        wanted = replace(wanted, check_every=had.check_every, warmup=had.warmup)
    return had == wanted


def learned(task: Task, splits: Splits) -> Generator[Moved | Ended, None, None]:
    """Make the run, telling of each step. Whoever closes this stops the run, which is saved."""
    at = time.monotonic()
    try:
        with single_threaded(), held(task.file or task.model):
            split = splits.counted(task.trial.seed)
            at = time.monotonic()  # what is read once for many runs is no part of any
            yield from _learned(task, split, splits.model, at)
    except DivergedError as error:
        yield Ended(failed(task.trial, error.what, "diverged", time.monotonic() - at))
    except (CharrnnError, OSError) as error:
        yield Ended(failed(task.trial, str(error), seconds=time.monotonic() - at))
    except MemoryError:
        yield Ended(failed(task.trial, "not enough memory", seconds=time.monotonic() - at))


@contextmanager
def held(path: str) -> Iterator[None]:
    """The file is ours alone in here. Who has it may be about to leave: a sweep that was killed."""
    with ExitStack() as stack:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                stack.enter_context(locked(path))
                break
            except ModelBusyError:
                if time.monotonic() > until:
                    raise
            time.sleep(TICK)
        yield


def _learned(
    task: Task, split: Split, model: LanguageModel | None, at: float
) -> Generator[Moved | Ended, None, None]:
    trial, path = task.trial, task.file or task.model
    is_there = os.path.exists(path)
    make = gone_on_with if is_there else _anew
    run = make(path, task, split, model)
    saving = Saving(path, run, task.home)
    why = "epochs"
    try:
        for event in train_all(run.states, split.corpus, run.config, run.counted):
            saving.note(event)
            if isinstance(event, Done):
                why = event.why
            share = share_done(run.states, run.config, len(split.corpus.train.ids))
            yield Moved(trial.name, share)
    except GeneratorExit:
        with suppress(SaveError):  # then it goes on from where it was saved before
            saving.save()
        raise
    saving.save()
    scores = scores_of_best(run.states, split.corpus, run.config, run.counted, however_long=True)
    best = run.state.best
    mean = scores["network"].overall.nats_per_character
    asked = {name: score.overall for name, score in scores.items() if name != "alone"}
    parts = {name: mean.per_character() for name, mean in asked.items()}
    yield Ended(
        Result(
            trial.name,
            trial.settings,
            trial.seed,
            None if best is None else best.step,
            mean,
            task.model,
            time.monotonic() - at,
            why,
            parts=parts if len(parts) > 1 else {},
        )
    )


def _anew(path: str, task: Task, split: Split, model: LanguageModel | None) -> Checkpoint:
    """A run into a file that is not there."""
    run = begun(task, split, model)
    container.check_writable(path, checkpoint.room_needed(path, run))  # before the work
    return run


class Saving:
    """Saves a run once in a while; a save that fails on the way is tried again later."""

    def __init__(self, path: str, run: Checkpoint, home: str) -> None:
        self.path, self.run, self.home = path, run, home
        self._at, self._cost = time.monotonic(), 0.0

    def note(self, event: Event) -> None:
        """Save if it is time."""
        pause = OFTEN if isinstance(event, Checkup) else SELDOM
        if time.monotonic() - self._at > max(pause, COSTLY * self._cost):
            with suppress(SaveError):
                self.save()

    def save(self) -> None:
        """Save it as it is now."""
        began = time.monotonic()
        try:
            checkpoint.save(self.path, self.run, self.home)
        finally:
            self._at = time.monotonic()
            self._cost = self._at - began
