"""Inputs besides the symbol: the position in an example, and the number of characters to come.

    a(t) = b + W h(t-1) + U x(t) + C f(n)        (10.8) with a block of columns beside U

    clock     n = the number of characters read
    left      n = tau - t, the number of characters to come, the next one included

f(n) are a few numbers that are smooth in n. Exponentials that fade at several rates tell near
counts from far ones. Waves of several lengths tell neighbours apart. Those of `left` fade far from
the end, and each of the last few characters has a mark of its own.

The count restarts with each example. It follows from the place in the text alone, so no state
crosses from one window to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network.rounding import Array, Integers
from charrnn.vocabulary import END

Counts = NDArray[np.int64]

FADING: Final = (2, 6, 20, 60, 200)  # characters in which an exponential fades to a third
WAVES: Final = (2, 3, 4, 5, 8, 16, 32)  # wavelengths in characters
CALM: Final = 30  # characters from the end in which the waves fade to a third
MARKS: Final = 8  # characters at the end that have a mark
KNOWN: Final = 1 << 12  # counts with a row of their own
ROUND: Final = 480  # the period of the clock beyond KNOWN


@dataclass(frozen=True)
class Input:
    """A count, and its features."""

    features: Callable[[], Array]  # (N, F), a row for each count
    again: int = 1  # larger counts repeat the last rows, this many of them

    def seen(self, counts: Integers, dtype: DTypeLike, large: float = 0.0) -> Array:
        """Return the features of these counts, (..., F), on the grid of `large`: see snap."""
        table = table_of(self, np.dtype(dtype).char, large)
        most = len(table) - self.again
        beyond = np.maximum(counts - most, 0)
        seen: Array = table[np.minimum(counts, most) + beyond % self.again]
        return seen

    @property
    def width(self) -> int:
        return int(table_of(self, "f", 0.0).shape[1])


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
def table_of(source: Input, dtype: str, large: float) -> Array:
    """Return the rows of an input in this type, on the grid if there is one."""
    table = source.features().astype(dtype)
    return table + large - large if large else table


def read_before(ids: Integers, index: int = 0) -> Counts:
    """Count the characters of its example before each symbol, (S,): `index` at the first."""
    begins = np.full(len(ids), -index)
    ends = np.flatnonzero(ids[:-1] == END) + 1
    begins[ends] = ends
    counts: Counts = np.arange(len(ids)) - np.maximum.accumulate(begins)
    return counts


def read_after(ids: Integers, index: int) -> int:
    """Count the characters of its example read after these symbols, and `index` before them."""
    ends = np.flatnonzero(ids == END)
    return len(ids) - 1 - int(ends[-1]) if len(ends) else index + len(ids)


def still_to_come(ids: Integers) -> Counts:
    """Count the characters from each symbol to END, (S,): 0 at END, which also follows the ids."""
    stops = np.full(len(ids), len(ids))
    ends = np.flatnonzero(ids == END)
    stops[ends] = ends
    counts: Counts = np.minimum.accumulate(stops[::-1])[::-1] - np.arange(len(ids))
    return counts
