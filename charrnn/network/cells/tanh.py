"""The cell of the book: tanh units that read their own last state.

    a(t) = b + W h(t-1) + U x(t)                                                  (10.8)
    h(t) = tanh a(t)                                                              (10.9)
    dL/da(t) = diag(1 - h(t)^2) dL/dh(t)

The layer computes dL/dh(t-1) = W' dL/da(t) + the part from the layers above (10.21).

By hand, two units, one lane, two steps: W = [[0, 1], [1, 0]], b = 0, inputs U x(1) = (1, 0) and
U x(2) = (0, 0). Forward: h(1) = (tanh 1, 0) = (0.7616, 0), and W swaps the units, so
h(2) = (0, tanh 0.7616) = (0, 0.6420). Let the loss be the second unit of h(2), so that dL/dh(2) =
(0, 1) and nothing else comes from above. Then dL/da(2) = (0, 1 - 0.6420^2) = (0, 0.5878), W' sends
it to dL/dh(1) = (0.5878, 0), and dL/da(1) = (0.5878 (1 - 0.7616^2), 0) = (0.2469, 0).
"""

from __future__ import annotations

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.rounding import Array, States


def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
    """Compute h(t) from b + U x(t) and W h(t-1)."""
    h = after[0]
    np.add(ux, wh, h)  # (10.8)
    np.tanh(h, h)  # (10.9)


def slopes(ux: Array, before: States, after: States, tape: Array, kept: Array, room: Array) -> None:
    """Keep tanh' = 1 - h(t)^2."""
    h = after[0]
    np.multiply(h, h, kept)
    np.subtract(1, kept, kept)


def backward(d_after: States, ux: Array, tape: Array, kept: Array, d_before: States) -> None:
    """Turn dL/dh(t) into dL/da(t), the gradient of both U x and W h."""
    np.multiply(d_after[0], kept, d_after[0])


EQUATIONS = {
    "a": "{b} + {W h(t-1)} + {U x(t)}  (10.8)",
    "h": "tanh {a}(t)  (10.9)",
    "dL/dh": "{W' dL/da(t+1)} + {V' dL/do(t)}  (10.21)",
    "dL/da": "(1 - {h}(t)^2) * {dL/dh}(t)  (10.20)",
}
TANH = Cell(forward, slopes, backward, states={"h": 1.0}, bias=(0.0,), equations=EQUATIONS)
