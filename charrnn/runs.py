"""Training runs: begun, resumed and saved by Python, the commands and sweeps alike.

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
next(run)
run.save("names.npz")
run = charrnn.resume("names.npz", ["anna", "bob", ...], epochs=200)
"""

from __future__ import annotations

import codecs
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from charrnn import checkpoint, model_file, saving
from charrnn.checkpoint import Checkpoint, CorpusRecord, record_of
from charrnn.corpus import Corpus, Texts, corpus_of
from charrnn.counts import Baseline, baselines, sample_of
from charrnn.errors import CharrnnError, ResumeError, SaveError, SettingError
from charrnn.model import Model
from charrnn.network.parameters import LanguageModel
from charrnn.plan import FOREVER, characters_per_second, fit_pace, fit_settings
from charrnn.plots import show_progress
from charrnn.settings import (
    COUNT,
    CorpusConfig,
    TrainConfig,
    check,
    check_agreement,
    make_config,
)
from charrnn.system import path_of
from charrnn.training.loop import Checkup, Event
from charrnn.training.loop import train as learn
from charrnn.training.state import check_patience, sizes_of, start, take_sizes

MAY_RISE = ("epochs", "minutes", "patience")
CUTTING = ("examples", "holdout", "encoding", "normalize", "errors", "column")


class Run(Iterator[Event]):
    """An iterator over the events of training; without further events, training pauses.

    Ctrl-C takes effect after the current step, and the run can then go on or be saved.
    """

    def __init__(self, corpus: Corpus, run: Checkpoint) -> None:
        self.checkpoint = run
        self._events = learn(run.state, corpus, run.config)
        self._between_steps = threading.RLock()  # another thread saves whole steps only
        self._undelivered: Event | None = None  # kept when Ctrl-C interrupts its delivery
        self._is_torn = False

    def __next__(self) -> Event:
        with self._between_steps:
            if self._undelivered is None:
                self._check_whole()
                with delay_ctrl_c():
                    try:
                        self._undelivered = next(self._events)
                    except (StopIteration, CharrnnError):
                        raise
                    except BaseException:
                        self._is_torn = True
                        raise
            event, self._undelivered = self._undelivered, None
            return event

    def _check_whole(self) -> None:
        if self._is_torn:
            what = "the run was interrupted in the middle of a step"
            raise ResumeError(what, "Go on from the last save: charrnn.resume(path).")

    @property
    def model(self) -> Model:
        """A copy of the model with the lowest held-out loss so far."""
        with self._between_steps:
            return Model(checkpoint.copy_best(self.checkpoint))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the run into a model file for ``load`` and ``resume``; replace an older model.

        path: The name of the file, which ends in .npz.
        force: Replace a file that is no model; default: False.
        """
        with model_file.locked(path, force=force), self._between_steps:
            self._check_whole()
            model_file.save(path, self.checkpoint)


def train(
    texts: Texts,
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    start_from: Model | None = None,
    **settings: Any,
) -> Run:
    """Return a new run on texts, an example each, or on files.

    texts: An iterable of str, each an example; or a path or paths of files with examples.
    config: A TrainConfig, or None: the defaults.
    holdout: The fraction that is held out to measure the loss, from 0 to below 1; default: 0.1.
    start_from: A Model to start from, whose sizes the new one takes, or None: random parameters.
    settings: Settings of TrainConfig by name, such as epochs=5, hidden=64; default: none.
    """
    if config is None:
        config = make_config(TrainConfig, settings, "holdout", "start_from")
    elif check_config(config) and settings:
        config = make_config(TrainConfig, {**vars(config), **settings})
    if not isinstance(start_from, Model | None):
        what = f"start_from cannot be {type(start_from).__name__}"
        raise SettingError(what, "Give a model: charrnn.load(name).")
    model = None if start_from is None else start_from.language_model
    config = config if model is None else take_sizes(config, model)
    known = "" if model is None else model.vocabulary.characters
    cutting = CorpusConfig(holdout=holdout, known=known)
    corpus = corpus_of(texts, cutting)
    run = begin(corpus, cutting, config, model)
    return Run(corpus, run)


def check_config(config: TrainConfig) -> TrainConfig:
    """Return the settings. Raise SettingError if they are of another type."""
    if not isinstance(config, TrainConfig):
        what = f"config cannot be {type(config).__name__}"
        raise SettingError(what, "Give a TrainConfig(hidden=64, ...).")
    return config


def configure(given: Mapping[str, Any], model: LanguageModel | None) -> TrainConfig:
    """Return the settings of a new run, which has the sizes of a model to start from."""
    sizes = {} if model is None else sizes_of(model)
    config = TrainConfig(**{**sizes, **given})
    if model is not None:
        config = take_sizes(config, model, given)
    return config


def begin(
    corpus: Corpus,
    cutting: CorpusConfig,
    config: TrainConfig,
    start_from: LanguageModel | None = None,
    speed: float | None = None,
) -> Checkpoint:
    """Return a new run on this corpus, every open setting chosen to fit it.

    ``speed`` in characters per second is measured if a time limit needs it.
    """
    record = record_of(corpus, cutting, {})
    plan = fit_settings(config, corpus, start_from)
    if plan.minutes is not None:
        rate = characters_per_second(plan, corpus) if speed is None else speed
        plan = fit_pace(plan, config, corpus, rate)
    state = start(corpus, plan, start_from)
    counted = None
    if plan.counts:
        counted = sample_of(corpus.train.ids)
    return Checkpoint(corpus.vocabulary, plan, record, state, counted)


def compute_baselines(corpus: Corpus, record: CorpusRecord) -> Iterator[Baseline]:
    """Yield the baselines of a corpus as they are computed, and add each to the record."""
    for baseline in baselines(corpus.train.ids, corpus.held_out.ids, corpus.vocabulary):
        record.baselines[baseline.name] = baseline.nats_per_character
        yield baseline


def resume(
    path: str | PathLike[str], texts: Texts | None = None, *, epochs: int | None = None
) -> Run:
    """Return the run in a file, to go on exactly where it stopped.

    path: The model file of the run.
    texts: The same texts as before in the same order, or None: the files that the run learned from
        are read again.
    epochs: More epochs than before, a whole number from 1, or None: as before.
    """

    def read(run: Checkpoint) -> Corpus:
        if texts is None and (not run.corpus.sources or "-" in run.corpus.names):
            kind = "standard input" if run.corpus.sources else "texts from Python"
            raise ResumeError(f"{path} was trained on {kind}", "Give the same texts again.")
        again: Texts = [Path(name) for name in run.corpus.sources] if texts is None else texts
        return corpus_of(again, run.corpus.config, run.corpus.valid)

    given = {} if epochs is None else {"epochs": check("epochs", epochs, COUNT)}
    return Run(*reopen(path, read, given))


def reopen(
    path: str | PathLike[str],
    read: Callable[[Checkpoint], Corpus],
    given: Mapping[str, Any],
    *,
    may_rise: Collection[str] = MAY_RISE,
    hint: str = "Leave it out to go on, or train a new model into another file.",
) -> tuple[Corpus, Checkpoint]:
    """Return the corpus of a run in a file, read once more, and the run with its raised limits.

    Raise ResumeError if the corpus is another one, or if a setting of the corpus or of training
    was given another value than before. See ``check_agreement`` for ``may_rise``.
    """
    run = model_file.load(path)
    had = asdict(run.config)
    limits = had | ({"epochs": None} if run.config.epochs == FOREVER else {})
    cutting = {name: given[name] for name in CUTTING if name in given}
    encodings = cutting.get("encoding", ""), run.corpus.reading.encoding
    if encodings[0] and codecs.lookup(encodings[0]).name == codecs.lookup(encodings[1]).name:
        del cutting["encoding"]
    if cutting.get("examples") == "auto":  # may have led to any kind
        del cutting["examples"]
    record = run.corpus
    cut = asdict(record.reading) | {"examples": record.examples_are, "holdout": record.holdout}
    check_agreement(path, cut, cutting, hint)
    corpus = read(run)
    check_same_corpus(path, run, corpus)
    if corpus.sources and not all(os.path.exists(path_of(file)) for file in run.corpus.names):
        # Names that still lead to a file stay, so that the model file is the same after a resume.
        run.corpus = replace(run.corpus, sources=corpus.sources, valid=corpus.valid)
    raised = {name: given[name] for name in may_rise if name in given}
    check_patience(raised.get("patience"), corpus)
    check_agreement(path, limits, raised, hint, may_rise=may_rise)
    fixed = {name: given[name] for name in had if name in given and name not in raised}
    cores = fixed.pop("cores", None)  # may change: parts decide the numbers
    fits = asdict(fit_settings(TrainConfig(**{**asdict(run.config), **fixed}), corpus))
    check_agreement(path, had, {name: fits[name] for name in fixed}, hint)
    run.config = replace(run.config, **raised, cores=cores)
    return corpus, run


def check_same_corpus(path: str | PathLike[str], run: Checkpoint, corpus: Corpus) -> None:
    """Raise ResumeError unless this is the corpus that the run learned from."""
    now, then = corpus.fingerprint, run.corpus.fingerprint
    had = run.corpus.digest  # files of the first format lack one
    if now != then and not (had and corpus.digest == had):
        names, before = (", ".join(known) for known in (corpus.sources, run.corpus.sources))
        old = f"{before or 'texts from Python'} (SHA-256 {then[:12]})"
        new = f"{names or 'the given text'} (SHA-256 {now[:12]})"
        hint = "Give the same text in the same order, or train a new model into another file."
        raise ResumeError(f"{path} was trained on {old}, not on {new}", hint)
    if corpus.vocabulary != run.vocabulary:
        what = f"the held-out part of this corpus is not that of {path}"
        hint = "Use the version of NumPy that began the run, or train a new model."
        raise ResumeError(what, hint)


def fit(
    texts: Texts,
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    start_from: Model | None = None,
    progress: bool = False,
    **settings: Any,
) -> Model:
    """Train on texts or files, and return the best model; its ``save`` keeps the run as well.

    texts: An iterable of str, each an example; or a path or paths of files with examples.
    config: A TrainConfig, or None: the defaults.
    holdout: The fraction that is held out to measure the loss, from 0 to below 1; default: 0.1.
    start_from: A Model to start from, whose sizes the new one takes, or None: random parameters.
    progress: Show a progress bar, in a notebook or on the terminal; default: False.
    settings: Settings of TrainConfig by name, such as epochs=5, hidden=64; default: none.
    """
    run = train(texts, config, holdout=holdout, start_from=start_from, **settings)
    for _ in show_progress(run.checkpoint, run) if progress else run:
        pass
    return Model(checkpoint.copy_best(run.checkpoint), run.checkpoint)


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """Return the model in a file, or one that comes with charrnn.

    path: The name of the file, or one of the names dinosaurs, given-names, latin, reber and verses;
        default: model.npz.
    """
    return Model(model_file.load_trained(path), file=os.path.basename(os.fspath(path)))


@contextmanager
def delay_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block; a second Ctrl-C takes effect at once."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        if len(came) > 1:
            handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if len(came) == 1:
            handler(*came[0])


OFTEN = 2.0  # seconds between two saves, at check-ups
SELDOM = 60.0  # the same between check-ups, and after a save that failed
COSTLY = 50  # times the duration of a save until the next: saving takes at most 2% of the time


class Saver:
    """Keeps the model file of a run up to date."""

    def __init__(
        self,
        path: str | PathLike[str],
        run: Checkpoint,
        *,
        is_saved: bool = False,
        alarm: Callable[[str], None] = lambda _: None,
        kept: Callable[[str], None] | None = None,
    ) -> None:
        """Call ``alarm`` if a save fails during training. The file is up to date if it
        ``is_saved``. The first save gives an old model another name, and calls ``kept`` with it.
        """
        self.path, self.run = os.fspath(path), run
        self.before: Callable[[], None] = lambda: None  # called ahead of each save
        self._alarm, self._kept = alarm, kept
        self.step: int | None = run.state.step if is_saved else None  # in the file
        self._saved = self._progress() if is_saved else None
        self._at = time.monotonic()
        self._often, self._seldom = 0.0, SELDOM  # the first check-up is saved at once

    def note(self, event: Event) -> None:
        """Save if it is time. A save that fails here is repeated later."""
        passed = time.monotonic() - self._at
        if passed < self._seldom and not (isinstance(event, Checkup) and passed >= self._often):
            return
        try:
            self.save()
        except SaveError as error:
            self._alarm(f"{error.what}; training continues")
            self._at = time.monotonic()
            self._often = SELDOM

    def save(self) -> None:
        """Save if the file is not up to date. Raise SaveError if that fails."""
        if self._saved == self._progress() and os.path.exists(self.path):
            return
        began = time.monotonic()
        self.before()
        if self._kept is not None and (old := saving.keep_old(self.path)):
            self._kept(old)
        self._kept = None
        model_file.save(self.path, self.run)
        self._saved, self.step = self._progress(), self.run.state.step
        self._at = time.monotonic()
        self._often = max(OFTEN, COSTLY * (self._at - began))
        self._seldom = max(SELDOM, self._often)

    def save_diverged(self) -> None:
        """Save a run that has diverged if there is no file and a file can hold its numbers."""
        largest = np.abs(self.run.state.parameters.flat).max()
        if largest < model_file.TOO_LARGE and not os.path.exists(self.path):
            with suppress(SaveError):
                self.save()

    def file_in_words(self) -> str:
        if self.step is not None and not os.path.exists(self.path):
            return f"{self.path} was saved at step {self.step:,} but no longer exists."
        if self.step is not None:
            return f"{self.path} holds the run at step {self.step:,}."
        if os.path.exists(self.path):
            return f"{self.path} is unchanged."
        return "Nothing was saved."

    def _progress(self) -> tuple[object, ...]:
        run = self.run
        return run.config, run.state.step, len(run.state.history), str(run.oddest)
