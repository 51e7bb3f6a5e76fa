"""A run in a model file: all that sampling, scoring and resuming need.

    charrnn.json              vocabulary, settings, corpus, history, place in the data
    U1 W1 b1 .. V c           the best parameters of a network, by held-out loss
    last                      its current parameters in one row
    adam.m  adam.v  ..        the moments of its optimiser
    lane.1  lane.2  ..        the states before its next window
    2.U1 .. 2.last ..         the same of the second network, and so on
    counted                   the text for n-gram counts, packed

The text determines the arrays and their shapes. The file holds no time of day, and a duration only
if minutes end the run. So a run that was stopped and resumed ends in the same bytes as one that was
not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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
from charrnn.model_file.reader import Document, damaged_error
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.rounding import Array
from charrnn.settings.training import Ending, Fitted, ending, of_member
from charrnn.training.members import last_ending, mean_of_bests
from charrnn.training.optimizers import MOMENTS, usual_squares
from charrnn.training.state import Best, TrainState, architecture_of
from charrnn.vocabulary import Ids, Vocabulary

Arrays = Mapping[str, NDArray[Any]]

Path = str | PathLike[str]

COUNTED = "counted"
SQUARES = "adam.v"
# Training stops long before a weight of the best parameters gets so large. The last parameters may
# be the result of diverging.
LARGEST = 1e9
LARGEST_LAST = 1e20


def array_name(number: int, name: str) -> str:
    """Return the name of an array of one of several networks, which count from 1."""
    return name if number == 1 else f"{number}.{name}"


def specs(
    config: Fitted, architecture: Architecture, counted: int | None, *, slim: bool
) -> dict[str, Spec]:
    """Return the arrays of the file of such a run."""
    shapes = dict(architecture.shapes)
    if not slim:
        every = (architecture.parameter_count,)
        shapes["last"] = every
        shapes |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
        lane = (config.batch, config.hidden)
        shapes |= {f"lane.{name}": lane for name in architecture.state_names}
    arrays: dict[str, Spec] = {
        array_name(number, name): (shape, np.dtype(np.float32))
        for number in range(1, config.members + 1)
        for name, shape in shapes.items()
    }
    if counted is not None:
        arrays[COUNTED] = ((packed_size(counted, architecture.symbols),), np.dtype(np.uint8))
    return arrays


def all_arrays(
    networks: Iterable[Arrays], counted: Ids | None, symbols: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of all networks and the counted text, under their names in the file."""
    arrays = {
        array_name(number, name): array
        for number, own in enumerate(networks, 1)
        for name, array in own.items()
    }
    if counted is not None:
        arrays[COUNTED] = pack(counted, symbols)
    return arrays


def run_arrays(state: TrainState, optimizer: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of one run."""
    p = state.parameters
    best = p if state.best is None else Parameters(p.architecture, state.best.flat)
    lanes = zip(p.architecture.state_names, state.lanes, strict=True)
    return {
        **best,
        "last": p.flat,
        **{f"{optimizer}.{name}": m for name, m in state.moments.items()},
        **{f"lane.{name}": h for name, h in lanes},
    }


class Unpacker:
    """The facts of a file, and its arrays as networks and runs."""

    claims: Contents
    architecture: Architecture

    def __init__(self, path: Path) -> None:
        self.path = path

    def expected(self, document: Document) -> Mapping[str, Spec]:
        """Return the arrays that go with this text. Raise DamagedModelError for nonsense."""
        try:
            claims = contents_of(document)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self.damaged(f"its facts make no sense ({error})") from error
        except SettingError as error:
            raise self.damaged(f"its facts make no sense ({error.what})") from error
        places = tuple(absolute_place(self.path, place) for place in claims.corpus.places)
        self.claims = replace(claims, corpus=replace(claims.corpus, places=places))
        config, vocabulary = claims.config, claims.vocabulary
        self.architecture = architecture_of(config, vocabulary.symbols)
        return specs(config, self.architecture, claims.counted, slim=claims.slim)

    def is_for_use(self, name: str) -> bool:
        """Return True if sampling or scoring needs this array."""
        number, _, rest = name.partition(".")
        own = rest if number.isdigit() else name
        return name == COUNTED or own == SQUARES or own in self.architecture.shapes

    def squares(self, number: int, arrays: Mapping[str, Array]) -> Array | None:
        """Return the usual squares of the gradients of a network, if Adam has learned them."""
        v = arrays.get(array_name(number, SQUARES))
        if v is not None:
            self.check_squares(SQUARES, v)
        return usual_squares(self.claims.config, v, self.claims.learned[number - 1].run["step"])

    def state(self, number: int, arrays: Mapping[str, Array]) -> TrainState:
        """Return the run of a network."""
        learned, rule = self.claims.learned[number - 1], self.claims.config.optimizer
        best = self.best(number, arrays).flat
        moments = {name: arrays[array_name(number, f"{rule}.{name}")] for name in MOMENTS[rule]}
        if "v" in moments:
            self.check_squares(f"{rule}.v", moments["v"])
        bounds = zip(self.architecture.state_names, self.architecture.state_bounds, strict=True)
        return TrainState(
            Parameters(self.architecture, self.bounded("last", number, arrays, LARGEST_LAST)),
            moments,
            [self.bounded(f"lane.{name}", number, arrays, bound) for name, bound in bounds],
            best=None if learned.best is None else Best(*learned.best, best),
            history=learned.history,
            **learned.run,
        )

    def counted(self, arrays: Mapping[str, NDArray[Any]]) -> Ids | None:
        """Return the text for n-gram counts, if it is kept."""
        if self.claims.counted is None:
            return None
        try:
            return unpack(arrays[COUNTED], self.claims.counted, self.architecture.symbols)
        except ValueError as error:
            raise self.damaged(f"its text for counts makes no sense ({error})") from error

    def best(self, number: int, arrays: Mapping[str, Array]) -> Parameters:
        """Return the best parameters of a network."""
        names = self.architecture.shapes
        parts = [self.bounded(name, number, arrays, LARGEST).reshape(-1) for name in names]
        return Parameters(self.architecture, np.concatenate(parts))

    def bounded(self, name: str, number: int, arrays: Mapping[str, Array], largest: float) -> Array:
        """Return an array of a network. Raise DamagedModelError for a number out of bounds."""
        array = arrays[array_name(number, name)]
        if np.abs(array).max(initial=0) > largest:
            raise self.damaged(
                f"{array_name(number, name)} holds a number that no training leads to"
            )
        return array

    def check_squares(self, name: str, v: Array) -> None:
        """Raise DamagedModelError if a sum of squares is negative."""
        if (v < 0).any():
            raise self.damaged(f"{name} is a sum of squares, and less than 0")

    def damaged(self, why: str) -> DamagedModelError:
        return damaged_error(os.fspath(self.path), why)


@dataclass
class Checkpoint:
    """A run that can be resumed."""

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
    """Write the run. Raise SaveError and leave the old file if that fails.

    Places in the file are relative to ``home``, the final path, if the file will be moved there.
    """
    facts = _facts(home or path, run)
    container.save(path, _arrays(run), facts, Unpacker(path).expected)


def save_slim(path: Path, trained: Trained) -> None:
    """Write the model without its run, and without the folders of its corpus."""
    sources, valid = (
        tuple(os.path.basename(name) for name in names)
        for names in (trained.corpus.sources, trained.corpus.valid)
    )
    corpus = replace(trained.corpus, sources=sources, valid=valid, places=())
    first, *others = trained.learned
    unused = {"window": 0, "nats": 0, "since": 0}
    learned = [replace(first, run=first.run | unused, history=[]), *others]
    vocabulary, counted = trained.model.vocabulary, trained.counted
    facts = _facts_of(vocabulary, trained.config, corpus, learned, counted, slim=True)
    networks = (network.parameters for network in trained.networks)
    arrays = all_arrays(networks, counted, vocabulary.symbols)
    container.save(path, arrays, facts, Unpacker(path).expected)


def check_holds_no_run(path: Path) -> None:
    """Raise ModelExistsError if the file holds a run, which a slim model would replace."""
    try:
        is_run = os.path.exists(path) and not load_trained(path).slim
    except (NotAModelError, DamagedModelError):
        return  # no run can be resumed from these; other errors are passed on
    if is_run:
        raise ModelExistsError(
            f"{os.fspath(path)} holds a run that can be resumed, and a slim model holds none",
            "Name another file, or remove that one.",
        )


def room_needed(path: Path, run: Checkpoint) -> int:
    """Return the size of the file in bytes."""
    architecture = architecture_of(run.config, run.vocabulary.symbols)
    counted = None if run.counted is None else len(run.counted)
    arrays = specs(run.config, architecture, counted, slim=False)
    return container.room_needed(arrays, _facts(path, run))


def load(path: Path) -> Checkpoint:
    """Return the run in a file."""
    file = Unpacker(path)
    arrays = container.load(path, file.expected).arrays
    if file.claims.slim:
        raise ResumeError(
            f"{os.fspath(path)} is slim: it can sample and score, but holds no run to resume",
            "Resume the file that it was made from, or train a new model.",
        )
    claims = file.claims
    states = tuple(file.state(number, arrays) for number in range(1, claims.config.members + 1))
    return Checkpoint(claims.vocabulary, claims.config, claims.corpus, states, file.counted(arrays))


def copy_best(run: Checkpoint) -> Trained:
    """Return a copy of the best networks of a run so far."""
    networks = tuple(
        LanguageModel(best_of(state), run.vocabulary, run.config.carry) for state in run.states
    )
    learned = tuple(map(learned_by, run.states))
    return Trained(networks, run.config, run.corpus, learned, counted=run.counted)


def best_of(state: TrainState) -> Parameters:
    """Return a copy of the best parameters so far."""
    flat = state.parameters.flat if state.best is None else state.best.flat
    return Parameters(state.parameters.architecture, flat.copy())


def learned_by(state: TrainState) -> Learned:
    """Return the progress of a network, as a file states it."""
    best = None if state.best is None else (state.best.step, state.best.nats_per_character)
    counters = {name: getattr(state, name) for name in COUNTERS}
    return Learned(counters, best, [dict(row) for row in state.history])


def load_trained(path: Path) -> Trained:
    """Return the part of a file that sampling and scoring need."""
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
    counted = file.counted(arrays)
    return Trained(networks, claims.config, claims.corpus, claims.learned, claims.slim, counted)


def _arrays(run: Checkpoint) -> dict[str, NDArray[Any]]:
    networks = (run_arrays(state, run.config.optimizer) for state in run.states)
    return all_arrays(networks, run.counted, run.vocabulary.symbols)


def _facts(path: Path, run: Checkpoint) -> dict[str, JSON]:
    learned = [learned_by(state) for state in run.states]
    corpus = relative_to(path, run.corpus)
    return _facts_of(run.vocabulary, run.config, corpus, learned, run.counted, slim=False)


def _facts_of(
    vocabulary: Vocabulary,
    config: Fitted,
    corpus: CorpusRecord,
    learned: list[Learned],
    counted: Ids | None,
    *,
    slim: bool,
) -> dict[str, JSON]:
    first, *others = (asdict(one) for one in learned)
    return {
        "vocabulary": asdict(vocabulary),
        "settings": asdict(config),
        "corpus": asdict(corpus),
        **first,
        "others": others,
        "counted": None if counted is None else len(counted),
        "slim": slim,
    }
