"""Cells: how a layer gets from one state to the next. A file each, and a line in CELLS.

A cell sees one step of one layer. With B lanes, H units and G gates it is handed

    ux (G, B, H)  b + U x(t), a block for each gate
    wh (G, B, H)  W h(t-1), the one product inside the loop, whatever the cell
    before        its states at t-1, each (B, H); the first is h
    after         its states at t, to be filled; the first is what the layer above reads
    tape (B, H)   room for what else has to be known on the way back

Blocks lie apart, so that each is one run of memory, and all of them are one call of NumPy's. Where
there is one gate, the G falls away: ``ux`` and ``wh`` are (B, H), and ``ux`` is in the place of the
new h. Training and exact steps call the same ``forward``, which leaves in ``ux`` and ``tape`` what
it likes. ``after`` may be in the place of ``before``.

The way back has two parts. ``slopes`` is all that can be known before a gradient has come: for many
steps at a time, which are to it as many more lanes. It puts what ``backward`` is to multiply by in
the places of what forward left in ``ux`` and ``tape``, and into ``kept`` (B, H); ``spare`` (B, H)
is to compute in.

``backward`` is handed these of one step, and dL/d(after). It puts dL/d(W h) in the place of ``ux``,
and fills dL/d(before): of h only what does not come through W h; of another state it takes the
place of its dL/d(after). dL/d(U x) is dL/d(W h), but for a gate whose W h has a bias of its own:
this one's takes the place of dL/d(after) of h, which nobody needs any more. So does the gradient of
a cell of one gate, whose ``ux`` is a state.

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

    class Slopes(Protocol):
        """Fill what the way back multiplies by."""

        def __call__(
            self, ux: Array, before: States, after: States, tape: Array, kept: Array, spare: Array
        ) -> None: ...

    class Backward(Protocol):
        """Fill the gradients of U x, of W h and of the states before."""

        def __call__(
            self, d_after: States, ux: Array, tape: Array, kept: Array, d_before: States
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
    """Three functions, and what has to be known to call them."""

    forward: Forward
    slopes: Slopes
    backward: Backward
    states: Mapping[str, float]  # name -> how far from 0 it can be
    bias: Sequence[float]  # what the b of each gate starts from
    has_tape: bool = False
    reads_h: bool = False  # whether it reads h(t-1) itself, not only through W h
    own_bias: bool = False  # whether W h of the last gate has a bias d; the tape begins as the sum
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
