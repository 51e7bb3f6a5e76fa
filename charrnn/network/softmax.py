"""The softmax, written once: for training, for scores and for what is drawn.

y_hat = exp logit / sum of exp        (10.11)
L = log sum of exp - logit at y       (10.14)
"""

from __future__ import annotations

import numpy as np

from charrnn.network.parameters import Array


def set_aside(logits: Array, column: int) -> Array:
    """Take a column out of the logits: it becomes -inf, and the largest of what is left in each
    row 0. What stood there comes back, (R,), on the same scale.

    The softmax does not notice, and exp cannot overflow.
    """
    aside = logits[:, column].copy()
    logits[:, column] = -np.inf
    most: Array = np.maximum.reduce(logits, 1)
    np.subtract(logits, most[:, None], logits)
    aside -= most
    return aside


def normalise(logits: Array, ones: Array | None = None) -> Array:
    """The sum of exp over each row (R,); exp itself stands in the place of the logits.

    A product with ones adds up in a third of the time, and in another order for one row than for
    many. Without them each row is added up by itself.
    """
    np.exp(logits, logits)
    sums: Array = np.add.reduce(logits, 1) if ones is None else logits @ ones
    return sums
