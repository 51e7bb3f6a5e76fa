"""A gated recurrent unit: two gates say how much of the past is read, and how much is kept.

    r(t) = sigmoid of the first block of b + U x(t) + W h(t-1)
    z(t) = sigmoid of the second
    n(t) = tanh(b + U x(t)  +  r(t) (d + W h(t-1)))            of the third
    h(t) = (1 - z(t)) n(t) + z(t) h(t-1)

The reset r comes after the product, which has a bias d of its own: so W h is one product for all
three blocks. It is the GRU that cuDNN and PyTorch compute (Cho et al., 2014, have r before).

    dL/dn = (1 - z) dL/dh                 through tanh:     dL/da_n = (1 - n^2) dL/dn
    dL/dz = (h(t-1) - n) dL/dh            through sigmoid:  dL/da_z = z (1 - z) dL/dz
    dL/dr = (d + W h)_n dL/da_n                             dL/da_r = r (1 - r) dL/dr

U x gets (dL/da_r, dL/da_z, dL/da_n), W h the same but r dL/da_n in the last block, and h(t-1) gets
z dL/dh besides what comes back through W.

By hand, one unit, W = 0, b = d = 0, h(0) = 1, inputs U x(1) = (0, 0, 1): r = z = 0.5, n = tanh 1 =
0.7616, and h(1) = 0.5 x 0.7616 + 0.5 x 1 = 0.8808. With dL/dh(1) = 1: dL/da_n = 0.5 (1 - 0.7616^2)
= 0.2100, dL/da_z = 0.25 (1 - 0.7616) = 0.0596, dL/da_r = 0, and 0.5 goes straight back to h(0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.parameters import Array


def forward(
    ux: Array, wh: Array, before: Sequence[Array], after: Sequence[Array], tape: Array
) -> None:
    """From b + U x(t), d + W h(t-1) and h(t-1) to h(t); r, z and n are left in ux."""
    h_before, h = before[0], after[0]
    hidden = h.shape[1]
    gates, a_n = ux[:, : 2 * hidden], ux[:, 2 * hidden :]
    np.add(gates, wh[:, : 2 * hidden], gates)
    np.multiply(gates, 0.5, gates)
    np.tanh(gates, gates)
    np.multiply(gates, 0.5, gates)
    np.add(gates, 0.5, gates)  # sigmoid(a) = tanh(a / 2) / 2 + 1 / 2
    r, z = gates[:, :hidden], gates[:, hidden:]
    np.copyto(tape, wh[:, 2 * hidden :])
    np.multiply(r, tape, h)
    np.add(a_n, h, a_n)
    n = np.tanh(a_n, a_n)
    np.subtract(h_before, n, h)
    np.multiply(h, z, h)
    np.add(h, n, h)  # (1 - z) n + z h(t-1)


def backward(
    d_after: Sequence[Array],
    before: Sequence[Array],
    after: Sequence[Array],
    tape: Array,
    d_ux: Array,
    d_wh: Array,
    d_before: Sequence[Array],
    spare: Sequence[Array],
) -> None:
    """From dL/dh(t) to the gradients of U x, of W h and of h(t-1)."""
    d_h, h_before = d_after[0], before[0]
    hidden = d_h.shape[1]
    r, z, n = (d_ux[:, at : at + hidden] for at in range(0, 3 * hidden, hidden))
    kept, slope = spare[0][:, :hidden], spare[1][:, :hidden]
    np.multiply(d_h, z, d_before[0])
    np.subtract(d_h, d_before[0], kept)  # dL/dn
    np.subtract(h_before, n, slope)
    np.multiply(slope, d_before[0], slope)  # z dL/dz
    np.multiply(n, n, n)
    np.multiply(n, kept, n)
    np.subtract(kept, n, n)  # dL/da_n
    np.multiply(slope, z, z)
    np.subtract(slope, z, z)  # dL/da_z
    np.multiply(n, r, d_wh[:, 2 * hidden :])
    np.multiply(d_wh[:, 2 * hidden :], tape, kept)  # r dL/dr
    np.multiply(kept, r, r)
    np.subtract(kept, r, r)  # dL/da_r
    d_wh[:, : 2 * hidden] = d_ux[:, : 2 * hidden]


GRU = Cell(
    forward,
    backward,
    states={"h": 1.0},
    bias=(0.0, 0.0, 0.0),
    tape=1,
    reads_before=True,
    one_gradient=False,
    own_bias=1,
)
