"""A run in a file: everything that sampling, scoring and going on need, and nothing else.

    U1 W1 b1 .. V c           the best parameters, by held-out loss
    last                      where learning stands, all numbers in one row
    adam.m  adam.v  ..        what the optimiser remembers
    lane.1  lane.2  ..        the states that the next window starts from
    charrnn.json              vocabulary, settings, corpus, history, place in the data

No times of day, and no durations unless minutes end the run, so that a run that was stopped and
resumed ends in the same bytes as one that was not. Which arrays there must be follows from the
text, once that is believed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike

import numpy as np

from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.corpus.places import NOWHERE, place_of, reached_from, seen_from
from charrnn.errors import DamagedModelError, ResumeError, SettingError
from charrnn.model_file import container
from charrnn.model_file.container import JSON, Spec
from charrnn.model_file.json_text import Document
from charrnn.model_file.schema import COUNTERS, Contents, CorpusRecord, checked
from charrnn.network.architecture import Architecture
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import Array, Parameters
from charrnn.network.unfolded import State
from charrnn.settings.training import Ending, Fitted, ending
from charrnn.training.loop import Best, TrainState, architecture_of
from charrnn.training.optimizers import MOMENTS, Moments
from charrnn.vocabulary import Vocabulary

Path = str | PathLike[str]

# What is farther from 0, no run of ours has saved.
LARGEST = 1e9  # a weight of the best parameters: learning that leads there was stopped long before
LARGEST_LAST = 1e20  # one of the last parameters, which may be ruins


@dataclass
class Checkpoint:
    """A run that can go on."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusRecord
    state: TrainState

    @property
    def latest(self) -> LanguageModel:
        """The model as it is now, best or not."""
        return LanguageModel(self.state.parameters, self.vocabulary, self.config.carry)


@dataclass(frozen=True)
class Trained:
    """What a run has come to: the part of the file that sampling and scoring need."""

    model: LanguageModel  # the best, or the last where no check-up has been
    config: Fitted
    corpus: CorpusRecord
    best_step: int | None
    best_nats_per_character: float | None
    history: list[dict[str, float]]
    step: int
    epoch: int
    minutes: float
    characters_seen: int
    slim: bool = False  # whether it comes from a file that holds no run

    @property
    def ended(self) -> Ending | None:
        """What has ended the run, if anything has."""
        return ending(self.config, self.epoch, self.minutes, self.best_step, self.history)


def record_of(corpus: Corpus, config: CorpusConfig, baselines: Mapping[str, float]) -> CorpusRecord:
    """What to keep of a corpus."""
    return CorpusRecord(
        corpus.sources,
        corpus.valid,
        corpus.fingerprint,
        corpus.examples_are,
        config.holdout,
        config.seed,
        **asdict(config.reading),
        examples=len(corpus.train),
        characters=corpus.train.characters,
        held_out_examples=len(corpus.held_out),
        held_out_characters=corpus.held_out.characters,
        baselines=dict(baselines),
        cuts=tuple(each.are for each in corpus.cuts) if corpus.examples_are == "mixed" else (),
        digest=corpus.digest,
        places=tuple(map(place_of, (*corpus.sources, *corpus.valid))),
        known=config.known,
    )


def as_seen_from(model: Path, record: CorpusRecord) -> CorpusRecord:
    """The record as it stands in a model file: no name of a text in it is absolute."""
    places = tuple(seen_from(model, place) for place in record.places)
    ways = places or (NOWHERE,) * len(record.names)
    names = [
        (way or os.path.basename(name)) if os.path.isabs(name) else name
        for name, way in zip(record.names, ways, strict=True)
    ]
    first = len(record.sources)
    sources, valid = tuple(names[:first]), tuple(names[first:])
    return replace(record, sources=sources, valid=valid, places=places)


def save(path: Path, run: Checkpoint) -> None:
    """Write the run, whole, or raise SaveError and leave what was there."""
    container.save(path, _arrays(run), _facts(path, run), _Book(path).expected)


def save_slim(path: Path, trained: Trained) -> None:
    """Write what draws and scores, and nothing of the run that came to it.

    Of the corpus it names no folder: the file is there to be given away.
    """
    p = trained.model.parameters
    sources, valid = (
        tuple(os.path.basename(name) for name in names)
        for names in (trained.corpus.sources, trained.corpus.valid)
    )
    counters = dict.fromkeys(COUNTERS, 0) | {
        "step": trained.step,
        "epoch": trained.epoch,
        "characters": trained.characters_seen,
        "minutes": trained.minutes,
    }
    best = None
    if trained.best_step is not None and trained.best_nats_per_character is not None:
        best = [trained.best_step, trained.best_nats_per_character]
    facts: dict[str, JSON] = {
        "vocabulary": asdict(trained.model.vocabulary),
        "settings": asdict(trained.config),
        "corpus": asdict(replace(trained.corpus, sources=sources, valid=valid, places=())),
        "run": counters,
        "best": best,
        "history": [],
        "slim": True,
    }
    container.save(path, {name: p[name] for name in p}, facts, _Book(path).expected)


def room_needed(path: Path, run: Checkpoint) -> int:
    """The bytes that the file will have."""
    architecture = architecture_of(run.config, run.vocabulary.symbols)
    return container.room_needed(_specs(run.config, architecture), _facts(path, run))


def load(path: Path) -> Checkpoint:
    """The run as it was saved."""
    book = _Book(path)
    arrays = container.load(path, book.expected).arrays
    if book.claims.slim:
        raise ResumeError(
            f"{os.fspath(path)} is slim: it can draw and score, and holds no run to go on with",
            "Go on with the file that it was made from, or train anew.",
        )
    book.check_size("last", arrays, LARGEST_LAST)
    claims, p = book.claims, Parameters(book.architecture, arrays["last"])
    state = TrainState(
        p,
        book.moments(arrays),
        book.lanes(arrays),
        history=claims.history,
        **claims.run,
    )
    best = book.best(arrays).flat
    if claims.best is not None:
        state.best = Best(*claims.best, best)
    return Checkpoint(claims.vocabulary, claims.config, claims.corpus, state)


def trained(run: Checkpoint) -> Trained:
    """What the run has come to so far, in a place of its own."""
    state, best = run.state, run.state.best
    flat = state.parameters.flat if best is None else best.flat
    best_parameters = Parameters(state.parameters.architecture, flat.copy())
    return Trained(
        LanguageModel(best_parameters, run.vocabulary, run.config.carry),
        run.config,
        run.corpus,
        None if best is None else best.step,
        None if best is None else best.nats_per_character,
        list(state.history),
        state.step,
        state.epoch,
        state.minutes,
        state.characters,
    )


def load_trained(path: Path) -> Trained:
    """Of the run, what sampling and scoring need."""
    book = _Book(path)
    arrays = container.load(
        path, book.expected, lambda name: name in book.architecture.shapes
    ).arrays
    claims = book.claims
    best_step, best_nats = claims.best or (None, None)
    return Trained(
        LanguageModel(book.best(arrays), claims.vocabulary, claims.config.carry),
        claims.config,
        claims.corpus,
        best_step,
        best_nats,
        claims.history,
        claims.run["step"],
        claims.run["epoch"],
        claims.run["minutes"],
        claims.run["characters"],
        claims.slim,
    )


def _arrays(run: Checkpoint) -> dict[str, Array]:
    state = run.state
    p = state.parameters
    best = p if state.best is None else Parameters(p.architecture, state.best.flat)
    arrays = {name: best[name] for name in best}
    arrays["last"] = state.parameters.flat
    arrays |= {f"{run.config.optimizer}.{name}": m for name, m in state.moments.items()}
    names = p.architecture.state_names
    return arrays | {f"lane.{name}": h for name, h in zip(names, state.lanes, strict=True)}


def _specs(config: Fitted, architecture: Architecture) -> dict[str, Spec]:
    """Which arrays the file of such a run has."""
    every = (architecture.parameter_count,)
    plan: dict[str, tuple[int, ...]] = {"last": every}
    plan |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
    lane = (config.batch, config.hidden)
    plan |= {f"lane.{name}": lane for name in architecture.state_names}
    rest = {name: (shape, np.dtype(np.float32)) for name, shape in plan.items()}
    return _shapes_alone(architecture) | rest


def _shapes_alone(architecture: Architecture) -> dict[str, Spec]:
    """The arrays of the parameters."""
    return {name: (shape, np.dtype(np.float32)) for name, shape in architecture.shapes.items()}


def _facts(path: Path, run: Checkpoint) -> dict[str, JSON]:
    state, best = run.state, run.state.best
    return {
        "vocabulary": asdict(run.vocabulary),
        "settings": asdict(run.config),
        "corpus": asdict(as_seen_from(path, run.corpus)),
        "run": {name: getattr(state, name) for name in COUNTERS},
        "best": None if best is None else [best.step, best.nats_per_character],
        "history": [dict(row) for row in state.history],
        "slim": False,
    }


class _Book:
    """The facts of a file, once they are known, and what follows from them."""

    claims: Contents
    architecture: Architecture

    def __init__(self, path: Path) -> None:
        self.path = path

    def expected(self, document: Document) -> Mapping[str, Spec]:
        """The arrays that go with this text; DamagedModelError where it makes no sense."""
        try:
            claims = checked(document)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self.damaged(f"its facts make no sense ({error})") from error
        except SettingError as error:
            raise self.damaged(f"its facts make no sense ({error.what})") from error
        places = tuple(reached_from(self.path, way) for way in claims.corpus.places)
        self.claims = replace(claims, corpus=replace(claims.corpus, places=places))
        config, vocabulary = claims.config, claims.vocabulary
        self.architecture = architecture_of(config, vocabulary.symbols)
        if claims.slim:
            return _shapes_alone(self.architecture)
        return _specs(config, self.architecture)

    def best(self, arrays: Mapping[str, Array]) -> Parameters:
        """The best parameters among these arrays."""
        shapes = self.architecture.shapes
        for name in shapes:
            self.check_size(name, arrays, LARGEST)
        flat = np.concatenate([arrays[name].reshape(-1) for name in shapes])
        return Parameters(self.architecture, flat)

    def moments(self, arrays: Mapping[str, Array]) -> Moments:
        """What the optimiser remembers."""
        rule = self.claims.config.optimizer
        moments = {name: arrays[f"{rule}.{name}"] for name in MOMENTS[rule]}
        if "v" in moments and (moments["v"] < 0).any():
            raise self.damaged(f"{rule}.v is a sum of squares, and less than 0")
        return moments

    def lanes(self, arrays: Mapping[str, Array]) -> State:
        """The states that the next window starts from."""
        names = [f"lane.{name}" for name in self.architecture.state_names]
        for name, bound in zip(names, self.architecture.state_bounds, strict=True):
            self.check_size(name, arrays, bound)
        return [arrays[name] for name in names]

    def check_size(self, name: str, arrays: Mapping[str, Array], largest: float) -> None:
        """Raise DamagedModelError where a number is farther from 0 than it can be."""
        if np.abs(arrays[name]).max(initial=0) > largest:
            raise self.damaged(f"{name} holds a number to which no training leads")

    def damaged(self, why: str) -> DamagedModelError:
        return DamagedModelError(
            f"{os.fspath(self.path)} is damaged: {why}",
            "Restore it from a copy, or train it again.",
        )
