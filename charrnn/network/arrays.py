"""Names for the types of arrays, the softmax of rows, matrix products without copies, and sums."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.floating[Any]]
Array64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
Arrays = Mapping[str, Array]  # parameters by name
States = Sequence[Array]  # (B, H) each, of one layer

SMALL = 10**6  # multiply-adds up to which OpenBLAS does not copy
WIDTHS = (64, 48, 32)  # of panels
FEW_PRODUCTS = 1 << 22  # multiply-adds up to which sums by symbol are a product


def log_softmax(o: Array64) -> Array64:
    """Return the logarithm of the distribution of each row: o less log sum exp of o."""
    log_p: Array64 = o - np.logaddexp.reduce(o, -1, keepdims=True)
    return log_p


def softmax(o: Array64) -> Array64:
    y_hat: Array64 = np.exp(o - o.max(-1, keepdims=True))
    y_hat /= y_hat.sum(-1, keepdims=True)  # (10.11)
    return y_hat


def ceil_div(number: int, divisor: int) -> int:
    """Return the quotient of whole numbers, rounded up."""
    return -(-number // divisor)


class Product:
    """The product rows @ M for one matrix M (H, H) or one for each gate, in a buffer of its own.

    The rows are (B, H) for all gates, or (G, B, H). BLAS copies both factors before it multiplies
    them, unless they are small; for few lanes that costs up to a third of the product. So M is
    split, once a window, into panels (H / w, H, w) that BLAS does not copy. For one lane, BLAS
    copies nothing, and M serves as its own panel.
    """

    def __init__(self, gates: tuple[int, ...], lanes: int, hidden: int, dtype: DTypeLike) -> None:
        self._is_split = lanes > 1
        fits = (w for w in WIDTHS if hidden % w == 0 and w * hidden * lanes <= SMALL)
        w = next(fits, hidden) if self._is_split else hidden
        self.panels = np.empty((*gates, hidden // w, hidden, w), dtype)
        self._by_row = self.panels.swapaxes(-2, -3)  # (G, H, H / w, w): seen as the matrices
        self.out: Array = np.zeros((*gates, lanes, hidden), dtype)
        self._by_panel = self.out.reshape(*gates, lanes, -1, w).swapaxes(-2, -3)  # (G, H / w, B, w)
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


def sum_by_symbol(d_a: Sequence[Array], x: Integers, out: Array, room: Array) -> None:
    """Sum d_a(t) x(t)': row k of ``out`` becomes the sum of the rows of d_a where x is k.

    d_a is (R, H) for each gate, out (K, G H), and room (g, R, H) for g gates at a time.
    """
    symbols, gates, hidden = len(out), len(d_a), room.shape[-1]
    by_gate = out.reshape(symbols, gates, hidden).swapaxes(0, 1)
    if symbols * gates * len(x) * hidden <= FEW_PRODUCTS:
        one_hot = np.zeros((len(x), symbols), out.dtype)
        one_hot[np.arange(len(x)), x] = 1
        for d, sums in zip(d_a, by_gate, strict=True):
            np.matmul(one_hot.T, d, out=sums)
        return
    order = np.argsort(x, kind="stable")
    counts = np.bincount(x)
    present, ends = np.flatnonzero(counts), np.cumsum(counts)
    bounds = np.stack([present, (ends - counts)[present], ends[present]], 1).tolist()
    ones = np.ones(counts.max(), out.dtype)
    out.fill(0)
    for first in range(0, gates, len(room)):  # as many gates at once as there is room for
        sums = by_gate[first : first + len(room)]
        for d, rows in zip(d_a[first:], room, strict=False):
            np.take(d, order, axis=0, out=rows, mode="clip")
        for symbol, start, end in bounds:
            np.matmul(ones[: end - start], room[: len(sums), start:end], out=sums[:, symbol])
