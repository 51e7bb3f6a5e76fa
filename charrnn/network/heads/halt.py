"""The end as a unit of its own, which gives the probability of the end at every step.

    P(end)  =  sigmoid of o at END
    P(k)    =  (1 - P(end)) softmax of the other outputs at k

The second of the book's three ways to end. END takes no part in the softmax over the characters.
The loss is the cross-entropy of the unit at every step, plus that of the character, if any.

    dL/do(END) = P(end) - 1 at the end
    dL/do(k)   = softmax(k) - 1 at y, and 0 at the end
"""

from __future__ import annotations

import numpy as np

from charrnn.network.heads import Head
from charrnn.network.rounding import Array, Integers
from charrnn.vocabulary import END


def logits(o: Array) -> None:
    """Keep the output of the unit, the log odds of the end; log softmax for the others."""
    others = o[:, END + 1 :]
    others -= np.maximum.reduce(others, 1)[:, None]
    others -= np.log(np.add.reduce(np.exp(others), 1))[:, None]


def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
    """Turn y_hat into dL/do."""
    is_over = at_y - np.arange(len(y_hat)) * y_hat.shape[1] == END
    others = y_hat[:, END + 1 :]
    sums = np.maximum(np.add.reduce(others, 1), np.finfo(y_hat.dtype).tiny)
    others *= (weight / sums)[:, None]  # softmax
    y_hat.reshape(-1)[at_y] -= weight
    others[is_over] = 0


HALT = Head(logits, gradient)
