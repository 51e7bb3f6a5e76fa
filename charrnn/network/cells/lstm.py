"""Long short-term memory: a state c, with gates for what enters it, stays in it and leaves it.

    i(t), f(t), o(t) = sigmoid of the first, second and fourth block of b + U x(t) + W h(t-1)
    g(t) = tanh of the third;  c(t) = f(t) c(t-1) + i(t) g(t);  h(t) = o(t) tanh c(t)

    dL/do = tanh(c) dL/dh                                     dL/da_o = o (1 - o) dL/do
    dL/dc = dL/dc(t) from t+1  +  o (1 - tanh(c)^2) dL/dh     dL/dc(t-1) = f dL/dc
    dL/di = g dL/dc                                           dL/da_i = i (1 - i) dL/di
    dL/dg = i dL/dc                                           dL/da_g = (1 - g^2) dL/dg
    dL/df = c(t-1) dL/dc                                      dL/da_f = f (1 - f) dL/df

By hand, one unit: W = b = 0, c(0) = 1, U x = (0, 0, 1, 0): i = f = o = 0.5, g = tanh 1 = 0.7616,
c(1) = 0.5 + 0.5 x 0.7616 = 0.8808, h(1) = 0.5 tanh 0.8808 = 0.3534.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.cells import Cell
from charrnn.network.rounding import Array, States


@cache
def halves(dtype: DTypeLike) -> tuple[Array, Array]:
    """Return the factor before and after a tanh, and the shift after it, for sigmoids: see gru."""
    half, shift = np.array([(0.5, 0.5, 1, 0.5), (0.5, 0.5, 0, 0.5)], dtype)[..., None, None]
    return half, shift


def forward(ux: Array, wh: Array, before: States, after: States, tape: Array) -> None:
    """Compute h(t) and c(t). i, f, g, o remain in ``ux`` and tanh c on the tape."""
    (i, f, g, o), (h, c) = ux, after
    half, shift = halves(ux.dtype)
    np.add(ux, wh, ux)
    np.multiply(ux, half, ux)
    np.tanh(ux, ux)
    np.multiply(ux, half, ux)
    np.add(ux, shift, ux)
    np.multiply(f, before[1], c)
    np.multiply(i, g, tape)
    np.add(c, tape, c)
    np.tanh(c, tape)
    np.multiply(o, tape, h)


def slopes(ux: Array, before: States, after: States, tape: Array, kept: Array, room: Array) -> None:
    """Keep the factors of dL/dc in place of i, f, g; of dL/dh in place of o, and for dL/dc on the
    tape; f for c(t-1).
    """
    (i, f, g, o), tanh_c = ux, tape
    np.multiply(o, tanh_c, room)
    np.multiply(room, tanh_c, tanh_c)
    np.subtract(o, tanh_c, tanh_c)  # c: o (1 - tanh(c)^2)
    np.multiply(o, room, o)
    np.subtract(room, o, o)  # a_o: tanh(c) o (1 - o)
    np.copyto(kept, f)
    np.subtract(1, f, room)
    np.multiply(f, room, f)
    np.multiply(f, before[1], f)  # a_f: c(t-1) f (1 - f)
    np.multiply(g, i, room)
    np.multiply(g, room, g)
    np.subtract(i, g, g)  # a_g: i (1 - g^2)
    np.multiply(i, room, i)
    np.subtract(room, i, i)  # a_i: g i (1 - i)


def backward(d_after: States, ux: Array, tape: Array, kept: Array, d_before: States) -> None:
    """Turn dL/dh(t) and dL/dc(t) into the gradients of U x and W h, and of c(t-1)."""
    d_h, d_c = d_after
    np.multiply(d_h, tape, tape)
    np.add(d_c, tape, d_c)  # dL/dc
    np.multiply(ux[:3], d_c, ux[:3])
    np.multiply(ux[3], d_h, ux[3])
    np.multiply(d_c, kept, d_c)  # dL/dc(t-1)


LSTM = Cell(
    forward,
    slopes,
    backward,
    states={"h": 1.0, "c": 1e9},
    bias=(0.0, 1.0, 0.0, 0.0),
    has_tape=True,
    equations={
        "i": "sigmoid({b_i} + {W_i h(t-1)} + {U_i x(t)})",
        "f": "sigmoid({b_f} + {W_f h(t-1)} + {U_f x(t)})",
        "g": "tanh({b_g} + {W_g h(t-1)} + {U_g x(t)})",
        "o": "sigmoid({b_o} + {W_o h(t-1)} + {U_o x(t)})",
        "c": "{f}(t) * {c(t-1)} + {i}(t) * {g}(t)",
        "h": "{o}(t) * tanh {c}(t)",
        "dL/dh": "{W' dL/da(t+1)} + {V' dL/do(t)}",
    },
)
