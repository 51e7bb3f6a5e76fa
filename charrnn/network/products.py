"""Matrix products for a few rows at a time, without the copies of BLAS and NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.arrays import Array

SMALL = 10**6  # multiply-adds up to which OpenBLAS does not copy
WIDTHS = (64, 48, 32)  # of panels


class Product:
    """The product rows @ M for one matrix M (I, J) or one for each gate, in a buffer of its own.

    The rows are (B, I) for all gates, or (G, B, I). BLAS copies both factors before it multiplies
    them, unless they are small; for few lanes that costs up to a third of the product. So M is
    split, once a window, into panels (J / w, I, w) that BLAS does not copy. For one lane, BLAS
    copies nothing, and M serves as its own panel.
    """

    def __init__(
        self, gates: tuple[int, ...], lanes: int, height: int, width: int, dtype: DTypeLike
    ) -> None:
        self._is_split = lanes > 1
        fits = (w for w in WIDTHS if width % w == 0 and w * height * lanes <= SMALL)
        w = next(fits, width) if self._is_split else width
        self.panels = np.empty((*gates, width // w, height, w), dtype)
        self._by_row = self.panels.swapaxes(-2, -3)  # (G, I, J / w, w): seen as the matrices
        self.out: Array = np.zeros((*gates, lanes, width), dtype)
        self._by_panel = self.out.reshape(*gates, lanes, -1, w).swapaxes(-2, -3)  # (G, J / w, B, w)
        self._lanes = [self.out[..., lane, :] for lane in range(lanes)]

    def hold(self, matrices: Array) -> None:
        if self._is_split:
            self._by_row[...] = matrices.reshape(self._by_row.shape)
        else:
            self.panels = matrices[..., None, :, :]

    def __call__(self, rows: Array, without: Sequence[int] = ()) -> Array:
        """Return rows @ M, with zeros in some lanes. ``rows`` of gates have an axis for panels."""
        np.matmul(rows, self.panels, self._by_panel)
        for lane in without:  # 0.3 microseconds each, where one index for all takes 1.5
            self._lanes[lane].fill(0)
        return self.out


@contextmanager
def in_place() -> Iterator[None]:
    """Let NumPy work on small strided arrays without copying them first: a tenth of a step."""
    size = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(size)
