"""Numbers on a grid, so that no sum of a product is ever rounded.

A product adds up in another order for one row than for a thousand, for one thread than for two, and
rounds otherwise; a text drawn or scored alone would then, now and again, not be what it is among
others. So where a text is drawn or scored, weights and states are put on a grid that is as fine as
float32 and coarse enough for float64 to hold every sum without an error, in whatever order it is
added:

    bits of a weight + bits of a state + bits of how many are added  =  53

What a symbol costs is rounded to whole units, too, so that sums over texts are sums of integers.

A long text is read in chunks side by side, and each has to come to the very state in which the one
before it ends. Two readers who begin differently come as near as a step or two of the grid, and
then no nearer. So at every 64th symbol of a text the state settles on a coarser grid, where they
meet. It moves by at most 2^-15.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.architecture import Architecture
from charrnn.network.inputs import width_of
from charrnn.network.parameters import Array, Parameters

Array64 = NDArray[np.float64]

UNIT: Final = 2.0**-40  # nats
OFTEN: Final = 64  # symbols from one settling to the next
SETTLED_BITS: Final = 14


def large_for(bits: int) -> float:
    """A number beside which the last bit is worth one step of a grid of so many bits."""
    return 1.5 * 2.0 ** (52 - bits)


SETTLED: Final = large_for(SETTLED_BITS)


@dataclass(frozen=True)
class Grid:
    """How fine it is, for weights and for states."""

    weight_bits: int
    state_bits: int

    @classmethod
    def of(cls, architecture: Architecture) -> Grid:
        """The finest for sums over so many units, or numbers of an input."""
        most = max(architecture.hidden, width_of(architecture.inputs))
        left = 53 - (most - 1).bit_length()
        return cls(left - left // 2, left // 2)

    @property
    def large(self) -> float:
        """What to round states with: see snap."""
        return large_for(self.state_bits)

    def parameters(self, p: Parameters) -> Parameters:
        """Those of the plain network in float64; on the grid, where a state multiplies them."""
        exact = Parameters(p.architecture, p.flat.astype(np.float64)).plain()
        for name, array in exact.items():
            if array.ndim == 2 and name != "U1":  # of which single rows are read
                array[...] = on_grid(array, self.weight_bits)
        return exact


def settles(index: int) -> bool:
    """Whether the state settles after the symbol of this index, counted from the first END."""
    return index % OFTEN == OFTEN - 1


def snap(states: Iterable[Array], large: float) -> None:
    """Round states to the grid, in place."""
    for state in states:
        np.add(state, large, state)
        np.subtract(state, large, state)


def on_grid(matrix: Array, bits: int) -> Array64:
    """The matrix rounded to so many bits, counted in each row from its largest number."""
    rows = matrix.astype(float)
    _, exponents = np.frexp(np.abs(rows).max(1, keepdims=True))
    steps = np.ldexp(1.0, exponents - bits)
    return np.asarray(np.rint(rows / steps) * steps)


def in_units(nats: Array64) -> Array64:
    """The nats rounded to whole units."""
    rounded: Array64 = np.rint(nats * (1 / UNIT)) * UNIT
    return rounded
