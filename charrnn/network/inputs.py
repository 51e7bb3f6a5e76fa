"""What a network can read besides the symbol: where in its example it is, how much is left of it.

    a(t) = b + W h(t-1) + U x(t) + C f(n)        (10.8) with a block of columns beside U

n counts characters, and f(n) are a few numbers that are smooth in it: what fades at several rates,
so that each of them tells apart what the others no longer do, and waves of several lengths, which
tell neighbours apart. Far from the end they calm down, and the last few have a mark each besides.
As the count begins afresh with each example, it is a function of the place alone, known to whoever
lays out a window, and nothing of it has to be handed on from one window to the next.

    clock     n = how many characters were read
    left      n = tau - t, how many are still to come, the one that is to be said among them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.vocabulary import END

if TYPE_CHECKING:
    from charrnn.network.parameters import Array, Integers

Counts = NDArray[np.int64]

FADING: Final = (2, 6, 20, 60, 200)  # characters in which a number fades to a third
WAVES: Final = (2, 3, 4, 5, 8, 16, 32)  # characters from crest to crest
CALM: Final = 30  # characters from the end in which the waves fade to a third
MARKS: Final = 8  # of the last few
KNOWN: Final = 1 << 12  # counts that are told apart
ROUND: Final = 480  # of the waves: from KNOWN on the clock goes round and round


@dataclass(frozen=True)
class Input:
    """A count, and what the network sees of it."""

    features: Callable[[], Array]  # (N, F), a row for each count
    again: int = 1  # counts beyond the last row: those of the last so many rows, over and over

    def seen(self, counts: Integers, dtype: DTypeLike, large: float = 0.0) -> Array:
        """What the network sees of these, (..., F), on the grid that goes with large: see snap."""
        table = table_of(self, np.dtype(dtype).char, large)
        most = len(table) - self.again
        beyond = np.maximum(counts - most, 0)
        seen: Array = table[np.minimum(counts, most) + beyond % self.again]
        return seen

    @property
    def width(self) -> int:
        """How many numbers that are: F."""
        return int(table_of(self, "f", 0.0).shape[1])


def of_clock() -> Array:
    """What has faded since the beginning, and where on each wave one is."""
    n = np.arange(KNOWN + ROUND)[:, None]
    return np.concatenate([np.exp(-n / FADING), waves(n)], 1)


def of_left() -> Array:
    """The same, seen from the end, with a mark for each of the last few."""
    n = np.arange(KNOWN)[:, None]
    marks = n == np.arange(1, MARKS + 1)
    return np.concatenate([np.exp(-n / FADING), np.exp(-n / CALM) * waves(n), marks], 1)


def waves(n: Counts) -> Array:
    """How high each of them is, (N, ...)."""
    turns = 2 * np.pi * (n % ROUND) / WAVES
    return np.concatenate([np.cos(turns), np.sin(turns[:, 1:])], 1)  # of 2, sine is always 0


# name -> what is counted; its columns are U1.name
INPUTS: Final = {
    "clock": Input(of_clock, ROUND),
    "left": Input(of_left),
}


@cache
def table_of(one: Input, dtype: str, large: float) -> Array:
    """The rows of an input, of that type, on a grid if there is one."""
    table = one.features().astype(dtype)
    return table + large - large if large else table


def width_of(names: Sequence[str]) -> int:
    """The most that any of these is wide."""
    return max((INPUTS[name].width for name in names), default=0)


def read_before(ids: Integers, index: int = 0) -> Counts:
    """How many characters of its example come before each symbol, (S,), where so many had been read
    before the first.
    """
    begins = np.full(len(ids), -index)
    ends = np.flatnonzero(ids[:-1] == END) + 1
    begins[ends] = ends
    counts: Counts = np.arange(len(ids)) - np.maximum.accumulate(begins)
    return counts


def read_after(ids: Integers, index: int) -> int:
    """How many characters of its example have been read after these, where so many had been read
    before them: 0 after an END.
    """
    ends = np.flatnonzero(ids == END)
    return len(ids) - 1 - int(ends[-1]) if len(ends) else index + len(ids)


def still_to_come(ids: Integers) -> Counts:
    """How many characters come from each symbol to the END of its example, (S,): none at END
    itself. The last example ends where the ids do.
    """
    stops = np.full(len(ids), len(ids))
    ends = np.flatnonzero(ids == END)
    stops[ends] = ends
    counts: Counts = np.minimum.accumulate(stops[::-1])[::-1] - np.arange(len(ids))
    return counts
