"""The facts of a model file: a corpus on record, a model, and all that its run needs to go on.

A new fact is a field of Facts; of Trained, if it concerns the model but not its run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.prediction.predictor import EVEN
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.training import Ending, Fitted
from charrnn.system.packaged import path_of
from charrnn.text.corpus import Corpus
from charrnn.text.vocabulary import Ids, Vocabulary
from charrnn.training.state import Counters, TrainState, ending_at

Row = dict[str, float]


@dataclass(frozen=True)
class CorpusRecord:
    """The corpus of a run: enough to find it again and to recognise it."""

    fingerprint: str
    digest: str  # of the examples
    examples_are: str
    holdout: float
    reading: Reading
    examples: int
    characters: int
    held_out_examples: int
    held_out_characters: int
    # from the current folder; in a file, from the folder of the model
    sources: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    baselines: dict[str, float] = field(default_factory=dict)  # held-out nats per character
    known: str = ""  # the characters of the model that the run started from, if any

    @property
    def config(self) -> CorpusConfig:
        """The settings that make the same corpus of the same files."""
        kind: Any = "lines" if self.examples_are == "texts" else self.examples_are
        return CorpusConfig(kind, self.holdout, self.reading, self.known)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.sources, *self.valid)

    def renamed(self, rename: Callable[[str], str]) -> CorpusRecord:
        """Return the record with other names of its files."""
        sources, valid = tuple(map(rename, self.sources)), tuple(map(rename, self.valid))
        return replace(self, sources=sources, valid=valid)

    def seen_from(self, folder: str) -> CorpusRecord:
        """Return the record for a file in a folder."""

        def rename(name: str) -> str:
            if name == "-" or name.startswith("/dev/"):
                return "-"  # neither can be read again
            return relative(name, folder) if path_of(name) == name else name

        return self.renamed(rename)

    def beside(self, file: str) -> CorpusRecord:
        """Return the record in a file, its files as seen from the current folder."""

        def rename(name: str) -> str:
            path = os.path.join(os.path.dirname(file), name)
            return relative(path, os.curdir) if name != "-" and os.path.exists(path) else name

        return self.renamed(rename)


def relative(path: str, folder: str) -> str:
    """Return a path as seen from a folder, if it can be."""
    try:
        return os.path.relpath(path, folder)
    except (OSError, ValueError):  # no current folder; another drive
        return path


def record_of(corpus: Corpus, config: CorpusConfig) -> CorpusRecord:
    """Return the record of a corpus for a model file."""
    train, held_out = corpus.train, corpus.held_out
    origin = corpus.fingerprint, corpus.digest, corpus.examples_are
    sizes = len(train), train.characters, len(held_out), held_out.characters
    files = corpus.sources, corpus.valid
    how = config.holdout, config.reading
    return CorpusRecord(*origin, *how, *sizes, *files, known=config.known)


@dataclass(kw_only=True, eq=False)
class Facts:
    """The facts about a model that are also those of its run."""

    config: Fitted
    corpus: CorpusRecord
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept
    oddest: dict[str, float] = field(default_factory=dict)  # nats of the oddest example, by use
    mixture: tuple[float, ...] = EVEN  # weights of network and counts: see Predictor

    def shared(self) -> dict[str, Any]:
        """Return these facts by name."""
        return {field.name: getattr(self, field.name) for field in fields(Facts)}


@dataclass(kw_only=True, eq=False)
class Trained(Facts):
    """The part of a model file that sampling and scoring need."""

    model: LanguageModel  # with the best parameters, or before a check-up the last average
    counters: Counters
    best: tuple[int, float] | None = None  # the step of the best check-up, nats per character
    history: list[Row] = field(default_factory=list)  # a row a check-up
    slim: bool = False  # whether its file holds no run

    @property
    def ended(self) -> Ending | None:
        """The reason why the run is over; None if it can go on."""
        counters = self.counters
        best_step = None if self.best is None else self.best[0]
        return ending_at(self.config, counters.epoch, counters.minutes, best_step, self.history)


@dataclass(kw_only=True, eq=False)
class Checkpoint(Facts):
    """A run that can be resumed."""

    vocabulary: Vocabulary
    state: TrainState

    @property
    def ended(self) -> Ending | None:
        return self.trained.ended

    @property
    def latest(self) -> LanguageModel:
        """The average of the last networks, best or not."""
        size = self.state.parameters.architecture
        return LanguageModel(Parameters(size, self.state.average), self.vocabulary)

    @property
    def trained(self) -> Trained:
        """The model with the best parameters so far; it shares them with the run."""
        state, p = self.state, self.state.parameters
        flat = state.average if state.best is None else state.best.flat
        return Trained(
            model=LanguageModel(Parameters(p.architecture, flat), self.vocabulary),
            counters=Counters(**{f.name: getattr(state, f.name) for f in fields(Counters)}),
            best=None if state.best is None else (state.best.step, state.best.nats_per_character),
            history=[dict(row) for row in state.history],
            **self.shared(),
        )


def copy_best(run: Checkpoint) -> Trained:
    """Return a copy of the best model of a run so far."""
    trained = run.trained
    return replace(trained, model=replace(run.latest, parameters=trained.model.parameters.copy()))
