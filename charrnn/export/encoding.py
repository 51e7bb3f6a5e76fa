"""The numbers of a model as bytes, on the grid that texts are drawn on: nothing is left to round.

Array after array in their own order, little-endian,

    32 bits     float32, row by row: matrices that states are multiplied by are on the grid
    16, 8       matrices in rows, each an int16 e and its whole numbers: 2^e times those; a vector
                (b, d, c) is float32

A matrix on the grid is as exact in float32 as it is in float64, for it was float32 before it was
rounded. Fewer bits need no grid, for they are a coarser one.

Which networks a kind of file can hold: what it cannot is refused here, by its name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import ExportError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.network.rounding import Array64, Grid

Wholes = NDArray[np.signedinteger[Any]]


def baked(p: Parameters, bits: int) -> bytes:
    """All of them."""
    exact = Grid.of(p.architecture).parameters(p)
    parts = []
    for name, array in exact.items():
        if bits == 32 or array.ndim == 1:
            parts.append(array.astype("<f4").tobytes())
        else:
            exponents, wholes = in_wholes(p[name], bits)
            for exponent, row in zip(exponents.astype("<i2"), wholes, strict=True):
                parts += [exponent.tobytes(), row.tobytes()]
    return b"".join(parts)


def in_wholes(matrix: Array, bits: int) -> tuple[Wholes, Wholes]:
    """An exponent e for each row (R,), and whole numbers of so many bits (R, N): the matrix is
    about 2^e times those.
    """
    rows: Array64 = matrix.astype(np.float64)
    most = np.abs(rows).max(1)
    exponents = np.frexp(most)[1] - (bits - 1)
    too_large = np.rint(np.ldexp(most, -exponents)) > 2 ** (bits - 1) - 1
    exponents = exponents + too_large
    wholes = np.rint(np.ldexp(rows, -exponents[:, None]))
    return exponents, wholes.astype(f"<i{bits // 8}")


def check_known(
    architecture: Architecture, kind: str, cells: Collection[str], heads: Collection[str]
) -> None:
    """Raise ExportError where such a file would compute something else than this network does."""
    cell, head = architecture.cell_name, architecture.head_name
    if cell not in cells:
        raise ExportError(f"{kind} cannot hold the cell {cell}", f"It can hold {names(cells)}.")
    if head not in heads:
        raise ExportError(
            f"{kind} cannot end texts by {head}", f"It can end them by {names(heads)}."
        )
    size = architecture.symbols, architecture.hidden, architecture.layers
    known = Architecture(*size, cell, head)
    if architecture.shapes != known.shapes:
        inputs = [name for name in architecture.inputs if name not in known.inputs]
        others = [name for name in architecture.shapes if name not in known.shapes]
        what = f"that reads more than characters: {', '.join(inputs)}"
        if not inputs:
            what = f"with {', '.join(others) or 'arrays of other shapes'}"
        raise ExportError(f"{kind} cannot hold a network {what}", "Train one without that.")


def names(known: Collection[str]) -> str:
    """All of them, the last after an "or"."""
    *others, last = known
    return f"{', '.join(others)} or {last}" if others else last
