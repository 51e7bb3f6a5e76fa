"""Long short-term memory: a cell state c that gates write to, forget from, and let out.

    i(t), f(t), o(t) = sigmoid of the first, second and fourth block of b + U x(t) + W h(t-1)
    g(t) = tanh of the third
    c(t) = f(t) c(t-1) + i(t) g(t)
    h(t) = o(t) tanh c(t)

The blocks are in the order i f g o, as in PyTorch. b starts from 1 for f, so that at first nothing
is forgotten.

    dL/do = tanh(c) dL/dh                                     dL/da_o = o (1 - o) dL/do
    dL/dc = what comes back  +  o (1 - tanh(c)^2) dL/dh       dL/dc(t-1) = f dL/dc
    dL/di = g dL/dc                                           dL/da_i = i (1 - i) dL/di
    dL/dg = i dL/dc                                           dL/da_g = (1 - g^2) dL/dg
    dL/df = c(t-1) dL/dc                                      dL/da_f = f (1 - f) dL/df

By hand, one unit, W = 0, b = 0, c(0) = 1, inputs U x(1) = (0, 0, 1, 0): i = f = o = 0.5, g = tanh 1
= 0.7616, c(1) = 0.5 + 0.5 x 0.7616 = 0.8808, h(1) = 0.5 tanh 0.8808 = 0.3534. With dL/dh(1) = 1:
dL/da_o = 0.25 x 0.7068 = 0.1767, dL/dc = 0.5 (1 - 0.7068^2) = 0.2502, dL/da_f = 0.25 x 0.2502 =
0.0626, dL/da_i = 0.25 x 0.7616 x 0.2502 = 0.0476, dL/da_g = 0.5 x 0.2502 (1 - 0.7616^2) = 0.0525,
and 0.5 x 0.2502 = 0.1251 goes back to c(0).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from charrnn.network.cells import Cell
from charrnn.network.parameters import Array


@cache
def rows(hidden: int, dtype: str) -> tuple[Array, Array, Array]:
    """What makes a tanh of four blocks the sigmoids and the tanh that they are, a number a column:
    what to multiply by before and after, what to add then; and what makes a slope of what came.

        sigmoid(a) = tanh(a / 2) / 2 + 1 / 2        slope (1 - s) s
        tanh(a)                                     slope (1 - g) (g + 1)
    """
    blocks = ((0.5, 0.5, 1, 0.5), (0.5, 0.5, 0, 0.5), (0, 0, 1, 0))
    half, shift, slope = (np.repeat(np.array(each, dtype), hidden) for each in blocks)
    return half, shift, slope


def forward(
    ux: Array, wh: Array, before: Sequence[Array], after: Sequence[Array], tape: Array
) -> None:
    """From b + U x(t), W h(t-1) and c(t-1) to h(t) and c(t); the gates are left in ux."""
    h, c = after
    hidden = h.shape[1]
    half, shift, _ = rows(hidden, ux.dtype.char)
    np.add(ux, wh, ux)
    np.multiply(ux, half, ux)
    np.tanh(ux, ux)
    np.multiply(ux, half, ux)
    np.add(ux, shift, ux)
    i, f, g, o = (ux[:, at : at + hidden] for at in range(0, 4 * hidden, hidden))
    np.multiply(f, before[1], c)
    np.multiply(i, g, tape)
    np.add(c, tape, c)
    np.tanh(c, tape)
    np.multiply(o, tape, h)


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
    """From dL/dh(t) and dL/dc(t) to the gradient of U x and W h, and to that of c(t-1)."""
    d_h, d_c = d_after
    hidden = d_h.shape[1]
    i, f, g, o = (d_ux[:, at : at + hidden] for at in range(0, 4 * hidden, hidden))
    d_gates, slope = spare
    d_i, d_f, d_g, d_o = (d_gates[:, at : at + hidden] for at in range(0, 4 * hidden, hidden))
    np.multiply(d_h, tape, d_o)
    np.multiply(d_h, o, d_h)  # dL/d(tanh c)
    np.multiply(tape, tape, tape)
    np.multiply(tape, d_h, tape)
    np.subtract(d_h, tape, d_h)
    np.add(d_c, d_h, d_c)  # dL/dc
    np.multiply(d_c, g, d_i)
    np.multiply(d_c, before[1], d_f)
    np.multiply(d_c, i, d_g)
    np.multiply(d_c, f, d_c)  # dL/dc(t-1), which is where d_before[1] is
    np.subtract(1, d_ux, slope)
    np.add(d_ux, rows(hidden, d_ux.dtype.char)[2], d_ux)
    np.multiply(d_ux, slope, d_ux)
    np.multiply(d_ux, d_gates, d_ux)


LSTM = Cell(
    forward,
    backward,
    states={"h": 1.0, "c": 1e9},
    bias=(0.0, 1.0, 0.0, 0.0),
    tape=1,
    reads_before=True,
)
