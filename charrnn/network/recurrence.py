"""The recurrence: from each state to the next, and the gradient back.

    a(t) = b + W h(t-1) + U x(t)                                                  (10.8)
    h(t) = tanh a(t)                                                              (10.9)

    dL/dh(t) = W' diag(1 - h(t+1)^2) dL/dh(t+1)  +  what the layers above send    (10.21)

Where an example begins, the state before is zero: nothing crosses from one example to the next,
neither the state on the way forward nor the gradient on the way back.

By hand, two units, one lane, two steps, W = [[0, 1], [1, 0]], b = 0, inputs U x(1) = (1, 0) and
U x(2) = (0, 0). Forward: h(1) = (tanh 1, 0) = (0.7616, 0), and W swaps the units, so
h(2) = (0, tanh 0.7616) = (0, 0.6420). Let the loss be the second unit of h(2), so that dL/dh(2) =
(0, 1) and nothing else comes from above. Then dL/da(2) = (0, 1 - 0.6420^2) = (0, 0.5878), W' sends
it to dL/dh(1) = (0.5878, 0), and dL/da(1) = (0.5878 (1 - 0.7616^2), 0) = (0.2469, 0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from charrnn.network.matmul import Product
from charrnn.network.parameters import Array

Starts = Sequence[Sequence[int]]  # for each step, the lanes where an example begins


def forward(h: Sequence[Array], starts: Starts, W: Array, product: Product) -> None:
    """Turn h[t + 1], which holds b + U x(t), into the state after step t; h[0] is given."""
    product.hold(W.T)
    for t, beginning in enumerate(starts):
        a = h[t + 1]
        np.add(a, product(h[t], beginning), out=a)  # (10.8)
        np.tanh(a, out=a)  # (10.9)


def backward(
    d: Sequence[Array], h: Sequence[Array], starts: Starts, W: Array, product: Product, spare: Array
) -> None:
    """Turn d[t], which holds the dL/dh(t) from above, into dL/da(t)."""
    product.hold(W)
    last = len(starts) - 1  # nothing comes back from after the end
    for t in range(last, -1, -1):
        d_h = d[t]
        if t < last:
            np.add(d_h, product(d[t + 1], starts[t + 1]), out=d_h)  # (10.21)
        np.multiply(h[t + 1], h[t + 1], out=spare)
        np.multiply(spare, d_h, out=spare)
        np.subtract(d_h, spare, out=d_h)  # times tanh' = 1 - h^2
