"""The architecture of a network: symbols, units and layers, a cell and a head.

It determines the arrays and their shapes, the number of parameters, and the states that a step
passes to the next.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cached_property
from math import prod

from charrnn.network.cells import Cell, cell_named
from charrnn.network.heads import Head, head_named
from charrnn.network.inputs import INPUTS
from charrnn.network.rounding import Grid

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Architecture:
    """A network without numbers: K symbols, H hidden units, L layers."""

    symbols: int
    hidden: int
    layers: int
    cell_name: str = "tanh"
    head_name: str = "symbol"
    forced: bool = False  # whether the truth is fed back in place of the outputs
    asked: tuple[str, ...] = ()  # inputs besides symbols, beyond those that the head needs

    def __reduce__(self) -> tuple[type[Architecture], tuple[object, ...]]:
        """Pickle the fields alone: a copy looks up its cell and its head again."""
        return Architecture, astuple(self)

    @cached_property
    def cell(self) -> Cell:
        """The cell, the same in every layer."""
        return cell_named(self.cell_name, forced=self.forced)

    @cached_property
    def head(self) -> Head:
        """The head, which turns outputs into a distribution over the next symbol."""
        return head_named(self.head_name)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs besides symbols, as in INPUTS."""
        return (*self.asked, *self.head.inputs)

    @cached_property
    def plain(self) -> Architecture:
        """The network that is unfolded: itself, or the plain one if outputs are fed back."""
        if self.cell.feedback is None:
            return self
        return replace(self, cell_name="tanh", forced=False)

    @cached_property
    def grid(self) -> Grid:
        """The finest grid for sums over the units, or over the numbers of an input."""
        return Grid.for_sums(max(self.hidden, *(INPUTS[name].width for name in self.inputs), 1))

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes of the parameters, in the order in which they are stored: see parameters."""
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
        """The number of parameters."""
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def state_names(self) -> list[str]:
        """The names of the states by layers: 1, 2 for h alone; 1, 1.c, 2, 2.c for h and c."""
        endings = ["", *(f".{name}" for name in list(self.cell.states)[1:])]
        return [f"{layer}{end}" for layer in range(1, self.layers + 1) for end in endings]

    @cached_property
    def state_bounds(self) -> list[float]:
        """The largest absolute value of each state."""
        return list(self.cell.states.values()) * self.layers
