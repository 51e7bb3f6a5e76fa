"""Cells: how a layer computes its next state. A cell is a file here and a line in CELLS.

``forward`` computes one step of one layer. With B lanes, H units and G gates it reads ``ux`` (b +
U x(t)) and ``wh`` (W h(t-1)), each (G, B, H), and fills the states ``after``, each (B, H), from
those ``before``; h comes first. It may overwrite ``ux`` and ``tape`` (B, H), which keep values for
the way back. ``after`` may share the memory of ``before``. A cell of one gate has ``ux`` and ``wh``
without the first axis, and ``ux`` shares the memory of the new h.

``slopes`` computes all that needs no gradient, for many steps at a time, which look like more
lanes. It leaves factors in ``ux``, ``tape`` and ``kept`` (B, H); ``room`` is scratch memory.
``backward`` turns them and ``d_after``, dL/d(after), into dL/d(W h) in ``ux`` and into
``d_before``: for h without the part through W h, which the layer adds; other states overwrite
``d_after``. dL/d(U x) equals dL/d(W h), except for a gate with a bias of its own. It overwrites
``d_after`` of h there and in a cell of one gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
FORCED = {"output": "charrnn.network.cells.output:FORCED"}  # with teacher forcing


@dataclass(frozen=True)
class Feedback:
    """The plain network that computes the same as one that reads its last outputs, or the truth."""

    # (p, plain): fill the parameters of the plain network that differ
    plainly: Callable[[Arrays, Arrays], None]
    # (p, of_plain, gradient): fill the gradients that differ from those of the plain network
    back: Callable[[Arrays, Arrays, Arrays], None]
    comes_apart: bool = False  # whether no step needs the one before it


@dataclass(frozen=True)
class Cell:
    """Three functions, and the facts needed to call them."""

    forward: Forward  # (ux, wh, before, after, tape): fill the states after a step
    slopes: Slopes  # (ux, before, after, tape, kept, room): fill the factors of the way back
    backward: Backward  # (d_after, ux, tape, kept, d_before): fill the gradients
    states: Mapping[str, float]  # name -> its largest absolute value
    bias: Sequence[float]  # the initial b of each gate
    has_tape: bool = False
    reads_h: bool = False  # whether it reads h(t-1) itself, not only through W h
    own_bias: bool = False  # whether W h of the last gate has a bias d; the tape starts as the sum
    feedback: Feedback | None = None  # set if W multiplies something else than h
    # value -> its equation, with the names of other values in braces and the book's number: first
    # those of the gates, with terms that begin with b, W, U or d, then those of the states
    equations: Mapping[str, str] = field(default_factory=dict)

    @property
    def gates(self) -> int:
        """The number of blocks of H columns in U, W and b."""
        return len(self.bias)
