"""The numbers that learning changes, each under the book's letter.

A network of L layers of a cell with G gates has

    U1 (K, G H)  stored transposed: row k is what symbol k adds to the activation
    Ul (G H, H)  for l = 2 .. L: from the layer below
    Wl (G H, H)  from the state before; (G H, K) where the output before is fed back
    bl (G H,)
    dl (H,)      what some cells add to the last block of W h: see own_bias
    U1.name (G H, F)  from an input that is no symbol: see inputs
    V  (K, H)    from the top layer to the output
    c  (K,)
    tau.name     what a distribution over lengths is made of: see heads

laid end to end in one flat array, of which the named arrays are views. So whoever has to treat
all numbers alike (the optimiser, the norm of a gradient) takes ``flat``, and whoever
follows an equation takes the letters. A gradient is Parameters too.

A language model: a network with its numbers, the vocabulary that they speak of, how it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network.architecture import Architecture
from charrnn.vocabulary import Vocabulary

Array = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]


class Parameters(Mapping[str, Array]):
    """Named arrays that are views of one flat array."""

    __slots__ = ("architecture", "flat", "views")

    def __init__(self, architecture: Architecture, flat: Array) -> None:
        if flat.shape != (architecture.parameter_count,):
            raise ValueError(f"{architecture.parameter_count} numbers, not {flat.shape}")
        self.architecture = architecture
        self.flat = flat
        self.views: dict[str, Array] = {}
        start = 0
        for name, shape in architecture.shapes.items():
            stop = start + prod(shape)
            self.views[name] = flat[start:stop].reshape(shape)
            start = stop

    @classmethod
    def zeros(cls, architecture: Architecture, dtype: DTypeLike = np.float32) -> Parameters:
        """Nothing but zeros."""
        return cls(architecture, np.zeros(architecture.parameter_count, dtype))

    def __getitem__(self, name: str) -> Array:
        return self.views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __reduce__(self) -> tuple[type[Parameters], tuple[Architecture, Array]]:
        """A copy is made of the flat array, so that its names are views of that, and learn too."""
        return Parameters, (self.architecture, self.flat)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same numbers of the same network."""
        if not isinstance(other, Parameters):
            return NotImplemented
        return self.architecture == other.architecture and np.array_equal(self.flat, other.flat)

    __hash__ = None  # type: ignore[assignment]  # its numbers change

    def like(self) -> Parameters:
        """Zeros of the same shapes."""
        return Parameters(self.architecture, np.zeros_like(self.flat))

    def copy(self) -> Parameters:
        """The same numbers in a place of their own."""
        return Parameters(self.architecture, self.flat.copy())

    def plain(self, into: Parameters | None = None) -> Parameters:
        """The plain network that does the same, see Feedback; itself, where it is one."""
        feedback = self.architecture.cell.feedback
        if feedback is None:
            return self
        plain = Parameters.zeros(self.architecture.plain, self.flat.dtype) if into is None else into
        for name, array in plain.items():
            if array.shape == self[name].shape:
                array[...] = self[name]
        feedback.plainly(self, plain)
        return plain

    def gradient_from(self, of_plain: Parameters, gradient: Parameters) -> None:
        """Fill the gradient with what that of the plain network makes it."""
        feedback = self.architecture.cell.feedback
        if feedback is None:
            gradient.flat[...] = of_plain.flat
            return
        for name, array in gradient.items():
            if array.shape == of_plain[name].shape:
                array[...] = of_plain[name]
        feedback.back(self, of_plain, gradient)

    def matrices(self) -> Array:
        """1 where a number belongs to a matrix and 0 where to a bias: what weight decay is for."""
        marks = self.like()
        for array in marks.values():
            array[...] = array.ndim == 2
        return marks.flat


FED_BACK = 0.1  # how large the W of outputs is at first; they are large themselves


def initial(
    architecture: Architecture,
    log_frequencies: Array,  # (K,)
    rng: np.random.Generator,
    dtype: DTypeLike = np.float32,
) -> Parameters:
    """Values to start learning from.

    The W of each gate is orthogonal, so a gradient that walks back through it neither shrinks nor
    grows. V is small and c is the log of how often each symbol stands in the corpus, so the first
    loss is that of the unigram model and no step is spent on learning it. A symbol that never
    occurs (UNKNOWN) says nothing: its row of U is zero, and stays so unless noise makes it occur.
    """
    p = Parameters.zeros(architecture, dtype)
    hidden, bias = architecture.hidden, architecture.cell.bias
    for layer in range(1, architecture.layers + 1):
        U, W, b = p[f"U{layer}"], p[f"W{layer}"], p[f"b{layer}"]
        U[...] = rng.standard_normal(U.shape) * (0.4 if layer == 1 else hidden**-0.5)
        if architecture.cell.feedback is not None:
            W[...] = rng.standard_normal(W.shape) * FED_BACK
            continue
        for gate in W.reshape(-1, hidden, hidden):
            q, r = np.linalg.qr(rng.standard_normal((hidden, hidden)))
            gate[...] = q * np.sign(np.diag(r))  # without the signs some rotations come too often
        b[...] = np.repeat(bias, hidden)
    p["U1"][np.isneginf(log_frequencies)] = 0
    p["V"][...] = rng.standard_normal(p["V"].shape) * (0.1 * hidden**-0.5)
    seen = log_frequencies[np.isfinite(log_frequencies)]
    p["c"][...] = np.where(np.isfinite(log_frequencies), log_frequencies, seen.min() - 5)
    if architecture.cell.feedback is not None and not architecture.forced:
        p["b1"][...] -= p["W1"] @ p["c"]  # so that what is fed back at first says nothing
    return p


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """All that it takes to draw a text and to score one."""

    parameters: Parameters
    vocabulary: Vocabulary
    carry: bool = False  # whether the state goes on from one example to the next, as in a book
    squares: Array | None = None  # (n,) usual squares of the gradient of a symbol's loss, if known

    @property
    def architecture(self) -> Architecture:
        """What the parameters are the numbers of."""
        return self.parameters.architecture
