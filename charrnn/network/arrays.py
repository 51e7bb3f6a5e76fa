"""Names for the types of arrays, the softmax of their rows, and a quotient."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Array64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
Arrays = Mapping[str, Array]  # parameters by name
States = Sequence[Array]  # (B, H) each, of one layer


def log_softmax(o: Array64) -> Array64:
    """Return the logarithm of the distribution of each row: o less log sum exp of o."""
    log_p: Array64 = o - np.logaddexp.reduce(o, -1, keepdims=True)
    return log_p


def softmax(o: Array64) -> Array64:
    y_hat: Array64 = np.exp(o - o.max(-1, keepdims=True))
    y_hat /= y_hat.sum(-1, keepdims=True)  # (10.11)
    return y_hat


def ceil_div(number: int, divisor: int) -> int:
    """Return the quotient of whole numbers, rounded up."""
    return -(-number // divisor)
