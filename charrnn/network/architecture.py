"""What a network is made of: how many symbols, units and layers, of which cell, under which head.

Everything else follows from it: which arrays there are and of which shapes, how many numbers are
learned, and how many states a step hands on to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from charrnn.network.cells import Cell, cell_named
from charrnn.network.heads import Head, head_named

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Architecture:
    """A network with no numbers in it yet. Sizes are K symbols, H hidden units, L layers."""

    symbols: int
    hidden: int
    layers: int
    cell_name: str = "tanh"
    head_name: str = "symbol"

    def __reduce__(self) -> tuple[type[Architecture], tuple[int, int, int, str, str]]:
        """A copy finds its cell and its head anew."""
        names = self.cell_name, self.head_name
        return Architecture, (self.symbols, self.hidden, self.layers, *names)

    @cached_property
    def cell(self) -> Cell:
        """What turns a state into the next, the same in every layer."""
        return cell_named(self.cell_name)

    @cached_property
    def head(self) -> Head:
        """What turns outputs into a distribution over the next symbol."""
        return head_named(self.head_name)

    @cached_property
    def shapes(self) -> Shapes:
        """The arrays that are learned, in the order in which they are stored: see parameters."""
        columns, shapes = self.cell.gates * self.hidden, Shapes()
        for layer in range(1, self.layers + 1):
            below = self.symbols if layer == 1 else self.hidden
            shapes[f"U{layer}"] = (below, columns) if layer == 1 else (columns, below)
            shapes[f"W{layer}"] = (columns, self.hidden)
            shapes[f"b{layer}"] = (columns,)
            if self.cell.own_bias:
                shapes[f"d{layer}"] = (self.hidden,)
        return shapes | {"V": (self.symbols, self.hidden), "c": (self.symbols,)}

    @cached_property
    def parameter_count(self) -> int:
        """How many numbers are learned."""
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def state_names(self) -> list[str]:
        """The states that a step hands on, layer by layer: 1, 2 for h alone, 1, 1.c for two."""
        endings = ["", *(f".{name}" for name in list(self.cell.states)[1:])]
        return [f"{layer}{end}" for layer in range(1, self.layers + 1) for end in endings]

    @cached_property
    def state_bounds(self) -> list[float]:
        """How far from 0 each of these can be."""
        return list(self.cell.states.values()) * self.layers
