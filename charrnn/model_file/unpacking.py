"""The arrays of a model file as networks and runs, when they are known to be what they may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.file_locations import reached_from
from charrnn.counts.packing import unpack
from charrnn.errors import DamagedModelError, SettingError
from charrnn.model_file import arrays as names_of
from charrnn.model_file.arrays import COUNTED, named
from charrnn.model_file.container import Spec
from charrnn.model_file.metadata import Document
from charrnn.model_file.schema import Contents, checked
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.network.unfolded import State
from charrnn.training.optimizers import MOMENTS, Moments, usual_squares
from charrnn.training.state import Best, TrainState, architecture_of
from charrnn.vocabulary import Ids

Path = str | PathLike[str]

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
            claims = checked(document)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self.damaged(f"its facts make no sense ({error})") from error
        except SettingError as error:
            raise self.damaged(f"its facts make no sense ({error.what})") from error
        places = tuple(reached_from(self.path, way) for way in claims.corpus.places)
        self.claims = replace(claims, corpus=replace(claims.corpus, places=places))
        config, vocabulary = claims.config, claims.vocabulary
        self.architecture = architecture_of(config, vocabulary.symbols)
        return names_of.specs(config, self.architecture, claims.counted, slim=claims.slim)

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
        return DamagedModelError(
            f"{os.fspath(self.path)} is damaged: {why}",
            "Restore it from a copy, or train it again.",
        )
