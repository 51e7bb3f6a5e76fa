"""What a network is made of: how many symbols, units and layers, of which cell, under which head.

Everything else follows from it: which arrays there are and of which shapes, how many numbers are
learned, and how many states a step hands on to the next.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cached_property
from math import prod

from charrnn.network.cells import Cell, cell_named
from charrnn.network.heads import Head, head_named
from charrnn.network.inputs import INPUTS

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Architecture:
    """A network with no numbers in it yet. Sizes are K symbols, H hidden units, L layers."""

    symbols: int
    hidden: int
    layers: int
    cell_name: str = "tanh"
    head_name: str = "symbol"
    forced: bool = False  # whether the truth is fed back in place of the outputs
    asked: tuple[str, ...] = ()  # what is to be read besides symbols, whatever the head reads

    def __reduce__(self) -> tuple[type[Architecture], tuple[object, ...]]:
        """A copy finds its cell and its head anew."""
        return Architecture, astuple(self)

    @cached_property
    def cell(self) -> Cell:
        """What turns a state into the next, the same in every layer."""
        return cell_named(self.cell_name, forced=self.forced)

    @cached_property
    def head(self) -> Head:
        """What turns outputs into a distribution over the next symbol."""
        return head_named(self.head_name)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """What is read besides symbols: names among INPUTS."""
        return (*self.asked, *self.head.inputs)

    @cached_property
    def plain(self) -> Architecture:
        """What is unfolded: itself, or where outputs are fed back the plain network alike to it."""
        if self.cell.feedback is None:
            return self
        return replace(self, cell_name="tanh", forced=False)

    @cached_property
    def shapes(self) -> Shapes:
        """The arrays that are learned, in the order in which they are stored: see parameters."""
        columns, shapes = self.cell.gates * self.hidden, Shapes()
        fed_back = self.hidden if self.cell.feedback is None else self.symbols
        for layer in range(1, self.layers + 1):
            below = self.symbols if layer == 1 else self.hidden
            shapes[f"U{layer}"] = (below, columns) if layer == 1 else (columns, below)
            shapes[f"W{layer}"] = (columns, fed_back)
            shapes[f"b{layer}"] = (columns,)
            if self.cell.own_bias:
                shapes[f"d{layer}"] = (self.hidden,)
        shapes |= {f"U1.{name}": (columns, INPUTS[name].width) for name in self.inputs}
        shapes |= {"V": (self.symbols, self.hidden), "c": (self.symbols,)}
        return shapes | dict(self.head.lengths.shapes if self.head.lengths else {})

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
