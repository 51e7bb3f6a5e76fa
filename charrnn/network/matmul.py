"""The one product inside the loop, rows @ M with the same M at every step, in small pieces.

BLAS copies both factors into an order of its own before it multiplies, and for a few lanes and a
square M that copy costs as much as a third of the product. Small products are spared it. So M is
laid out once a window in panels of columns, each small enough to be spared, and numpy multiplies
them all in one call:

    rows (B, I) @ M (I, J)   ->   rows (B, I) @ panels (J / w, I, w)

Measured on a 2-core x86 machine with 32 lanes and a square M: 26 instead of 36 microseconds at
256 units, and 124 instead of 147 at 512.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.parameters import Array

SMALL = 10**6  # multiply-adds up to which OpenBLAS multiplies without copying
WIDTHS = (64, 48, 32)


class Product:
    """rows @ M for each of some matrices M (I, J), into a place of its own.

    The rows are (B, I) for all, or (G, B, I), some for each. Where there are no gates, there is one
    matrix, and no first axis.
    """

    def __init__(
        self, gates: tuple[int, ...], lanes: int, rows: int, columns: int, dtype: DTypeLike
    ) -> None:
        fits = (w for w in WIDTHS if columns % w == 0 and w * rows * lanes <= SMALL)
        width = next(fits, columns)
        self.panels = np.empty((*gates, columns // width, rows, width), dtype)
        self._by_column = self.panels.swapaxes(-2, -3)  # as the matrices have them
        self.out: Array = np.zeros((*gates, lanes, columns), dtype)
        self._by_panel = self.out.reshape(*gates, lanes, -1, width).swapaxes(-2, -3)
        self._lanes = [self.out[..., lane, :] for lane in range(lanes)]

    def hold(self, matrices: Array) -> None:
        """Multiply by these (G, I, J) from now on."""
        self._by_column[...] = matrices.reshape(self._by_column.shape)

    def __call__(self, rows: Array, without: Sequence[int] = ()) -> Array:
        """rows @ M, and zero in some lanes, in the array that every call fills anew.

        ``rows`` have an axis of one for the panels where they have one for the gates. Lane by lane,
        for they are few: 0.3 microseconds each, where one index for all takes 1.5.
        """
        np.matmul(rows, self.panels, self._by_panel)
        for lane in without:
            self._lanes[lane].fill(0)
        return self.out
