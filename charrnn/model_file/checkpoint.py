"""A run in a model file: all that sampling, scoring and resuming need; and when it is saved.

The JSON text gives the shapes of the arrays. ``U1`` to ``c`` are the best parameters, ``last`` the
current ones in one row, ``adam.m`` and so on the moments, ``lane.1`` and so on the states.
``counted`` is the text that was counted.
With 16 or 8 bits, row r of a matrix ``U1`` is its integers times 2 to ``U1.exponents[r]``.
Without [minutes] the file holds no time: a resumed run ends in the same bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn import errors
from charrnn.corpus.files import absolute_place
from charrnn.counts.ngrams import pack, packed_size, unpack
from charrnn.model_file import container, saving
from charrnn.model_file.container import JSON, Document, Spec, damaged
from charrnn.model_file.fields import (
    COUNTERS,
    Contents,
    CorpusRecord,
    Learned,
    Row,
    contents_of,
    facts_of,
    relative_to,
)
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.rounding import Array, as_integers
from charrnn.settings.training import Ending, Fitted, ending
from charrnn.training.loop import Checkup, Event
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import Best, TrainState, architecture_of
from charrnn.vocabulary import Ids, Vocabulary

Arrays = Mapping[str, NDArray[Any]]

Path = str | PathLike[str]

COUNTED = "counted"
EXPONENTS = ".exponents"
# Training stops long before a weight of the best parameters gets so large. The last parameters may
# be the result of diverging.
LARGEST = 1e9
LARGEST_LAST = 1e20


def specs(
    config: Fitted, architecture: Architecture, counted: int | None, *, slim: bool, bits: int = 32
) -> dict[str, Spec]:
    """Return the arrays of the file of such a run."""
    shapes = dict(architecture.shapes)
    if not slim:
        every = (architecture.parameter_count,)
        shapes["last"] = every
        shapes |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
        lane = (config.batch, config.hidden)
        shapes |= {f"lane.{name}": lane for name in architecture.state_names}
    arrays: dict[str, Spec] = {}
    for name, shape in shapes.items():
        kind = np.dtype(np.float32)
        if bits < 32 and len(shape) == 2:
            kind = np.dtype(f"i{bits // 8}")
            arrays[name + EXPONENTS] = shape[:1], np.dtype(np.int16)
        arrays[name] = shape, kind
    if counted is not None:
        arrays[COUNTED] = ((packed_size(counted, architecture.symbols),), np.dtype(np.uint8))
    return arrays


def all_arrays(network: Arrays, counted: Ids | None, symbols: int) -> Arrays:
    """Return the arrays of the network and the counted text, under their names in the file."""
    return dict(network) if counted is None else {**network, COUNTED: pack(counted, symbols)}


def with_integers(p: Arrays, bits: int) -> Arrays:
    """Return the parameters with integers of so many bits and exponents in place of matrices."""
    arrays = dict(p)
    if bits < 32:
        for name in [name for name in p if p[name].ndim == 2]:
            exponents, arrays[name] = as_integers(p[name], bits)
            arrays[name + EXPONENTS] = exponents.astype(np.int16)
    return arrays


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
            raise damaged(self.path, f"its facts make no sense ({error})") from error
        except errors.SettingError as error:
            raise damaged(self.path, f"its facts make no sense ({error.what})") from error
        places = tuple(absolute_place(self.path, place) for place in claims.corpus.places)
        self.claims = replace(claims, corpus=replace(claims.corpus, places=places))
        config, vocabulary = claims.config, claims.vocabulary
        self.architecture = architecture_of(config, vocabulary.symbols)
        return specs(config, self.architecture, claims.counted, slim=claims.slim, bits=claims.bits)

    def is_for_use(self, name: str) -> bool:
        """Return True if sampling or scoring needs this array."""
        own = name.removesuffix(EXPONENTS)
        return own == COUNTED or own in self.architecture.shapes

    def state(self, arrays: Mapping[str, Array]) -> TrainState:
        learned, rule = self.claims.learned, self.claims.config.optimizer
        best = self.best(arrays).flat
        moments = {name: arrays[f"{rule}.{name}"] for name in MOMENTS[rule]}
        if "v" in moments:
            self.check_squares(f"{rule}.v", moments["v"])
        bounds = zip(self.architecture.state_names, self.architecture.state_bounds, strict=True)
        return TrainState(
            Parameters(self.architecture, self.bounded("last", arrays, LARGEST_LAST)),
            moments,
            [self.bounded(f"lane.{name}", arrays, bound) for name, bound in bounds],
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
            raise damaged(self.path, f"its text for counts makes no sense ({error})") from error

    def best(self, arrays: Mapping[str, Array]) -> Parameters:
        names = self.architecture.shapes
        parts = [self.bounded(name, arrays, LARGEST).reshape(-1) for name in names]
        return Parameters(self.architecture, np.concatenate(parts))

    def bounded(self, name: str, arrays: Mapping[str, Array], largest: float) -> Array:
        """Return an array of a network. Raise DamagedModelError for a number out of bounds."""
        array = arrays[name]
        if array.dtype.kind == "i":
            with np.errstate(over="ignore"):  # the check below reports it
                array = np.ldexp(array.astype(np.float32), arrays[name + EXPONENTS][:, None])
        if np.abs(array).max(initial=0) > largest:
            raise damaged(self.path, f"{name} holds a number that no training leads to")
        return array

    def check_squares(self, name: str, v: Array) -> None:
        if (v < 0).any():
            raise damaged(self.path, f"{name} is a sum of squares, and less than 0")


@dataclass
class Checkpoint:
    """A run that can be resumed."""

    vocabulary: Vocabulary
    config: Fitted
    corpus: CorpusRecord
    state: TrainState
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept

    @property
    def ended(self) -> Ending | None:
        """The reason why the run is over; None if it can go on."""
        return ending_of(self.config, learned_by(self.state))

    @property
    def latest(self) -> LanguageModel:
        """The network as it is now, best or not."""
        return LanguageModel(self.state.parameters, self.vocabulary)


@dataclass(frozen=True)
class Trained:
    """The part of a model file that sampling and scoring need."""

    model: LanguageModel  # with the best parameters, or before a check-up the last
    config: Fitted
    corpus: CorpusRecord
    learned: Learned  # how far the network has come
    slim: bool = False  # whether it comes from a file without a run
    counted: Ids | None = None  # the text whose n-grams are counted, if it is kept
    bits: int = 32  # of each number of a matrix

    @property
    def best(self) -> tuple[int, float] | None:
        """The step of the best check-up and its nats per character."""
        return self.learned.best

    @property
    def history(self) -> list[Row]:
        """The check-ups, a row each."""
        return self.learned.history

    @property
    def ended(self) -> Ending | None:
        """The reason why the run is over; None if it can go on."""
        return ending_of(self.config, self.learned)


def ending_of(config: Fitted, learned: Learned) -> Ending | None:
    """Return the reason why a run is over; None while it can go on."""
    run, best = learned.run, learned.best and learned.best[0]
    return ending(config, run["epoch"], run["minutes"], best, learned.history)


def save(path: Path, run: Checkpoint, home: Path = "") -> None:
    """Write the run. ``home`` is the final path, if the file will be moved there.

    Raise SaveError and leave the old file if that fails.
    """
    container.save(path, _arrays(run), _facts(home or path, run), Unpacker(path).expected)


def save_slim(path: Path, trained: Trained) -> None:
    """Write the model without its run, and without the folders of its corpus."""
    corpus = trained.corpus
    sources, valid = (tuple(map(os.path.basename, n)) for n in (corpus.sources, corpus.valid))
    corpus = replace(corpus, sources=sources, valid=valid, places=())
    learned = trained.learned
    learned = replace(learned, run=learned.run | {"window": 0, "nats": 0, "since": 0}, history=[])
    vocabulary, counted = trained.model.vocabulary, trained.counted
    size = length_of(counted)
    bits = trained.bits
    contents = Contents(True, vocabulary, trained.config, corpus, learned, size, bits)
    network = with_integers(trained.model.parameters, bits)
    arrays = all_arrays(network, counted, vocabulary.symbols)
    container.save(path, arrays, facts_of(contents), Unpacker(path).expected)


@contextmanager
def locked(path: Path, *, force: bool) -> Iterator[None]:
    """Lock a model file. Raise ModelExistsError for another file in its place, unless forced."""
    with saving.locked(path):
        if not force:
            hint = "Name another file, or say force=True."
            saving.check_may_be_replaced(path, container.is_model, hint)
        yield


def check_holds_no_run(path: Path) -> None:
    """Raise ModelExistsError if the file holds a run, which a slim model would replace."""
    try:
        is_run = os.path.exists(path) and not load_trained(path).slim
    except (errors.NotAModelError, errors.DamagedModelError):
        return  # no run can be resumed from these; other errors are passed on
    if is_run:
        what = f"{os.fspath(path)} holds a run that can be resumed, and a slim model holds none"
        raise errors.ModelExistsError(what, "Name another file, or remove that one.")


def room_needed(path: Path, run: Checkpoint) -> int:
    """Return the size of the file in bytes."""
    architecture = architecture_of(run.config, run.vocabulary.symbols)
    arrays = specs(run.config, architecture, length_of(run.counted), slim=False)
    return container.room_needed(arrays, _facts(path, run))


def load(path: Path) -> Checkpoint:
    """Return the run in a file."""
    file = Unpacker(path)
    arrays = container.load(path, file.expected).arrays
    if file.claims.slim:
        what = f"{os.fspath(path)} is slim: it can sample and score, but holds no run to resume"
        hint = "Resume the file that it was made from, or train a new model."
        raise errors.ResumeError(what, hint)
    claims, state = file.claims, file.state(arrays)
    return Checkpoint(claims.vocabulary, claims.config, claims.corpus, state, file.counted(arrays))


def copy_best(run: Checkpoint) -> Trained:
    """Return a copy of the best network of a run so far."""
    p, best = run.state.parameters, run.state.best
    copy = Parameters(p.architecture, (p if best is None else best).flat.copy())
    model = LanguageModel(copy, run.vocabulary)
    return Trained(model, run.config, run.corpus, learned_by(run.state), counted=run.counted)


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
    model = LanguageModel(file.best(arrays), claims.vocabulary)
    counted = file.counted(arrays)
    facts = claims.corpus, claims.learned, claims.slim, counted, claims.bits
    return Trained(model, claims.config, *facts)


def _arrays(run: Checkpoint) -> Arrays:
    state, rule = run.state, run.config.optimizer
    p = state.parameters
    best = p if state.best is None else Parameters(p.architecture, state.best.flat)
    moments = {f"{rule}.{name}": m for name, m in state.moments.items()}
    lanes = zip(p.architecture.state_names, state.lanes, strict=True)
    network = {**best, "last": p.flat, **moments, **{f"lane.{n}": h for n, h in lanes}}
    return all_arrays(network, run.counted, run.vocabulary.symbols)


def _facts(path: Path, run: Checkpoint) -> dict[str, JSON]:
    learned, counted = learned_by(run.state), length_of(run.counted)
    corpus = relative_to(path, run.corpus)
    return facts_of(Contents(False, run.vocabulary, run.config, corpus, learned, counted))


def length_of(counted: Ids | None) -> int | None:
    """Return the number of symbols of the counted text, if it is kept."""
    return None if counted is None else len(counted)


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
        home: str = "",
        is_saved: bool = False,
        alarm: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Call ``alarm`` if a save fails during training. ``home`` is the later path of the file.
        The file is up to date if it ``is_saved``.
        """
        self.path, self.run = fspath(path), run
        self.before: Callable[[], None] = lambda: None  # called ahead of each save
        self._home, self._alarm = home, alarm
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
        except errors.SaveError as error:
            self._alarm(f"{error.what}; training continues")
            self._at = time.monotonic()
            self._often = SELDOM

    def save(self) -> None:
        """Save if the file is not up to date. Raise SaveError if that fails."""
        if self._saved == self._progress() and os.path.exists(self.path):
            return
        began = time.monotonic()
        self.before()
        save(self.path, self.run, self._home)
        self._saved, self.step = self._progress(), self.run.state.step
        self._at = time.monotonic()
        self._often = max(OFTEN, COSTLY * (self._at - began))
        self._seldom = max(SELDOM, self._often)

    def save_diverged(self) -> None:
        """Save a run that has diverged if there is no file and a file can hold its numbers."""
        largest = np.abs(self.run.state.parameters.flat).max()
        if largest < LARGEST and not os.path.exists(self.path):
            with suppress(errors.SaveError):
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
        return self.run.config, self.run.state.step, len(self.run.state.history)
