"""The numbers of a model as bytes, array after array, little-endian, for the page and the module.

With 32 bits they are float32, exact because matrices that multiply states are on the grid. With 16
or 8 each row of a matrix is an int16 e and integers n: a weight is 2^e n; vectors remain float32.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import ExportError
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import Array, Array64

Integers = NDArray[np.signedinteger[Any]]


def encode(p: Parameters, bits: int) -> bytes:
    """Return all parameters as bytes."""
    parts = []
    for name, array in p.exact().items():
        if bits == 32 or array.ndim == 1:
            parts.append(array.astype("<f4").tobytes())
        else:
            exponents, integers = as_integers(p[name], bits)
            for exponent, row in zip(exponents.astype("<i2"), integers, strict=True):
                parts += [exponent.tobytes(), row.tobytes()]
    return b"".join(parts)


def as_integers(matrix: Array, bits: int) -> tuple[Integers, Integers]:
    """Return exponents e (R,) and integers n (R, N) of so many bits: the matrix is about 2^e n."""
    rows: Array64 = matrix.astype(np.float64)
    most = np.abs(rows).max(1)
    exponents = np.frexp(most)[1] - (bits - 1)
    too_large = np.rint(np.ldexp(most, -exponents)) > 2 ** (bits - 1) - 1
    exponents = exponents + too_large
    integers = np.rint(np.ldexp(rows, -exponents[:, None]))
    return exponents, integers.astype(f"<i{bits // 8}")


def check_known(
    architecture: Architecture, kind: str, cells: Collection[str], heads: Collection[str]
) -> None:
    """Raise ExportError if such a file would compute something else than this network."""
    cell, head = architecture.cell_name, architecture.head_name
    for name, own, others in (("cell", cell, cells), ("ends", head, heads)):
        if own not in others:
            hint = f"It takes [{name}] {in_words(others)}."
            raise ExportError(f"{name} {own} does not fit into {kind}", hint, name)
    known = Architecture(architecture.symbols, architecture.hidden, architecture.layers, cell, head)
    if architecture.shapes != known.shapes:
        inputs = [name for name in architecture.inputs if name not in known.inputs]
        others = [name for name in architecture.shapes if name not in known.shapes]
        name = (*inputs, *others, "the network")[0]
        raise ExportError(f"{name} does not fit into {kind}", "Train without it.", name)


def in_words(names: Collection[str]) -> str:
    """Join the names by commas, the last by "or"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
