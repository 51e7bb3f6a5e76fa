"""The architecture of a network: symbols, units and layers, a cell, a head, and inputs of counts.

    a(t) = b + W h(t-1) + U x(t) + C f(n)        (10.8) with a block of columns beside U

    clock     n = the number of characters read
    left      n = tau - t, the number of characters to come, the next one included

f(n) are a few numbers that are smooth in n. Exponentials that fade at several rates distinguish
near counts from far ones. Waves of several lengths distinguish neighbours. Those of `left`
fade far from the end, and each of the last few characters has a mark of its own. The count follows
from the place in the text alone, so no state crosses from one window to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import prod
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

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


@dataclass(frozen=True)
class Input:
    """A count, and its features."""

    features: Callable[[], Array]  # (N, F), a row for each count
    again: int = 1  # larger counts repeat the last rows, this many of them

    def seen(self, counts: Integers, dtype: DTypeLike) -> Array:
        """Return the features of these counts, (..., F)."""
        table = table_of(self, np.dtype(dtype).char)
        most = len(table) - self.again
        beyond = np.maximum(counts - most, 0)
        seen: Array = table[np.minimum(counts, most) + beyond % self.again]
        return seen

    @property
    def width(self) -> int:
        return int(table_of(self, "f").shape[1])


def of_clock() -> Array:
    n = np.arange(KNOWN + ROUND)[:, None]
    return np.concatenate([np.exp(-n / FADING), waves(n)], 1)


def of_left() -> Array:
    n = np.arange(KNOWN)[:, None]
    marks = n == np.arange(1, MARKS + 1)
    return np.concatenate([np.exp(-n / FADING), np.exp(-n / CALM) * waves(n), marks], 1)


def waves(n: Counts) -> Array:
    """Return the height of each wave, (N, ...)."""
    turns = 2 * np.pi * (n % ROUND) / WAVES
    return np.concatenate([np.cos(turns), np.sin(turns[:, 1:])], 1)  # of wavelength 2, sine is 0


# name -> input; its columns are U1.name
INPUTS: Final = {"clock": Input(of_clock, ROUND), "left": Input(of_left)}


@cache
def table_of(source: Input, dtype: str) -> Array:
    """Return the rows of an input in this type."""
    return source.features().astype(dtype)


def read_before(ids: Integers) -> Counts:
    """Count the characters of its example before each symbol, (S,): 0 at the first."""
    begins = np.zeros(len(ids), np.int64)
    ends = np.flatnonzero(ids[:-1] == END) + 1
    begins[ends] = ends
    counts: Counts = np.arange(len(ids)) - np.maximum.accumulate(begins)
    return counts


def still_to_come(ids: Integers) -> Counts:
    """Count the characters from each symbol to END, (S,): 0 at END, which also follows the ids."""
    stops = np.full(len(ids), len(ids))
    ends = np.flatnonzero(ids == END)
    stops[ends] = ends
    counts: Counts = np.minimum.accumulate(stops[::-1])[::-1] - np.arange(len(ids))
    return counts


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
        """The names of the inputs besides symbols, as in INPUTS."""
        return (*self.requested, *self.head.inputs)

    @cached_property
    def plain(self) -> Architecture:
        """The network that is unfolded: itself, or the plain one if outputs are fed back."""
        if not self.cell.feeds_back:
            return self
        return replace(self, cell_name="tanh", forced=False)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters, in the order in which they are stored: see parameters."""
        columns = self.cell.gates * self.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        fed_back = self.symbols if self.cell.feeds_back else self.hidden
        for layer in range(1, self.layers + 1):
            below = self.symbols if layer == 1 else self.hidden
            shapes[f"U{layer}"] = (below, columns) if layer == 1 else (columns, below)
            shapes[f"W{layer}"] = (columns, fed_back)
            shapes[f"b{layer}"] = (columns,)
            if self.cell.own_bias:
                shapes[f"d{layer}"] = (self.hidden,)
        shapes |= {f"U1.{name}": (columns, INPUTS[name].width) for name in self.inputs}
        shapes |= {"V": (self.symbols, self.hidden), "c": (self.symbols,)}
        return shapes | dict(self.head.lengths.shapes if self.head.lengths else {})

    @cached_property
    def parameter_count(self) -> int:
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def state_names(self) -> list[str]:
        """The names of the states by layers: 1, 2 for h alone; 1, 1.c, 2, 2.c for h and c."""
        endings = ["", *(f".{name}" for name in list(self.cell.states)[1:])]
        return [f"{layer}{end}" for layer in range(1, self.layers + 1) for end in endings]

    @cached_property
    def state_bounds(self) -> list[float]:
        """The largest absolute value of each state."""
        return list(self.cell.states.values()) * self.layers
