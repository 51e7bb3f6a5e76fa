"""The architecture of a network: symbols, units and layers, a cell, a head, and inputs of counts.

    a(t) = b + W h(t-1) + U x(t) + C f(n)        (10.8) with a block of columns beside U

    clock     n = the number of characters read
    left      n = tau - t, the number of characters to come, the next one included

f(n) are a few numbers that are smooth in n. Exponentials that fade at several rates distinguish
near counts from far ones, waves of several lengths neighbours. The waves of `left` fade far from
the end, and each of the last characters has a mark. The count follows from the place in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import prod
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.default_settings import Fitted
from charrnn.network import Array, Integers
from charrnn.network.cells import CELLS, Cell, Forced
from charrnn.network.heads import HEADS, Head
from charrnn.vocabulary import END

Counts = NDArray[np.int64]

FADING: Final = (2, 6, 20, 60, 200)  # characters in which an exponential fades to a third
WAVES: Final = (2, 3, 4, 5, 8, 16, 32)  # wavelengths in characters
CALM: Final = 30  # the decay length of the waves, in characters from the end
MARKS: Final = 8  # characters at the end that have a mark
KNOWN: Final = 1 << 12  # counts with a row of their own
ROUND: Final = 480  # the period of the clock beyond KNOWN


@cache
def features(name: str, dtype: str) -> Array:
    """Return the features of the counts from 0 on, (N, F)."""
    n = np.arange(KNOWN + ROUND)[:, None]
    turns = 2 * np.pi * (n % ROUND) / WAVES
    waves = np.concatenate([np.cos(turns), np.sin(turns[:, 1:])], 1)  # of wavelength 2, sine is 0
    parts = [np.exp(-n / FADING), waves]
    if name == "left":
        parts = [parts[0], np.exp(-n / CALM) * waves, n == np.arange(1, MARKS + 1)]
    return np.concatenate(parts, 1).astype(dtype)


def seen(name: str, counts: Integers, dtype: DTypeLike) -> Array:
    """Return the features of counts, (..., F)."""
    beyond = KNOWN + (counts - KNOWN) % ROUND if name == "clock" else KNOWN - 1
    rows = np.where(counts < KNOWN, counts, beyond)
    return features(name, np.dtype(dtype).char)[rows]


def read_before(ids: Integers) -> Counts:
    """Count the characters of its example before each symbol, (S,): 0 at the first."""
    places: Counts = np.arange(len(ids))
    begins = np.where(np.append(True, ids == END)[: len(ids)], places, 0)
    return places - np.maximum.accumulate(begins)


def still_to_come(ids: Integers) -> Counts:
    """Count the characters from each symbol to END, (S,): 0 at END, which also follows the ids."""
    places: Counts = np.arange(len(ids))
    stops = np.where(ids == END, places, len(ids))
    return np.minimum.accumulate(stops[::-1])[::-1] - places


@dataclass(frozen=True)
class Architecture:
    """A network without numbers: K symbols, H hidden units, L layers."""

    symbols: int
    hidden: int
    layers: int
    cell_name: str = "tanh"
    head_name: str = "symbol"
    forced: bool = False  # whether the truth is fed back in place of the outputs
    requested: tuple[str, ...] = ()  # inputs besides symbols, beyond those that the head needs

    @cached_property
    def cell(self) -> type[Cell]:
        return Forced if self.forced else CELLS[self.cell_name]

    @cached_property
    def head(self) -> type[Head]:
        return HEADS[self.head_name]

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs besides symbols."""
        return (*self.requested, *self.head.inputs)

    @cached_property
    def plain(self) -> Architecture:
        """The network that is unfolded: itself, or the plain one if outputs are fed back."""
        return replace(self, cell_name="tanh", forced=False) if self.cell.feeds_back else self

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters, in the order in which they are stored: see parameters."""
        columns = self.cell.gates * self.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        fed_back = self.symbols if self.cell.feeds_back else self.hidden
        for layer in range(1, self.layers + 1):
            first = (self.symbols, columns)
            shapes[f"U{layer}"] = first if layer == 1 else (columns, self.hidden)
            shapes[f"W{layer}"] = (columns, fed_back)
            shapes[f"b{layer}"] = (columns,)
            if self.cell.own_bias:
                shapes[f"d{layer}"] = (self.hidden,)
        for name in self.inputs:
            shapes[f"U1.{name}"] = (columns, features(name, "f").shape[1])
        shapes |= {"V": (self.symbols, self.hidden), "c": (self.symbols,)}
        return shapes | dict(self.head.lengths.shapes if self.head.lengths else {})

    @cached_property
    def parameter_count(self) -> int:
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def state_names(self) -> list[str]:
        """The names of the states by layers: 1, 2 for h alone; 1, 1.c, 2, 2.c for h and c."""
        endings = ["", *(f".{name}" for name in self.cell.states[1:])]
        return [f"{layer}{end}" for layer in range(1, self.layers + 1) for end in endings]


def architecture_of(config: Fitted, symbols: int) -> Architecture:
    """Return the network that these settings describe, for a vocabulary of that size."""
    sizes = symbols, config.hidden, config.layers, config.cell, config.ends
    requested = ("clock",) if config.clock else ()
    return Architecture(*sizes, forced=config.teacher_forcing, requested=requested)
