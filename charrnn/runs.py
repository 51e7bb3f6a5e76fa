"""A run from Python: to watch as it goes on, save, and go on with.

model = charrnn.fit(Path("names.txt"))

run = charrnn.train(["anna", "bob", ...], TrainConfig(hidden=64))
next(run)
run.model.sample()
run.save("names.npz")
run = charrnn.resume("names.npz", ["anna", "bob", ...], epochs=200)

These are the objects that the commands use. A run of the command line can be resumed here, and one
of Python there: it takes the same texts.
"""

from __future__ import annotations

import codecs
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any

from charrnn.corpus.corpus import Corpus, CorpusConfig, Texts, corpus_of
from charrnn.corpus.files import path_of, place_of
from charrnn.counts.baselines import Baseline
from charrnn.display.notebook import watched
from charrnn.errors import CharrnnError, ResumeError, SettingError
from charrnn.model import Model, alone
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import CorpusRecord, record_of
from charrnn.model_file.saving import locked
from charrnn.network.parameters import LanguageModel
from charrnn.plan import FOREVER, characters_per_second, fitted, paced
from charrnn.scoring.baselines import counting_baselines
from charrnn.settings.fields import COUNT, check, check_agreement, in_words
from charrnn.settings.training import TrainConfig
from charrnn.system import single_threaded
from charrnn.training.loop import Event
from charrnn.training.members import check_together, start_all, text_to_count, train_all
from charrnn.training.state import check_patience, sized_like, sizes_of

MAY_RISE = ("epochs", "minutes", "patience")
CUTTING = ("examples", "holdout", "encoding", "newlines", "normalize", "errors")


class Run(Iterator[Event]):
    """Training as it goes on. Whoever stops asking for events stops it, and may go on later; Ctrl-C
    comes after the step that it falls into, and the run can go on and be saved as ever.
    """

    def __init__(self, corpus: Corpus, run: Checkpoint) -> None:
        self.checkpoint = run
        self._events = alone(train_all(run.states, corpus, run.config, run.counted))
        self._between_steps = threading.RLock()  # who saves meanwhile sees no half of a step
        self._untold: Event | None = None  # what Ctrl-C has kept from whoever asked
        self._is_torn = False

    def __next__(self) -> Event:
        with self._between_steps:
            if self._untold is None:
                self._check_whole()
                with ctrl_c_waits():
                    self._untold = self._next_event()
            event, self._untold = self._untold, None
            return event

    def _next_event(self) -> Event:
        try:
            return next(self._events)
        except (StopIteration, CharrnnError):
            raise
        except BaseException:
            self._is_torn = True
            raise

    def _check_whole(self) -> None:
        if self._is_torn:
            raise ResumeError(
                "the run was torn in the middle of a step",
                "Go on from what was saved before: charrnn.resume(path).",
            )

    @property
    def model(self) -> Model:
        """The best model so far: that of the lowest held-out loss. It stays as it is now."""
        with self._between_steps:
            return Model(checkpoint.trained(self.checkpoint))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run into a model file, over what is there, for ``load`` and ``resume``."""
        with locked(path), self._between_steps:
            self._check_whole()
            checkpoint.save(path, self.checkpoint)


def train(
    texts: Texts,
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    seed: int | None = None,
    start_from: Model | None = None,
) -> Run:
    """A run that has not begun on these texts, each an example, or on files, read as the command
    line reads them. It starts from the parameters of a model, if there is one, and has its sizes.
    A seed beside a config decides what is held out, and that of the config all else.
    """
    config = TrainConfig(seed=seed or 0) if config is None else config
    if not isinstance(config, TrainConfig):
        raise SettingError(
            f"config cannot be {type(config).__name__}", "Give a TrainConfig(hidden=64, ...)."
        )
    model = None if start_from is None else start_from.language_model
    config = config if model is None else sized_like(config, model)
    known = "" if model is None else model.vocabulary.characters
    chosen = config.seed if seed is None else seed
    cutting = CorpusConfig(holdout=holdout, seed=chosen, known=known)
    with single_threaded():
        corpus = corpus_of(texts, cutting)
        return Run(corpus, begin(corpus, record_of(corpus, cutting, {}), config, model))


def configure(given: Mapping[str, Any], model: LanguageModel | None) -> TrainConfig:
    """Return the settings of a new run, which has the sizes of a model to start from."""
    sizes = {} if model is None else sizes_of(model)
    config = TrainConfig(**{**sizes, **given})
    if model is not None:
        config = sized_like(config, model, given)
    check_together(config)
    return config


def begin(
    corpus: Corpus,
    record: CorpusRecord,
    config: TrainConfig,
    start_from: LanguageModel | None = None,
    speed: float | None = None,
) -> Checkpoint:
    """Return a new run on this corpus, every open setting chosen to fit it.

    ``speed`` is that of this machine in characters per second; it is measured if a time limit
    needs it.
    """
    plan = fitted(config, corpus)
    if plan.minutes is not None:
        if speed is None:
            speed = characters_per_second(plan, corpus)
        plan = paced(plan, config, corpus, speed)
    states = start_all(corpus, plan, start_from)
    return Checkpoint(corpus.vocabulary, plan, record, states, text_to_count(corpus, plan))


def compute_baselines(corpus: Corpus, record: CorpusRecord) -> Iterator[Baseline]:
    """Yield the baselines of a corpus as they are computed, and add each to the record."""
    for baseline in counting_baselines(corpus, corpus.held_out.ids):
        record.baselines[baseline.name] = baseline.nats_per_character
        yield baseline


def resume(
    path: str | PathLike[str], texts: Texts | None = None, *, epochs: int | None = None
) -> Run:
    """Return the run in a file, to go on exactly where it stopped.

    The texts have to be the same, in the same order. Without them, the files that the run learned
    from are read again. More epochs can be given than before, not fewer.
    """

    def read(run: Checkpoint) -> Corpus:
        if texts is None and not run.corpus.sources:
            raise ResumeError(
                f"{path} learned from texts that no file holds", "Give it the same texts again."
            )
        again: Texts = [Path(name) for name in run.corpus.source_files] if texts is None else texts
        return corpus_of(again, run.corpus.config, run.corpus.valid_files)

    given = {} if epochs is None else {"epochs": check("epochs", epochs, COUNT)}
    return Run(*reopen(path, read, given))


def reopen(
    path: str | PathLike[str],
    read: Callable[[Checkpoint], Corpus],
    given: Mapping[str, Any],
    *,
    may_rise: Collection[str] = MAY_RISE,
    show: Callable[[str, object], str] = in_words,
    hint: str = "Leave it out to go on, or train anew into another file.",
) -> tuple[Corpus, Checkpoint]:
    """Return the corpus of a run in a file, read once more, and the run with its raised limits.

    Raise ResumeError if the corpus is another one, or if a setting of the corpus or of training
    was given another value than before. See ``check_agreement`` for ``may_rise`` and ``show``.
    """
    run = checkpoint.load(path)
    had = asdict(run.config)
    limits = had | ({"epochs": None} if run.config.epochs == FOREVER else {})
    cutting = {name: given[name] for name in CUTTING if name in given}
    if "encoding" in cutting and same_encoding(cutting["encoding"], run.corpus.encoding):
        del cutting["encoding"]
    if cutting.get("examples") == "auto":  # may have led to any kind
        del cutting["examples"]
    cut = {**asdict(run.corpus), "examples": run.corpus.examples_are}
    check_agreement(path, cut, cutting, hint, show=show)
    corpus = read(run)
    check_same_corpus(path, run, corpus)
    run.corpus = renamed(run.corpus, corpus)
    raised = {name: given[name] for name in may_rise if name in given}
    check_patience(raised.get("patience"), corpus)
    check_agreement(path, limits, raised, hint, may_rise=may_rise, show=show)
    fixed = {name: given[name] for name in had if name in given and name not in raised}
    fits = asdict(fitted(TrainConfig(**{**asdict(run.config), **fixed}), corpus))
    check_agreement(path, had, {name: fits[name] for name in fixed}, hint, show=show)
    run.config = replace(run.config, **raised)
    return corpus, run


def same_encoding(one: str, other: str) -> bool:
    """Return True if both names are those of one codec."""
    return codecs.lookup(one).name == codecs.lookup(other).name


def check_same_corpus(path: str | PathLike[str], run: Checkpoint, corpus: Corpus) -> None:
    """Raise ResumeError unless this is the corpus that the run learned from."""
    now, then = corpus.fingerprint, run.corpus.fingerprint
    if not corpus.is_that_of(then, run.corpus.digest):
        names, before = (", ".join(known) for known in (corpus.sources, run.corpus.sources))
        raise ResumeError(
            f"{names or 'the given text'} is not what {path} learned from"
            f" ({before or 'texts from Python'}): SHA-256 {now[:12]}, and it was {then[:12]}",
            "Give it the same text in the same order, or train anew into another file.",
        )
    if corpus.vocabulary != run.vocabulary:
        raise ResumeError(
            f"this corpus is no longer cut as it was when {path} was begun",
            "Go on with the version of NumPy that began it, or train anew.",
        )


def renamed(record: CorpusRecord, corpus: Corpus) -> CorpusRecord:
    """Return the record with the names that the corpus has now, if its files have moved.

    Old names that lead to a file stay: the model file is the same whether or not the run was
    interrupted, and whatever its corpus was called on the way.
    """
    if not corpus.sources or all(os.path.exists(path_of(file)) for file in record.files):
        return record
    places = tuple(map(place_of, (*corpus.sources, *corpus.valid)))
    return replace(record, sources=corpus.sources, valid=corpus.valid, places=places)


def fit(
    texts: Texts,
    config: TrainConfig | None = None,
    *,
    holdout: float = 0.1,
    start_from: Model | None = None,
    progress: bool = False,
) -> Model:
    """The model that a whole run on these texts comes to; ``save`` keeps the run as well. With
    ``progress`` a bar shows how far it is, in a terminal or in a notebook.
    """
    run = train(texts, config, holdout=holdout, start_from=start_from)
    for _ in watched(run.checkpoint, run) if progress else run:
        pass
    return Model(checkpoint.trained(run.checkpoint), run.checkpoint)


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """The model in a file."""
    return Model(checkpoint.load_trained(path), file=os.path.basename(os.fspath(path)))


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C comes at the end of this; a second one at once, for whoever cannot wait."""
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
