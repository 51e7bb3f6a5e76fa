"""A run in a file: everything that sampling, scoring and going on need, and nothing else.

    U1 W1 b1 .. V c  ..       numbers: see arrays
    charrnn.json              vocabulary, settings, corpus, history, place in the data

No times of day, and no durations unless minutes end the run, so that a run that was stopped and
resumed ends in the same bytes as one that was not. Which arrays there must be follows from the
text, once that is believed.

Which arrays a model file has, and of what shapes: it follows from its text.

U1 W1 b1 .. V c           the best parameters of a network, by held-out loss
last                      where its learning stands, all numbers in one row
adam.m  adam.v  ..        what the optimiser remembers
lane.1  lane.2  ..        the states that the next window starts from
2.U1 .. 2.last ..         the same of the second network, and so on, where there are several
counted                   the text that is counted, packed, where it is kept

The arrays of a model file as networks and runs, when they are known to be what they may be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.files import absolute_place
from charrnn.counts.ngrams import pack, packed_size, unpack
from charrnn.errors import (
    DamagedModelError,
    ModelExistsError,
    NotAModelError,
    ResumeError,
    SettingError,
)
from charrnn.model_file import container
from charrnn.model_file.container import JSON, Spec
from charrnn.model_file.fields import (
    COUNTERS,
    Contents,
    CorpusRecord,
    Learned,
    Row,
    contents_of,
    relative_to,
)
from charrnn.model_file.reader import Document, damaged
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, LanguageModel, Parameters
from charrnn.network.unfolded import State
from charrnn.settings.training import Ending, Fitted, ending, of_member
from charrnn.training.members import last_ending, mean_of_bests
from charrnn.training.optimizers import MOMENTS, Moments, usual_squares
from charrnn.training.state import Best, TrainState, architecture_of
from charrnn.vocabulary import Ids, Vocabulary

Arrays = Mapping[str, NDArray[Any]]

COUNTED = "counted"


def named(number: int, name: str) -> str:
    """The name of an array of one of several networks, which count from 1."""
    return name if number == 1 else f"{number}.{name}"


def specs(
    config: Fitted, architecture: Architecture, counted: int | None, *, slim: bool
) -> dict[str, Spec]:
    """Which arrays the file of such a run has."""
    shapes = dict(architecture.shapes)
    if not slim:
        every = (architecture.parameter_count,)
        shapes["last"] = every
        shapes |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
        lane = (config.batch, config.hidden)
        shapes |= {f"lane.{name}": lane for name in architecture.state_names}
    found: dict[str, Spec] = {
        named(number, name): (shape, np.dtype(np.float32))
        for number in range(1, config.members + 1)
        for name, shape in shapes.items()
    }
    if counted is not None:
        found[COUNTED] = ((packed_size(counted, architecture.symbols),), np.dtype(np.uint8))
    return found


def of_networks(networks: list[Parameters]) -> dict[str, NDArray[Any]]:
    """The arrays of some networks."""
    return {named(i, name): p[name] for i, p in enumerate(networks, 1) for name in p}


def of_runs(states: tuple[TrainState, ...], optimizer: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of some runs."""
    for number, state in enumerate(states, 1):
        p = state.parameters
        best = p if state.best is None else Parameters(p.architecture, state.best.flat)
        own = {name: best[name] for name in best} | {"last": p.flat}
        own |= {f"{optimizer}.{name}": m for name, m in state.moments.items()}
        names = p.architecture.state_names
        own |= {f"lane.{name}": h for name, h in zip(names, state.lanes, strict=True)}
        yield from ((named(number, name), array) for name, array in own.items())


# What is farther from 0, no run of ours has saved.
LARGEST = 1e9  # a weight of the best parameters: learning that leads there was stopped long before
LARGEST_LAST = 1e20  # one of the last parameters, which may be ruins


SQUARES = "adam.v"


class Unpacker:
    """What a file says, once that is known, and its arrays as what they are."""

    claims: Contents
    architecture: Architecture

    def __init__(self, path: Path) -> None:
        self.path = path

    def expected(self, document: Document) -> Mapping[str, Spec]:
        """The arrays that go with this text; DamagedModelError where it makes no sense."""
        try:
            claims = contents_of(document)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self.damaged(f"its facts make no sense ({error})") from error
        except SettingError as error:
            raise self.damaged(f"its facts make no sense ({error.what})") from error
        places = tuple(absolute_place(self.path, way) for way in claims.corpus.places)
        self.claims = replace(claims, corpus=replace(claims.corpus, places=places))
        config, vocabulary = claims.config, claims.vocabulary
        self.architecture = architecture_of(config, vocabulary.symbols)
        return specs(config, self.architecture, claims.counted, slim=claims.slim)

    def is_for_use(self, name: str) -> bool:
        """Whether sampling and scoring need the array of that name."""
        number, _, rest = name.partition(".")
        own = rest if number.isdigit() else name
        return name == COUNTED or own == SQUARES or own in self.architecture.shapes

    def squares(self, number: int, arrays: Mapping[str, Array]) -> Array | None:
        """What is usual of the gradients of one of the networks, where Adam has learned that."""
        step = self.claims.learned[number - 1].run["step"]
        v = arrays.get(named(number, SQUARES))
        if v is not None and (v < 0).any():
            raise self.damaged(f"{SQUARES} is a sum of squares, and less than 0")
        return usual_squares(self.claims.config, v, step)

    def state(self, number: int, arrays: Mapping[str, Array]) -> TrainState:
        """Where the run of one of the networks stands."""
        last, learned = named(number, "last"), self.claims.learned[number - 1]
        self.check_size(last, arrays, LARGEST_LAST)
        state = TrainState(
            Parameters(self.architecture, arrays[last]),
            self.moments(number, arrays),
            self.lanes(number, arrays),
            history=learned.history,
            **learned.run,
        )
        best = self.best(number, arrays).flat
        if learned.best is not None:
            state.best = Best(*learned.best, best)
        return state

    def counted(self, arrays: Mapping[str, NDArray[Any]]) -> Ids | None:
        """The text that is counted, if it is kept."""
        if self.claims.counted is None:
            return None
        try:
            return unpack(arrays[COUNTED], self.claims.counted, self.architecture.symbols)
        except ValueError as error:
            raise self.damaged(f"the text that it counts makes no sense ({error})") from error

    def best(self, number: int, arrays: Mapping[str, Array]) -> Parameters:
        """The best parameters of one of the networks among these arrays."""
        names = [named(number, name) for name in self.architecture.shapes]
        for name in names:
            self.check_size(name, arrays, LARGEST)
        flat = np.concatenate([arrays[name].reshape(-1) for name in names])
        return Parameters(self.architecture, flat)

    def moments(self, number: int, arrays: Mapping[str, Array]) -> Moments:
        """What the optimiser of one of them remembers."""
        rule = self.claims.config.optimizer
        moments = {name: arrays[named(number, f"{rule}.{name}")] for name in MOMENTS[rule]}
        if "v" in moments and (moments["v"] < 0).any():
            raise self.damaged(f"{rule}.v is a sum of squares, and less than 0")
        return moments

    def lanes(self, number: int, arrays: Mapping[str, Array]) -> State:
        """The states that its next window starts from."""
        names = [named(number, f"lane.{name}") for name in self.architecture.state_names]
        for name, bound in zip(names, self.architecture.state_bounds, strict=True):
            self.check_size(name, arrays, bound)
        return [arrays[name] for name in names]

    def check_size(self, name: str, arrays: Mapping[str, Array], largest: float) -> None:
        """Raise DamagedModelError where a number is farther from 0 than it can be."""
        if np.abs(arrays[name]).max(initial=0) > largest:
            raise self.damaged(f"{name} holds a number to which no training leads")

    def damaged(self, why: str) -> DamagedModelError:
        return damaged(os.fspath(self.path), why)


Path = str | PathLike[str]


@dataclass
class Checkpoint:
    """A run that can go on."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusRecord
    states: tuple[TrainState, ...]  # of each network
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept

    @property
    def longest(self) -> TrainState:
        """The state of the network that has trained longest."""
        return max(self.states, key=lambda state: state.step)

    @property
    def latest(self) -> LanguageModel:
        """The first network as it is now, best or not."""
        return LanguageModel(self.states[0].parameters, self.vocabulary, self.config.carry)


@dataclass(frozen=True)
class Trained:
    """The part of a model file that sampling and scoring need."""

    networks: tuple[LanguageModel, ...]  # with the best parameters, or before a check-up the last
    config: Fitted
    corpus: CorpusRecord
    learned: tuple[Learned, ...]  # how far each network has come
    slim: bool = False  # whether it comes from a file without a run
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept

    @property
    def model(self) -> LanguageModel:
        """The first network, with its vocabulary."""
        return self.networks[0]

    @property
    def best(self) -> tuple[int, float] | None:
        """The step of the best check-up and its nats per character; see ``mean_of_bests``."""
        return mean_of_bests([one.best for one in self.learned])

    @property
    def history(self) -> list[Row]:
        """The check-ups of the first network, a row each."""
        return self.learned[0].history

    @property
    def longest(self) -> Learned:
        """The record of the network that has trained longest."""
        return max(self.learned, key=lambda one: int(one.run["step"]))

    @property
    def ended(self) -> Ending | None:
        """The reason why the run is over; None if it can go on."""
        why = [
            ending(
                of_member(self.config, number),
                one.run["epoch"],
                one.run["minutes"],
                None if one.best is None else one.best[0],
                one.history,
            )
            for number, one in enumerate(self.learned)
        ]
        return last_ending(why, [one.run["step"] for one in self.learned])


def save(path: Path, run: Checkpoint, home: Path = "") -> None:
    """Write the run, whole, or raise SaveError and leave what was there.

    A file that is written elsewhere than where it will be at home is as if written there.
    """
    facts = _facts(home or path, run)
    container.save(path, _arrays(run), facts, Unpacker(path).expected)


def save_slim(path: Path, trained: Trained) -> None:
    """Write what draws and scores, and nothing of the run that came to it.

    Of the corpus it names no folder: the file is there to be given away.
    """
    sources, valid = (
        tuple(os.path.basename(name) for name in names)
        for names in (trained.corpus.sources, trained.corpus.valid)
    )
    corpus = replace(trained.corpus, sources=sources, valid=valid, places=())
    first, *others = (replace(one, history=[]) for one in trained.learned)
    unused = {"window": 0, "nats": 0, "since": 0}
    learned = [replace(first, run=first.run | unused), *others]
    facts = _facts_of(trained.model.vocabulary, trained.config, corpus, learned, trained.counted)
    arrays = of_networks([one.parameters for one in trained.networks])
    if trained.counted is not None:
        arrays[COUNTED] = pack(trained.counted, trained.model.vocabulary.symbols)
    container.save(path, arrays, {**facts, "slim": True}, Unpacker(path).expected)


def check_holds_no_run(path: Path) -> None:
    """Raise ModelExistsError where a run would be lost for a model that cannot be gone on with."""
    try:
        is_run = os.path.exists(path) and not load_trained(path).slim
    except (NotAModelError, DamagedModelError):
        return  # nobody can go on with that; what may be a run is told by the other errors
    if is_run:
        raise ModelExistsError(
            f"{os.fspath(path)} holds a run to go on with, and this would be the model alone",
            "Name another file, or remove that one.",
        )


def room_needed(path: Path, run: Checkpoint) -> int:
    """The bytes that the file will have."""
    architecture = architecture_of(run.config, run.vocabulary.symbols)
    counted = None if run.counted is None else len(run.counted)
    described = specs(run.config, architecture, counted, slim=False)
    return container.room_needed(described, _facts(path, run))


def load(path: Path) -> Checkpoint:
    """The run as it was saved."""
    file = Unpacker(path)
    arrays = container.load(path, file.expected).arrays
    if file.claims.slim:
        raise ResumeError(
            f"{os.fspath(path)} is slim: it can draw and score, and holds no run to go on with",
            "Go on with the file that it was made from, or train anew.",
        )
    claims = file.claims
    states = tuple(file.state(number, arrays) for number in range(1, claims.config.members + 1))
    return Checkpoint(claims.vocabulary, claims.config, claims.corpus, states, file.counted(arrays))


def trained(run: Checkpoint) -> Trained:
    """Return a copy of the best networks of a run so far."""
    networks = tuple(
        LanguageModel(best_of(state), run.vocabulary, run.config.carry) for state in run.states
    )
    learned = tuple(map(learned_by, run.states))
    return Trained(networks, run.config, run.corpus, learned, counted=run.counted)


def best_of(state: TrainState) -> Parameters:
    """The best parameters of a run so far, in a place of their own."""
    flat = state.parameters.flat if state.best is None else state.best.flat
    return Parameters(state.parameters.architecture, flat.copy())


def learned_by(state: TrainState) -> Learned:
    """What a file says of a run."""
    best = None if state.best is None else (state.best.step, state.best.nats_per_character)
    counters = {name: getattr(state, name) for name in COUNTERS}
    return Learned(counters, best, [dict(row) for row in state.history])


def load_trained(path: Path) -> Trained:
    """Of the run, what sampling and scoring need."""
    file = Unpacker(path)
    arrays = container.load(path, file.expected, file.is_for_use).arrays
    claims = file.claims
    networks = tuple(
        LanguageModel(
            file.best(number, arrays),
            claims.vocabulary,
            claims.config.carry,
            None if claims.slim else file.squares(number, arrays),
        )
        for number in range(1, claims.config.members + 1)
    )
    return Trained(
        networks,
        claims.config,
        claims.corpus,
        tuple(claims.learned),
        claims.slim,
        file.counted(arrays),
    )


def _arrays(run: Checkpoint) -> dict[str, NDArray[Any]]:
    arrays = dict(of_runs(run.states, run.config.optimizer))
    if run.counted is not None:
        arrays[COUNTED] = pack(run.counted, run.vocabulary.symbols)
    return arrays


def _facts(path: Path, run: Checkpoint) -> dict[str, JSON]:
    learned = [learned_by(state) for state in run.states]
    corpus = relative_to(path, run.corpus)
    return {**_facts_of(run.vocabulary, run.config, corpus, learned, run.counted), "slim": False}


def _facts_of(
    vocabulary: Vocabulary,
    config: Fitted,
    corpus: CorpusRecord,
    learned: list[Learned],
    counted: Ids | None,
) -> dict[str, JSON]:
    first, *others = (asdict(one) for one in learned)
    return {
        "vocabulary": asdict(vocabulary),
        "settings": asdict(config),
        "corpus": asdict(corpus),
        **first,
        "others": others,
        "counted": None if counted is None else len(counted),
    }
