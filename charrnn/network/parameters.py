"""The numbers that learning changes, each under the book's letter.

A network of L layers has

    U1 (K, H)  stored transposed: row k is what symbol k adds to the activation
    Ul (H, H)  for l = 2 .. L: from the layer below
    Wl (H, H)  from the state before
    bl (H,)
    V  (K, H)  from the top layer to the output
    c  (K,)

laid end to end in one flat array, of which the named arrays are views. So whoever has to treat
all numbers alike (the optimiser, the norm of a gradient) takes ``flat``, and whoever
follows an equation takes the letters. A gradient is Parameters too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Shapes = Mapping[str, tuple[int, ...]]


def shapes_of(symbols: int, hidden: int, layers: int) -> dict[str, tuple[int, ...]]:
    """The arrays of a network of that size, in the order in which they are stored."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(1, layers + 1):
        shapes[f"U{layer}"] = (symbols if layer == 1 else hidden, hidden)
        shapes[f"W{layer}"] = (hidden, hidden)
        shapes[f"b{layer}"] = (hidden,)
    return shapes | {"V": (symbols, hidden), "c": (symbols,)}


@dataclass(frozen=True)
class Size:
    """How large a network is. The shapes say it; this only reads them."""

    symbols: int
    hidden: int
    layers: int


class Parameters(Mapping[str, Array]):
    """Named arrays that are views of one flat array."""

    __slots__ = ("flat", "shapes", "size", "views")

    def __init__(self, shapes: Shapes, flat: Array) -> None:
        if flat.shape != (count(shapes),):
            raise ValueError(f"{count(shapes)} numbers are needed, not {flat.shape}")
        self.flat = flat
        self.shapes = dict(shapes)
        self.views: dict[str, Array] = {}
        start = 0
        for name, shape in shapes.items():
            stop = start + prod(shape)
            self.views[name] = flat[start:stop].reshape(shape)
            start = stop
        layers = sum(name.startswith("W") for name in shapes)
        symbols, hidden = shapes["V"]
        self.size = Size(symbols, hidden, layers)

    def __getitem__(self, name: str) -> Array:
        return self.views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def like(self) -> Parameters:
        """Zeros of the same shapes."""
        return Parameters(self.shapes, np.zeros_like(self.flat))

    def copy(self) -> Parameters:
        """The same numbers in a place of their own."""
        return Parameters(self.shapes, self.flat.copy())

    def matrices(self) -> Array:
        """1 where a number belongs to a matrix and 0 where to a bias: what weight decay is for."""
        marks = self.like()
        for name, shape in self.shapes.items():
            marks[name][...] = len(shape) == 2
        return marks.flat


def count(shapes: Shapes) -> int:
    """How many numbers arrays of these shapes hold."""
    return sum(prod(shape) for shape in shapes.values())


def initial(
    size: Size,
    log_frequencies: Array,  # (K,)
    rng: np.random.Generator,
    dtype: DTypeLike = np.float32,
) -> Parameters:
    """Values to start learning from.

    W is orthogonal, so a gradient that walks back through it neither shrinks nor grows. V is small
    and c is the log of how often each symbol stands in the corpus, so the first loss is that of
    the unigram model and no step is spent on learning it. A symbol that never occurs (UNKNOWN)
    says nothing: its row of U is zero, and stays so unless noise makes it occur.
    """
    shapes = shapes_of(size.symbols, size.hidden, size.layers)
    p = Parameters(shapes, np.zeros(count(shapes), dtype))
    for layer in range(1, size.layers + 1):
        U, W = p[f"U{layer}"], p[f"W{layer}"]
        U[...] = rng.standard_normal(U.shape) * (0.4 if layer == 1 else size.hidden**-0.5)
        q, r = np.linalg.qr(rng.standard_normal(W.shape))
        W[...] = q * np.sign(np.diag(r))  # without the signs some rotations come too often
    p["U1"][np.isneginf(log_frequencies)] = 0
    p["V"][...] = rng.standard_normal(p["V"].shape) * (0.1 * size.hidden**-0.5)
    seen = log_frequencies[np.isfinite(log_frequencies)]
    p["c"][...] = np.where(np.isfinite(log_frequencies), log_frequencies, seen.min() - 5)
    return p
