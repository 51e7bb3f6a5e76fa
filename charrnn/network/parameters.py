"""The parameters of a network, each under the book's letter: views of one flat array.

A network of L layers of a cell with G gates has

    U1 (K, G H)  stored transposed: row k is what symbol k adds to the activation
    Ul (G H, H)  for l = 2 .. L: from the layer below
    Wl (G H, H)  from the state before; (G H, K) if outputs are fed back
    bl (G H,)
    dl (H,)      added to the last block of W h by some cells: see own_bias
    U1.name (G H, F)  from an input besides symbols: see inputs
    V  (K, H)    from the top layer to the output
    c  (K,)
    tau.name     of the distribution over lengths: see heads
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network import Array
from charrnn.network.architecture import Architecture
from charrnn.vocabulary import Vocabulary


class Parameters(Mapping[str, Array]):
    """Named arrays that are views of one flat array. A gradient is Parameters too."""

    __slots__ = ("architecture", "flat", "views")

    def __init__(self, architecture: Architecture, flat: Array) -> None:
        if flat.shape != (architecture.parameter_count,):
            raise ValueError(f"{architecture.parameter_count} numbers, not {flat.shape}")
        self.architecture, self.flat = architecture, flat
        self.views: dict[str, Array] = {}
        start = 0
        for name, shape in architecture.shapes.items():
            stop = start + prod(shape)
            self.views[name] = flat[start:stop].reshape(shape)
            start = stop

    @classmethod
    def zeros(cls, architecture: Architecture, dtype: DTypeLike = np.float32) -> Parameters:
        return cls(architecture, np.zeros(architecture.parameter_count, dtype))

    def __getitem__(self, name: str) -> Array:
        return self.views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __reduce__(self) -> tuple[type[Parameters], tuple[Architecture, Array]]:
        """Pickle the flat array alone, so that the arrays of a copy are views of its own."""
        return Parameters, (self.architecture, self.flat)

    def like(self) -> Parameters:
        """Return zeros of the same shapes."""
        return Parameters(self.architecture, np.zeros_like(self.flat))

    def copy(self) -> Parameters:
        return Parameters(self.architecture, self.flat.copy())

    def plain(self, into: Parameters | None = None) -> Parameters:
        """Return the plain network that computes the same, which may be this one."""
        if not self.architecture.cell.feeds_back:
            return self
        plain = Parameters.zeros(self.architecture.plain, self.flat.dtype) if into is None else into
        for name, array in plain.items():
            if array.shape == self[name].shape:
                array[...] = self[name]
        self.architecture.cell.plainly(self, plain)
        return plain

    def gradient_from(self, of_plain: Parameters, gradient: Parameters) -> None:
        """Fill the gradient from the gradient of the plain network."""
        if not self.architecture.cell.feeds_back:
            gradient.flat[...] = of_plain.flat
            return
        for name, array in gradient.items():
            if array.shape == of_plain[name].shape:
                array[...] = of_plain[name]
        self.architecture.cell.back_from_plain(self, of_plain, gradient)

    def matrices(self) -> Array:
        """Return 1 for each number of a matrix and 0 for each of a bias: where weights decay."""
        marks = self.like()
        for array in marks.values():
            array[...] = array.ndim == 2
        return marks.flat


def initial(
    architecture: Architecture,
    log_frequencies: Array,  # (K,)
    rng: np.random.Generator,
    dtype: DTypeLike = np.float32,
    radius: float = 1.0,
) -> Parameters:
    """Return initial parameters, whose first loss is that of the unigram model.

    The W of each gate is orthogonal, times its spectral radius: with a radius of 1 a gradient
    neither shrinks nor grows on its way back. A symbol that never occurs (UNKNOWN) has zeros in U,
    which stay unless noise makes it occur.
    """
    p = Parameters.zeros(architecture, dtype)
    hidden, bias = architecture.hidden, architecture.cell.bias
    for layer in range(1, architecture.layers + 1):
        U, W, b = p[f"U{layer}"], p[f"W{layer}"], p[f"b{layer}"]
        U[...] = rng.standard_normal(U.shape) * (0.4 if layer == 1 else hidden**-0.5)
        if architecture.cell.feeds_back:
            W[...] = rng.standard_normal(W.shape) * 0.1  # outputs are large themselves
            continue
        for gate in W.reshape(-1, hidden, hidden):
            q, r = np.linalg.qr(rng.standard_normal((hidden, hidden)))
            signs = np.sign(np.diag(r))  # without these, rotations are not uniform
            gate[...] = radius * q * signs
        b[...] = np.repeat(bias, hidden)
    p["U1"][np.isneginf(log_frequencies)] = 0
    p["V"][...] = rng.standard_normal(p["V"].shape) * (0.1 * hidden**-0.5)
    seen = log_frequencies[np.isfinite(log_frequencies)]
    p["c"][...] = np.where(np.isfinite(log_frequencies), log_frequencies, seen.min() - 5)
    if architecture.cell.feeds_back and not architecture.forced:
        p["b1"][...] -= p["W1"] @ p["c"]  # so that the first outputs fed back add nothing
    return p


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A network with its parameters and its vocabulary."""

    parameters: Parameters
    vocabulary: Vocabulary

    @property
    def architecture(self) -> Architecture:
        return self.parameters.architecture
