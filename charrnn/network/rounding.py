"""The arrays of the network, and the grid on which no sum of a product is rounded.

The order of a sum depends on the number of rows and threads, and so does its rounding. A text drawn
or scored alone would then sometimes differ from the same text among others. So drawing and
scoring put weights and states on a grid as fine as float32, and coarse enough for float64 to hold
every sum without error, in any order:

    bits of a weight + bits of a state + bits of the number of terms  =  53

A long text is read in chunks side by side, and each chunk has to reach exactly the state from which
the next one starts. Two readers with different first states come within a step or two of the grid,
and no closer. So after every 64th symbol the state is rounded to a coarser grid, where both are
equal. This moves it by at most 2^-15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Array64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Arrays = Mapping[str, Array]  # parameters by name
States = Sequence[Array]  # (B, H) each, of one layer

UNIT: Final = 2.0**-40  # nats
OFTEN: Final = 64  # symbols from one settling to the next
SETTLED_BITS: Final = 14


SETTLED: Final = 1.5 * 2.0 ** (52 - SETTLED_BITS)  # its last bit is a step of the coarser grid


@dataclass(frozen=True)
class Grid:
    """The bits of weights and of states."""

    weight_bits: int
    state_bits: int

    @property
    def large(self) -> float:
        """A number whose last bit is a step of the grid of states: see `snap`."""
        return 1.5 * 2.0 ** (52 - self.state_bits)


def settles(index: int) -> bool:
    """Return True if the state settles after the symbol of this index; the first END has 0."""
    return index % OFTEN == OFTEN - 1


def snap(states: Iterable[Array], large: float) -> None:
    """Round states to the grid, in place."""
    for state in states:
        np.add(state, large, state)
        np.subtract(state, large, state)


def on_grid(matrix: Array, bits: int) -> Array64:
    """Return the matrix rounded to so many bits below the largest number of each row."""
    rows = matrix.astype(float)
    _, exponents = np.frexp(np.abs(rows).max(1, keepdims=True))
    steps = np.ldexp(1.0, exponents - bits)
    return np.asarray(np.rint(rows / steps) * steps)


def in_units(nats: Array64) -> Array64:
    """Return the nats rounded to whole units, so that sums over texts are sums of integers."""
    rounded: Array64 = np.rint(nats * (1 / UNIT)) * UNIT
    return rounded


def as_integers(matrix: Array, bits: int) -> tuple[Integers, Integers]:
    """Return exponents e (R,) and integers n (R, N) of so many bits: the matrix is about 2^e n."""
    rows: Array64 = matrix.astype(np.float64)
    most = np.abs(rows).max(1)
    exponents = np.frexp(most)[1] - (bits - 1)
    too_large = np.rint(np.ldexp(most, -exponents)) > 2 ** (bits - 1) - 1
    exponents = exponents + too_large
    integers = np.rint(np.ldexp(rows, -exponents[:, None]))
    return exponents, integers.astype(f"<i{bits // 8}")
