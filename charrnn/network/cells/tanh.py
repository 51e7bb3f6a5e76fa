"""The cell of the book: a layer of tanh units that read their own last state.

    a(t) = b + W h(t-1) + U x(t)                                                  (10.8)
    h(t) = tanh a(t)                                                              (10.9)

    dL/da(t) = diag(1 - h(t)^2) dL/dh(t)

and dL/dh(t-1) = W' dL/da(t) + what the layers above send (10.21), which is the product of the
unfolded network, for every cell.

By hand, two units, one lane, two steps, W = [[0, 1], [1, 0]], b = 0, inputs U x(1) = (1, 0) and
U x(2) = (0, 0). Forward: h(1) = (tanh 1, 0) = (0.7616, 0), and W swaps the units, so
h(2) = (0, tanh 0.7616) = (0, 0.6420). Let the loss be the second unit of h(2), so that dL/dh(2) =
(0, 1) and nothing else comes from above. Then dL/da(2) = (0, 1 - 0.6420^2) = (0, 0.5878), W' sends
it to dL/dh(1) = (0.5878, 0), and dL/da(1) = (0.5878 (1 - 0.7616^2), 0) = (0.2469, 0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.parameters import Array


def forward(
    ux: Array, wh: Array, before: Sequence[Array], after: Sequence[Array], tape: Array
) -> None:
    """From b + U x(t) and W h(t-1) to h(t)."""
    h = after[0]
    np.add(ux, wh, h)  # (10.8)
    np.tanh(h, h)  # (10.9)


def slopes(
    ux: Array,
    before: Sequence[Array],
    after: Sequence[Array],
    tape: Array,
    kept: Array,
    spare: Array,
) -> None:
    """tanh' = 1 - h(t)^2."""
    h = after[0]
    np.multiply(h, h, kept)
    np.subtract(1, kept, kept)


def backward(
    d_after: Sequence[Array], ux: Array, tape: Array, kept: Array, d_before: Sequence[Array]
) -> None:
    """From dL/dh(t) to dL/da(t), which is the gradient of U x as well as of W h."""
    np.multiply(d_after[0], kept, d_after[0])


TANH = Cell(forward, slopes, backward, states={"h": 1.0}, bias=(0.0,))
