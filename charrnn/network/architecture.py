"""The architecture of a network: symbols, units and layers, a cell and a head."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import cached_property
from importlib import import_module
from math import prod
from typing import Any

from charrnn.network.cells import CELLS, FORCED, Cell
from charrnn.network.heads import HEADS, Head
from charrnn.network.inputs import INPUTS
from charrnn.network.rounding import Grid


def _load(place: str) -> Any:
    """Return the object at module:attribute."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


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
        cell: Cell = _load((FORCED if self.forced else CELLS)[self.cell_name])
        return cell

    @cached_property
    def head(self) -> Head:
        head: Head = _load(HEADS[self.head_name])
        return head

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
        most = max(self.hidden, *(INPUTS[name].width for name in self.inputs), 1)
        left = 53 - (most - 1).bit_length()
        return Grid(left - left // 2, left // 2)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters, in the order in which they are stored: see parameters."""
        columns = self.cell.gates * self.hidden
        shapes: dict[str, tuple[int, ...]] = {}
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
