"""Cells: how a layer computes its next state. A cell is a file here and a line in CELLS.

A cell sees one step of one layer. With B lanes, H units and G gates it gets

    ux (G, B, H)  b + U x(t), a block for each gate
    wh (G, B, H)  W h(t-1), the only product inside the loop
    before        its states at t-1, each (B, H); the first is h
    after         its states at t, to be filled; the first is read by the layer above
    tape (B, H)   room for values that the way back needs

Each block is contiguous, and one call of NumPy handles all of them. A cell of one gate has ``ux``
and ``wh`` without the first axis, and ``ux`` shares the memory of the new h. Training and exact
steps call the same ``forward``, which may overwrite ``ux`` and ``tape``. ``after`` may share the
memory of ``before``.

The way back has two parts. ``slopes`` computes all that needs no gradient, for many steps at a
time, which look like more lanes. It leaves the factors for ``backward`` in ``ux``, in ``tape`` and
in ``kept`` (B, H); ``spare`` (B, H) is scratch memory.

``backward`` gets these for one step, and dL/d(after). It leaves dL/d(W h) in ``ux`` and fills
dL/d(before). The gradient of h(t-1) excludes the part through W h, which the layer adds. That of
another state overwrites its dL/d(after).

dL/d(U x) equals dL/d(W h), except for a gate whose W h has a bias of its own. There it overwrites
dL/d(after) of h, which is no longer needed. A cell of one gate also leaves its gradient there,
since its ``ux`` is a state.

A cell with a feedback reads the last outputs, or the truth, in place of h: its W is (G H, K). It
names the plain network that computes the same, and the plain network is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charrnn.network.rounding import Array, Arrays, States

    Forward = Callable[[Array, Array, States, States, Array], None]
    Slopes = Callable[[Array, States, States, Array, Array, Array], None]
    Backward = Callable[[States, Array, Array, Array, States], None]

# name -> module:attribute
CELLS = {
    "tanh": "charrnn.network.cells.tanh:TANH",
    "gru": "charrnn.network.cells.gru:GRU",
    "lstm": "charrnn.network.cells.lstm:LSTM",
    "output": "charrnn.network.cells.output:OUTPUT",
}
# name -> module:attribute with teacher forcing
FORCED = {"output": "charrnn.network.cells.output:FORCED"}


@dataclass(frozen=True)
class Feedback:
    """The plain network that computes the same, and the gradient through it."""

    # (p, plain): fill the parameters of the plain network that differ
    plainly: Callable[[Arrays, Arrays], None]
    # (p, of_plain, gradient): fill the gradients that differ from those of the plain network
    back: Callable[[Arrays, Arrays, Arrays], None]
    comes_apart: bool = False  # whether no step needs the one before it


@dataclass(frozen=True)
class Cell:
    """Three functions, and the facts needed to call them."""

    forward: Forward  # (ux, wh, before, after, tape): fill the states after a step
    slopes: Slopes  # (ux, before, after, tape, kept, spare): fill the factors of the way back
    backward: Backward  # (d_after, ux, tape, kept, d_before): fill the gradients
    states: Mapping[str, float]  # name -> its largest absolute value
    bias: Sequence[float]  # the initial b of each gate
    has_tape: bool = False
    reads_h: bool = False  # whether it reads h(t-1) itself, not only through W h
    own_bias: bool = False  # whether W h of the last gate has a bias d; the tape starts as the sum
    feedback: Feedback | None = None  # set if W multiplies something else than h

    @property
    def gates(self) -> int:
        """The number of blocks of H columns in U, W and b."""
        return len(self.bias)


def cell_named(name: str, *, forced: bool = False) -> Cell:
    """Return the cell of that name, or its version with teacher forcing."""
    module, _, attribute = (FORCED if forced else CELLS)[name].partition(":")
    cell: Cell = getattr(import_module(module), attribute)
    return cell
