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

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import FrameType

from charrnn.corpus import corpus as corpora
from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.display.notebook import watched
from charrnn.errors import CharrnnError, ResumeError, SettingError
from charrnn.model import Model, alone, checked
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import record_of
from charrnn.model_file.saving import locked
from charrnn.plan import characters_per_second, fitted, paced
from charrnn.settings.fields import COUNT, check
from charrnn.settings.training import TrainConfig
from charrnn.system import single_threaded
from charrnn.training.loop import Event
from charrnn.training.members import start_all, text_to_count, train_all
from charrnn.training.state import sized_like

Texts = Iterable[str] | Path | Sequence[Path]  # examples, or files that hold some


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
        plan = fitted(config, corpus)
        if plan.minutes is not None:
            plan = paced(plan, config, corpus, characters_per_second(plan, corpus))
        first, *others = start_all(corpus, plan, model)
    record = record_of(corpus, cutting, {})
    counted = text_to_count(corpus, plan)
    return Run(corpus, Checkpoint(corpus.vocabulary, plan, record, first, others, counted))


def resume(
    path: str | PathLike[str], texts: Texts | None = None, *, epochs: int | None = None
) -> Run:
    """The run in a file, to go on with exactly. The texts have to be the same, in their order; left
    out, they are read again from the files that it learned from.
    """
    run = checkpoint.load(Path(path))
    if texts is None and not run.corpus.sources:
        raise ResumeError(
            f"{path} learned from texts that no file holds", "Give it the same texts again."
        )
    again: Texts = [Path(name) for name in run.corpus.source_files] if texts is None else texts
    corpus = corpus_of(again, run.corpus.config, run.corpus.valid_files)
    if not corpus.is_that_of(run.corpus.fingerprint, run.corpus.digest):
        raise ResumeError(
            f"these texts are not those that {path} learned from",
            "Give it the same texts in the same order, or train anew.",
        )
    if epochs is not None:
        epochs = check("epochs", epochs, COUNT)
        if epochs < run.config.epochs:
            raise ResumeError(
                f"epochs {epochs} contradicts {path}, which has {run.config.epochs:,}",
                "They may be raised, not lowered.",
            )
        run.config = replace(run.config, epochs=epochs)
    return Run(corpus, run)


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


def corpus_of(texts: Texts, config: CorpusConfig, valid: Sequence[str] = ()) -> Corpus:
    """The corpus of texts, or of files."""
    if isinstance(texts, str):
        raise SettingError(
            "a str is one text, and a corpus has many",
            f"Give a list of texts, or Path({texts[:40]!r}) to read a file.",
        )
    if isinstance(texts, Path):
        texts = [texts]
    if isinstance(texts, Sequence) and texts and all(isinstance(one, Path) for one in texts):
        return corpora.load([str(path) for path in texts], config, valid)
    return corpora.from_texts(checked(texts), config)
