"""A gated recurrent unit: one gate for how much of the past is read, one for how much is kept.

    r(t), z(t) = sigmoid of the first and second block of b + U x(t) + W h(t-1)
    n(t) = tanh(b + U x(t)  +  r(t) (d + W h(t-1)))            of the third
    h(t) = (1 - z(t)) n(t) + z(t) h(t-1)

    dL/dn = (1 - z) dL/dh                 through tanh:     dL/da_n = (1 - n^2) dL/dn
    dL/dz = (h(t-1) - n) dL/dh            through sigmoid:  dL/da_z = z (1 - z) dL/dz
    dL/dr = (d + W h)_n dL/da_n                             dL/da_r = r (1 - r) dL/dr

W h gets r dL/da_n in place of dL/da_n, and h(t-1) also gets z dL/dh. The reset r comes after the
product, as in PyTorch, so W h is one product. By hand: W = b = d = 0, h(0) = 1, U x = (0, 0, 1):
r = z = 0.5, n = tanh 1 = 0.7616, h(1) = 0.5 x 0.7616 + 0.5 = 0.8808. With dL/dh(1) = 1: dL/da_n =
0.5 (1 - 0.7616^2) = 0.2100, dL/da_z = 0.25 (1 - 0.7616) = 0.0596.
"""

from __future__ import annotations

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.rounding import Array, States


def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
    """Compute h(t), with d + W h(t-1) on the tape. r, z and n remain in ``ux``."""
    gates, (r, z, n), h = ux[:2], ux, after[0]
    np.add(gates, wh[:2], gates)
    np.multiply(gates, 0.5, gates)
    np.tanh(gates, gates)
    np.multiply(gates, 0.5, gates)
    np.add(gates, 0.5, gates)  # sigmoid(a) = tanh(a / 2) / 2 + 1 / 2
    np.multiply(r, tape, wh[2])
    np.add(n, wh[2], n)
    np.tanh(n, n)
    np.subtract(before[0], n, h)
    np.multiply(h, z, h)
    np.add(h, n, h)  # (1 - z) n + z h(t-1)


def slopes(ux: Array, before: States, after: States, tape: Array, kept: Array, room: Array) -> None:
    """Keep the factors of dL/dh: for W h in place of r, z, n; for the last block of U x on the
    tape; z for h(t-1).
    """
    (r, z, n), h_before = ux, before[0]
    np.copyto(kept, z)
    np.subtract(h_before, n, room)
    np.multiply(room, z, room)
    np.subtract(1, z, z)
    np.multiply(n, n, n)
    np.subtract(1, n, n)
    np.multiply(n, z, n)  # a_n: (1 - z) (1 - n^2)
    np.multiply(z, room, z)  # a_z: z (1 - z) (h(t-1) - n)
    np.subtract(1, r, room)
    np.multiply(room, tape, room)
    np.copyto(tape, n)
    np.multiply(n, r, n)  # W h: r times that of a_n
    np.multiply(n, room, r)  # a_r: (1 - r) (d + W h)_n times the one before


def backward(d_after: States, ux: Array, tape: Array, kept: Array, d_before: States) -> None:
    """Turn dL/dh(t) into the gradients of U x, of W h and of h(t-1)."""
    d_h = d_after[0]
    np.multiply(d_h, kept, d_before[0])
    np.multiply(ux, d_h, ux)
    np.multiply(d_h, tape, d_h)


GRU = Cell(
    forward,
    slopes,
    backward,
    states={"h": 1.0},
    bias=(0.0, 0.0, 0.0),
    has_tape=True,
    reads_h=True,
    own_bias=True,
    equations={
        "r": "sigmoid({b_r} + {W_r h(t-1)} + {U_r x(t)})",
        "z": "sigmoid({b_z} + {W_z h(t-1)} + {U_z x(t)})",
        "n": "tanh({b_n} + {U_n x(t)} + {r}(t) * ({d} + {W_n h(t-1)}))",
        "h": "(1 - {z}(t)) * {n}(t) + {z}(t) * {h(t-1)}",
        "dL/dh": "{dL/dh(t) through step t+1} + {V' dL/do(t)}",
    },
)
