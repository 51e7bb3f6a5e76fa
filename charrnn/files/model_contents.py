"""The facts of a model file: a corpus on record, a model, and all that its run needs to go on.

A new fact is a field of Facts; of Trained, if it concerns the model but not its run.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.prediction.predictor import EVEN
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.training import Ending, Fitted
from charrnn.system.packaged import CORPORA, corpus_at, path_of
from charrnn.text.corpus import Corpus
from charrnn.text.reading import Mark
from charrnn.text.vocabulary import Ids, Vocabulary
from charrnn.training.state import Counters, TrainState, find_ending

Row = dict[str, float]
NO_FILES: Final = ("-", *CORPORA)


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
    # Names from the current folder; in a file, from the folder of the model. "-" is what cannot be
    # read again, "dinosaurs" the corpus of the package, "./dinosaurs" a file.
    sources: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    files: dict[str, Mark] = field(default_factory=dict)  # by name: no other content is used
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

    def may_know(self, other: Self) -> bool:
        """Return whether the model of this corpus may have learned what the other one holds out."""
        learned, held_out = self.traces(self.sources), other.traces(other.valid or other.sources)
        is_same = self.digest == other.digest and self.known in ("", other.known)  # as a start is
        return not is_same and not learned.isdisjoint(held_out)

    def traces(self, names: Iterable[str]) -> set[object]:
        """Return the marks of files, and their names, which stay where a list grows."""
        kept = [name for name in names if name in self.files]
        return {*map(self.files.get, kept), *(os.path.abspath(corpus_at(name)) for name in kept)}

    def renamed(self, rename: Callable[[str], str]) -> Self:
        """Return the record with other names of its files; names of the package stay."""

        def renamed(name: str) -> str:
            return name if name in NO_FILES else as_file(rename(name))

        sources, valid = tuple(map(renamed, self.sources)), tuple(map(renamed, self.valid))
        files = {renamed(name): mark for name, mark in self.files.items()}
        return replace(self, sources=sources, valid=valid, files=files)

    def moved(self, old: str, new: str) -> Self:
        """Return the record with names from a new folder in place of an old one."""

        def rename(name: str) -> str:
            if is_foreign(name):
                return name
            path = os.path.join(old, name)
            with suppress(OSError, ValueError):  # no current folder; another drive
                path = os.path.relpath(path, new)
            return path

        return self.renamed(rename)

    def from_anywhere(self) -> Self:
        """Return the record with names that lead to the same files in any current folder."""
        return self.renamed(lambda name: name if is_foreign(name) else os.path.abspath(name))

    def with_files_of(self, corpus: Corpus) -> Self:
        """Return the record with the names and marks of the files that a corpus was read from."""
        own = {name for name in corpus.files if path_of(name) == name}
        names = {name: as_file(plain(name)) if name in own else name for name in corpus.files}
        files = {names[name]: mark for name, mark in corpus.files.items()}
        sources = tuple(names.get(name, "-") for name in corpus.sources)
        valid = tuple(names.get(name, "-") for name in corpus.valid)
        return replace(self, sources=sources, valid=valid, files=files)


def is_foreign(name: str) -> bool:
    """Return whether a name leads to another machine on Windows. It is opened on no system."""
    return name.replace("\\", "/").startswith("//")


def plain(name: str) -> str:
    """Return a name that does not begin with // and has no link before .., or another for it."""
    real, is_plain = os.path.realpath(name), not is_foreign(name)
    return name if is_plain and os.path.realpath(os.path.normpath(name)) == real else real


def as_file(name: str) -> str:
    """Return a name of a file that stands for nothing else."""
    return os.path.join(os.curdir, name) if name in NO_FILES else name


def record_of(corpus: Corpus, config: CorpusConfig) -> CorpusRecord:
    train, held_out = corpus.train, corpus.held_out
    origin = corpus.fingerprint, corpus.digest, corpus.examples_are
    sizes = len(train), train.characters, len(held_out), held_out.characters
    how = config.holdout, config.reading
    return CorpusRecord(*origin, *how, *sizes, known=config.known).with_files_of(corpus)


@dataclass(kw_only=True, eq=False)
class Facts:
    """The facts about a model that are also those of its run."""

    config: Fitted
    corpus: CorpusRecord
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept
    oddest: dict[str, float] = field(default_factory=dict)  # nats of the oddest example, by use
    oddest_sums: dict[str, float] = field(default_factory=dict)  # of the sums over all labels
    mixture: tuple[float, ...] = EVEN  # weights of network and counts: see Predictor

    def shared(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Facts)}


@dataclass(kw_only=True, eq=False)
class Trained(Facts):
    """The part of a model file that sampling and scoring need."""

    model: LanguageModel  # with the best parameters, or before a check-up the last average
    counters: Counters
    best: tuple[int, float] | None = None  # the step of the best check-up, nats per character
    history: list[Row] = field(default_factory=list)  # a row a check-up
    slim: bool = False  # whether its file holds no run
    exact: bool = False  # whether that file has its matrices in 32 bits

    @property
    def ended(self) -> Ending | None:
        """The reason why the run is over; None if it can go on."""
        return find_ending(self.config, self.counters, self.best, self.history)


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
