"""A run in a file: everything that sampling, scoring and going on need, and nothing else.

    U1 W1 b1 .. V c           the best parameters, by held-out loss
    last                      where learning stands, all numbers in one row
    adam.m  adam.v  ..        what the optimiser remembers
    lane.1  lane.2  ..        the states that the next window starts from
    charrnn.json              vocabulary, settings, corpus, history, place in the data

No times of day and no durations, so that a run that was stopped and resumed ends in the same bytes
as one that was not. The facts of a file may come from a stranger: each is checked before it is
believed, and which arrays there must be follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from charrnn import archive
from charrnn.archive import JSON, Spec
from charrnn.corpus import Corpus, CorpusConfig
from charrnn.errors import DamagedModelError, SettingError
from charrnn.network.parameters import Array, Parameters, count, shapes_of
from charrnn.optimizer import MOMENTS
from charrnn.reading import Reading
from charrnn.settings import Fitted
from charrnn.training import Best, TrainState
from charrnn.vocabulary import Vocabulary

Path = str | PathLike[str]
Record = TypeVar("Record")

COUNTERS = ("step", "epoch", "window", "characters", "nats", "since", "minutes")


@dataclass(frozen=True)
class CorpusFacts:
    """What a run learned from: enough to find it again and to know that it is the same."""

    sources: tuple[str, ...]
    valid: tuple[str, ...]
    fingerprint: str
    examples_are: str
    holdout: float
    seed: int
    encoding: str
    newlines: str
    normalize: str
    examples: int
    characters: int
    held_out_examples: int
    held_out_characters: int
    baselines: dict[str, float] = field(default_factory=dict)  # held-out nats per character

    @property
    def reading(self) -> Reading:
        """How the texts were read."""
        return Reading(self.encoding, self.newlines, self.normalize)  # type: ignore[arg-type]

    @property
    def config(self) -> CorpusConfig:
        """What makes the same corpus of the same files."""
        kind: Any = "lines" if self.examples_are == "texts" else self.examples_are
        return CorpusConfig(kind, self.holdout, self.seed, self.reading)


@dataclass
class Checkpoint:
    """A run that can go on."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusFacts
    state: TrainState


@dataclass(frozen=True)
class Trained:
    """What a run has come to: the part of the file that sampling and scoring need."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusFacts
    parameters: Parameters  # the best, or the last where no check-up has been
    best_step: int | None
    best_nats_per_character: float | None
    history: list[dict[str, float]]
    step: int
    epoch: int
    characters_seen: int


def facts_of(corpus: Corpus, config: CorpusConfig, baselines: Mapping[str, float]) -> CorpusFacts:
    """What to keep of a corpus."""
    return CorpusFacts(
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
    )


def save(path: Path, run: Checkpoint) -> None:
    """Write the run, whole, or raise SaveError and leave what was there."""
    archive.save(path, _arrays(run), _facts(run))


def room_needed(run: Checkpoint) -> int:
    """The bytes that the file will have."""
    return archive.room_needed(_specs(run.config, run.vocabulary), _facts(run))


def load(path: Path) -> Checkpoint:
    """The run as it was saved."""
    book = _Book()
    arrays = archive.load(path, book.expected).arrays
    p = Parameters(book.shapes, arrays["last"])
    rule = book.config.optimizer
    state = TrainState(
        p,
        {name: arrays[f"{rule}.{name}"] for name in MOMENTS[rule]},
        [arrays[f"lane.{layer}"] for layer in range(1, p.size.layers + 1)],
        history=book.history,
        **{name: book.run[name] for name in COUNTERS},
    )
    if book.best is not None:
        state.best = Best(*book.best, _joined(book.shapes, arrays))
    return Checkpoint(book.vocabulary, book.config, book.corpus, state)


def trained(run: Checkpoint) -> Trained:
    """What the run has come to so far, in a place of its own."""
    state, best = run.state, run.state.best
    flat = state.parameters.flat if best is None else best.flat
    return Trained(
        run.vocabulary,
        run.config,
        run.corpus,
        Parameters(state.parameters.shapes, flat.copy()),
        None if best is None else best.step,
        None if best is None else best.nats_per_character,
        list(state.history),
        state.step,
        state.epoch,
        state.characters,
    )


def load_trained(path: Path) -> Trained:
    """Of the run, what sampling and scoring need."""
    book = _Book()
    arrays = archive.load(path, book.expected, lambda name: name in book.shapes).arrays
    best_step, best_nats = book.best or (None, None)
    return Trained(
        book.vocabulary,
        book.config,
        book.corpus,
        Parameters(book.shapes, _joined(book.shapes, arrays)),
        best_step,
        best_nats,
        book.history,
        book.run["step"],
        book.run["epoch"],
        book.run["characters"],
    )


def _joined(shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Array]) -> Array:
    return np.concatenate([arrays[name].reshape(-1) for name in shapes])


def _arrays(run: Checkpoint) -> dict[str, Array]:
    state = run.state
    p = state.parameters
    best = p if state.best is None else Parameters(p.shapes, state.best.flat)
    arrays = {name: best[name] for name in best}
    arrays["last"] = state.parameters.flat
    arrays |= {f"{run.config.optimizer}.{name}": m for name, m in state.moments.items()}
    return arrays | {f"lane.{layer}": h for layer, h in enumerate(state.lanes, 1)}


def _specs(config: Fitted, vocabulary: Vocabulary) -> dict[str, Spec]:
    """Which arrays the file of such a run has."""
    shapes = shapes_of(vocabulary.symbols, config.hidden, config.layers)
    every = (count(shapes),)
    plan: dict[str, tuple[int, ...]] = {**shapes, "last": every}
    plan |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
    lane = (config.batch, config.hidden)
    plan |= {f"lane.{layer}": lane for layer in range(1, config.layers + 1)}
    return {name: (shape, np.dtype(np.float32)) for name, shape in plan.items()}


def _facts(run: Checkpoint) -> dict[str, JSON]:
    state, best = run.state, run.state.best
    return {
        "vocabulary": asdict(run.vocabulary),
        "settings": asdict(run.config),
        "corpus": asdict(run.corpus),
        "run": {name: getattr(state, name) for name in COUNTERS},
        "best": None if best is None else [best.step, best.nats_per_character],
        "history": [dict(row) for row in state.history],
    }


class _Book:
    """The facts of a file, each read with suspicion."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusFacts
    run: dict[str, Any]
    best: tuple[int, float] | None
    history: list[dict[str, float]]
    shapes: dict[str, tuple[int, ...]]

    def expected(self, facts: dict[str, JSON]) -> Mapping[str, Spec]:
        """The arrays that go with these facts; DamagedModelError where they make no sense."""
        try:
            self._read(facts)
        except (KeyError, TypeError, ValueError, OverflowError, SettingError) as error:
            raise DamagedModelError(
                f"the model is damaged: its facts make no sense ({error})",
                "Restore it from a copy, or train again.",
            ) from error
        return _specs(self.config, self.vocabulary)

    def _read(self, facts: dict[str, Any]) -> None:
        self.vocabulary = _made(Vocabulary, facts["vocabulary"])
        self.config = _made(Fitted, facts["settings"])
        corpus = _made(CorpusFacts, facts["corpus"])
        self.corpus = replace(
            corpus,
            sources=tuple(_each(str, corpus.sources)),
            valid=tuple(_each(str, corpus.valid)),
        )
        _ = self.corpus.config  # refuses what cannot be
        for name, nats in corpus.baselines.items():
            _number(name, nats)
        self.run = {name: _number(name, facts["run"][name]) for name in COUNTERS}
        best = facts["best"]
        self.best = None if best is None else (int(best[0]), float(_number("best", best[1])))
        self.history = [
            {str(name): _number(name, value) for name, value in row.items()}
            for row in facts["history"]
        ]
        self.shapes = shapes_of(self.vocabulary.symbols, self.config.hidden, self.config.layers)


def _made(kind: Callable[..., Record], facts: dict[str, Any]) -> Record:
    """A record of exactly these fields, none of another type than it declares."""
    declared = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    if set(facts) != set(declared):
        raise ValueError(f"the fields are not those of {kind.__name__}")
    for name, value in facts.items():
        if type(value).__name__ not in _types_of(declared[name]):
            raise ValueError(f"{name} is {type(value).__name__}, not {declared[name]}")
    return kind(**facts)


def _types_of(declared: str) -> set[str]:
    """The JSON types that a field declared so may have."""
    words = {word.split("[")[0].strip() for word in declared.split("|")}
    return {
        json
        for word in words
        for json in {
            "None": {"NoneType"},
            "tuple": {"list"},
            "float": {"float", "int"},
            "Rule": {"str"},
            "Schedule": {"str"},
        }.get(word, {word})
    }


def _each(kind: type, values: Any) -> list[Any]:
    if not all(isinstance(value, kind) for value in values):
        raise ValueError(f"not all of them are {kind.__name__}")
    return list(values)


def _number(name: str, value: Any) -> Any:
    """The value, if it is a number that counts or measures something."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is no number")
    return value
