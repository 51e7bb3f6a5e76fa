"""A toy cell and a toy head: the code that a new cell or head needs, besides its line in a table.

The cell is a leaky tanh with a second state, a slow mean of the first:

    a = b + W h + U x
    h' = (1 - LEAK) h + LEAK tanh a + SHARE s
    s' = KEPT s + (1 - KEPT) h'

The head gives END a fixed probability at each step, and the rest a softmax.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.heads import Head
from charrnn.network.rounding import Array, Integers
from charrnn.vocabulary import END

LEAK, SHARE, KEPT = 0.6, 0.1, 0.9
CHANCE = 0.2


def forward(
    ux: Array, wh: Array, before: Sequence[Array], after: Sequence[Array], tape: Array
) -> None:
    """Compute the next states from b + U x(t), W h(t-1) and both states."""
    h, s = before
    np.add(ux, wh, tape)
    np.tanh(tape, tape)
    after[0][...] = (1 - LEAK) * h + LEAK * tape + SHARE * s
    after[1][...] = KEPT * s + (1 - KEPT) * after[0]


def slopes(
    ux: Array,
    before: Sequence[Array],
    after: Sequence[Array],
    tape: Array,
    kept: Array,
    spare: Array,
) -> None:
    """Return dh'/da."""
    kept[...] = LEAK * (1 - tape * tape)


def backward(
    d_after: Sequence[Array], ux: Array, tape: Array, kept: Array, d_before: Sequence[Array]
) -> None:
    """Back-propagate one step."""
    d_h, d_s = d_after
    d_h += (1 - KEPT) * d_s
    d_before[0][...] = (1 - LEAK) * d_h
    d_before[1][...] = KEPT * d_s + SHARE * d_h
    d_h *= kept


LEAKY = Cell(
    forward,
    slopes,
    backward,
    states={"h": 2.0, "s": 2.0},
    bias=(0.0,),
    has_tape=True,
    reads_h=True,
)


def logits(o: Array) -> None:
    """Return log CHANCE for END; the other symbols share the rest by their softmax."""
    others = o[:, END + 1 :]
    most = others.max(1, keepdims=True)
    others -= most + np.log(np.exp(others - most).sum(1, keepdims=True))
    others += math.log(1 - CHANCE)
    o[:, END] = math.log(CHANCE)


def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
    """Return the gradient: zero where END is a target, else the softmax minus 1 at y."""
    rows = np.arange(len(y_hat))
    y = at_y - rows * y_hat.shape[1]
    y_hat /= 1 - CHANCE
    y_hat[rows, y] -= weight
    y_hat[y == END] = 0
    y_hat[:, END] = 0


FIXED = Head(logits, gradient)
