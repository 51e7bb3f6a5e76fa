"""Cells: how a layer gets from one state to the next. A file each, and a line in CELLS.

A cell sees one step of one layer. With B lanes, H units and G gates it is handed

    ux (B, G H)   b + U x(t), one block of H columns a gate
    wh (B, G H)   W h(t-1), the one product inside the loop, whatever the cell
    before        its states at t-1, each (B, H); the first is h
    after         its states at t, to be filled; the first is what the layer above reads

and on the way back, with what it wrote on its tape, dL/d(after), to be turned into dL/d(ux),
dL/d(wh) and, where it reads them, dL/d(before). Training and exact steps call the same two
functions. All is computed in place: ``d_ux`` holds what forward left in ``ux``, dL/d(before) of a
second state takes the place of its dL/d(after), and dL/d(after) of h is not needed any more.
``spare`` is two arrays like ``ux`` to compute in. A cell of one gate has ``ux`` in the place of
the new h, and d_ux in that of its gradient.

A cell with a feedback has the outputs go back, or the truth, in place of h: its W is (G H, K). It
says which plain network does the same, and that is what is unfolded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from charrnn.network.parameters import Array, Parameters

    States = Sequence[Array]

    class Forward(Protocol):
        """Fill the states after a step."""

        def __call__(
            self, ux: Array, wh: Array, before: States, after: States, tape: Array
        ) -> None: ...

    class Backward(Protocol):
        """Fill the gradients of U x, of W h and of the states before."""

        def __call__(
            self,
            d_after: States,
            before: States,
            after: States,
            tape: Array,
            d_ux: Array,
            d_wh: Array,
            d_before: States,
            spare: States,
        ) -> None: ...

    class Plainly(Protocol):
        """Fill what differs in the parameters of the plain network."""

        def __call__(self, p: Parameters, plain: Parameters) -> None: ...

    class Back(Protocol):
        """Fill what differs in the gradient, whose other arrays are those of the plain network."""

        def __call__(self, p: Parameters, of_plain: Parameters, gradient: Parameters) -> None: ...


# name -> where it is found
CELLS = {
    "tanh": "charrnn.network.cells.tanh:TANH",
    "gru": "charrnn.network.cells.gru:GRU",
    "lstm": "charrnn.network.cells.lstm:LSTM",
    "output": "charrnn.network.cells.output:OUTPUT",
}
# and what it is while the truth is fed back to it
FORCED = {"output": "charrnn.network.cells.output:FORCED"}


@dataclass(frozen=True)
class Feedback:
    """How what is fed back is expressed in the plain network, and the gradient of that in it."""

    plainly: Plainly
    back: Back
    comes_apart: bool = False  # whether no step needs the one before it


@dataclass(frozen=True)
class Cell:
    """Two functions, and what has to be known to call them."""

    forward: Forward
    backward: Backward
    states: Mapping[str, float]  # name -> how far from 0 it can be
    bias: Sequence[float]  # what the b of each gate starts from
    tape: int = 0  # blocks of H columns that forward leaves for backward
    reads_before: bool = False  # whether it reads its states before, not only through W h
    one_gradient: bool = True  # whether dL/d(W h) is dL/d(U x): then d_wh is d_ux
    own_bias: int = 0  # gates, the last, whose W h has a bias d of its own
    feedback: Feedback | None = None  # where W multiplies something else than h

    @property
    def gates(self) -> int:
        """How many blocks of H columns U, W and b have."""
        return len(self.bias)


def cell_named(name: str, *, forced: bool = False) -> Cell:
    """The cell of that name, or what it is with teacher forcing."""
    module, _, attribute = (FORCED if forced else CELLS)[name].partition(":")
    cell: Cell = getattr(import_module(module), attribute)
    return cell
