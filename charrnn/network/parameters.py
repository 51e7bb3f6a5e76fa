"""Networks without numbers, and their parameters: views of one flat array under the book's letters.

A network of K symbols, H units and L layers of a cell with G gates has

    U1 (K, G H)  stored transposed: row k is what symbol k adds to the activation; (K + L, G H) if
                 texts have one of L labels, each read in the place of the END before a text
    Ul (G H, H)  for l = 2 .. L: from the layer below
    Wl (G H, H)  from the state before; (G H, K) if outputs are fed back
    bl (G H,)
    dl (H,)      added to the last block of W h by some cells: see own_bias
    U1.name (G H, F)  from an input besides symbols
    V  (K, H)    from the top layer to the output
    c  (K,)
    tau.name     of the distribution over lengths: see heads

Inputs besides symbols are counts of characters:

    a(t) = b + W h(t-1) + U x(t) + C f(n)        (10.8) with a block of columns beside U

    clock     n = the number of characters read
    to_come   n = tau - t, the number of characters to come, the next one included

f(n) are a few numbers that are smooth in n. Exponentials that fade at several rates distinguish
near counts from far ones, waves of several lengths neighbours. The waves of `to_come` fade far from
the end, and each of the last characters has a mark. The count follows from the place in the text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import prod
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from charrnn.network.arrays import Array, Integers
from charrnn.network.cells import CELLS, Cell, Forced
from charrnn.network.heads import HEADS, Head
from charrnn.settings.training import Fitted
from charrnn.text.vocabulary import END, UNKNOWN, Vocabulary

Counts = NDArray[np.int64]

FADING: Final = (2, 6, 20, 60, 200)  # characters in which an exponential fades to a third
WAVES: Final = (2, 3, 4, 5, 8, 16, 32)  # wavelengths in characters
CALM: Final = 30  # the decay length of the waves, in characters from the end
MARKED: Final = 8  # characters at the end that have a mark
DISTINCT: Final = 1 << 12  # counts with a row of their own
PERIOD: Final = math.lcm(*WAVES)  # of the clock beyond DISTINCT
INITIAL_BIASES: Final = {"lstm": (0.0, 1.0, 0.0, 0.0)}  # of the gates, if not 0: a new one keeps c


@cache
def features(name: str, dtype: str) -> Array:
    """Return the features of the counts from 0 on, (N, F)."""
    n = np.arange(DISTINCT + PERIOD)[:, None]
    turns = 2 * np.pi * (n % PERIOD) / WAVES
    waves = np.concatenate([np.cos(turns), np.sin(turns[:, 1:])], 1)  # of wavelength 2, sine is 0
    parts = [np.exp(-n / FADING), waves]
    if name == "to_come":
        parts = [parts[0], np.exp(-n / CALM) * waves, n == np.arange(1, MARKED + 1)]
    return np.concatenate(parts, 1).astype(dtype)


def count_features(name: str, counts: Integers, dtype: DTypeLike) -> Array:
    """Return the features of counts, (..., F)."""
    beyond = DISTINCT + (counts - DISTINCT) % PERIOD if name == "clock" else DISTINCT - 1
    return features(name, np.dtype(dtype).char)[np.where(counts < DISTINCT, counts, beyond)]


def read_before(ids: Integers) -> Counts:
    """Count the characters of its example before each symbol, (S,): 0 at the first."""
    places: Counts = np.arange(len(ids))
    first = np.where(np.append(True, ids == END)[: len(ids)], places, 0)
    return places - np.maximum.accumulate(first)


def still_to_come(ids: Integers) -> Counts:
    """Count the characters from each symbol to END, (S,): 0 at END, which also follows the ids."""
    places: Counts = np.arange(len(ids))
    stops = np.where(ids == END, places, len(ids))
    return np.minimum.accumulate(stops[::-1])[::-1] - places


@dataclass(frozen=True)
class Architecture:
    """A network without numbers: K symbols, H hidden units, L layers."""

    symbols: int
    hidden: int
    layers: int
    cell_name: str = "tanh"
    head_name: str = "symbol"
    forced: bool = False  # whether the truth is fed back in place of the outputs
    clock: bool = False  # whether the number of characters read is an input
    labels: int = 0  # that may be read, and are never predicted

    @cached_property
    def cell(self) -> type[Cell]:
        return Forced if self.forced else CELLS[self.cell_name]

    @cached_property
    def head(self) -> type[Head]:
        return HEADS[self.head_name]

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs besides symbols."""
        return ("clock", *self.head.inputs) if self.clock else self.head.inputs

    @cached_property
    def plain(self) -> Architecture:
        """The network that is unfolded: itself, or the plain one if outputs are fed back."""
        return replace(self, cell_name="tanh", forced=False) if self.cell.feeds_back else self

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters, in the order in which they are stored."""
        columns = self.cell.gates * self.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        fed_back = self.symbols if self.cell.feeds_back else self.hidden
        for layer in range(1, self.layers + 1):
            first = (self.symbols + self.labels, columns)
            shapes[f"U{layer}"] = first if layer == 1 else (columns, self.hidden)
            shapes[f"W{layer}"] = (columns, fed_back)
            shapes[f"b{layer}"] = (columns,)
            if self.cell.own_bias:
                shapes[f"d{layer}"] = (self.hidden,)
        for name in self.inputs:
            shapes[f"U1.{name}"] = (columns, features(name, "f").shape[1])
        shapes |= {"V": (self.symbols, self.hidden), "c": (self.symbols,)}
        return shapes | dict(self.head.lengths.shapes if self.head.lengths else {})

    @cached_property
    def parameter_count(self) -> int:
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def state_names(self) -> list[str]:
        """The names of the states by layers: 1, 2 for h alone; 1, 1.c, 2, 2.c for h and c."""
        endings = ["", *(f".{name}" for name in self.cell.states[1:])]
        return [f"{layer}{end}" for layer in range(1, self.layers + 1) for end in endings]


def architecture_of(config: Fitted, vocabulary: Vocabulary) -> Architecture:
    """Return the network that these settings describe, for the symbols of a vocabulary."""
    sizes = vocabulary.symbols, config.hidden, config.layers, config.cell, config.ends
    return Architecture(*sizes, config.teacher_forcing, config.clock, len(vocabulary.labels))


class Parameters(dict[str, Array]):
    """Named arrays that are views of one flat array. A gradient is Parameters too."""

    def __init__(self, architecture: Architecture, flat: Array) -> None:
        self.architecture, self.flat = architecture, flat
        start = 0
        for name, shape in architecture.shapes.items():
            stop = start + prod(shape)
            self[name] = flat[start:stop].reshape(shape)
            start = stop

    @classmethod
    def zeros(cls, architecture: Architecture, dtype: DTypeLike = np.float32) -> Parameters:
        return cls(architecture, np.zeros(architecture.parameter_count, dtype))

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


def initial(
    a: Architecture, log_frequencies: Array, rng: np.random.Generator, radius: float = 1.0
) -> Parameters:
    """Return initial parameters, whose first loss is near that of these frequencies, (K,).

    The W of each gate is orthogonal, times its spectral radius: with a radius of 1 a gradient
    neither shrinks nor grows on its way back. A symbol that never occurs (UNKNOWN) has zeros in U,
    which stay unless noise makes it occur.
    """
    p = Parameters.zeros(a)
    hidden, biases = a.hidden, INITIAL_BIASES.get(a.cell_name)
    for layer in range(1, a.layers + 1):
        U, W, b = p[f"U{layer}"], p[f"W{layer}"], p[f"b{layer}"]
        U[...] = rng.standard_normal(U.shape) * (0.4 if layer == 1 else hidden**-0.5)
        if a.cell.feeds_back:
            W[...] = rng.standard_normal(W.shape) * 0.1  # outputs are large themselves
            continue
        for gate in W.reshape(-1, hidden, hidden):
            q, r = np.linalg.qr(rng.standard_normal((hidden, hidden)))
            signs = np.sign(np.diag(r))  # without these, rotations are not uniform
            gate[...] = radius * q * signs
        if biases is not None:
            b[...] = np.repeat(biases, hidden)
    p["U1"][: len(log_frequencies)][np.isneginf(log_frequencies)] = 0
    p["V"][...] = rng.standard_normal(p["V"].shape) * (0.1 * hidden**-0.5)
    seen = log_frequencies[np.isfinite(log_frequencies)]
    p["c"][...] = np.where(np.isfinite(log_frequencies), log_frequencies, seen.min() - 5)
    if a.cell.feeds_back and not a.forced:
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

    def parameters_for(self, vocabulary: Vocabulary, frequencies: Array) -> Parameters:
        """Return the parameters for a larger vocabulary. New characters have zeros in U, V and W,
        and in c their frequencies relative to the rows that are copied. New labels are read as END.
        """
        old, a, symbols = self.parameters, self.architecture, vocabulary.symbols
        p = Parameters.zeros(replace(a, symbols=symbols, labels=len(vocabulary.labels)))
        known = np.array([END, UNKNOWN, *vocabulary.encode(self.vocabulary.characters)])
        for name, array in p.items():
            of_symbols = old[name][: a.symbols] if name == "U1" else old[name]
            into = array[:symbols] if name == "U1" else array
            sizes = zip(into.shape, of_symbols.shape, strict=True)
            axes = [known if wider > size else np.arange(size) for wider, size in sizes]
            into[np.ix_(*axes)] = of_symbols
        rows = old.plain()["U1"]  # where the true y(t-1) is fed back, END has a column of W, too
        for row, label in enumerate(vocabulary.labels, symbols):
            is_old = label in self.vocabulary.labels
            p["U1"][row] = rows[self.vocabulary.id_of(label) if is_old else END]
        new = np.setdiff1d(np.arange(symbols), known)
        p["c"][new] = np.log(frequencies[new]) + np.log(np.exp(old["c"]).sum())
        return p
