"""The end as a symbol of the vocabulary: one softmax over the characters and END.

y_hat = softmax o                     (10.11)
dL/do = y_hat - 1 at y                (10.18)
"""

from __future__ import annotations

from charrnn.network.heads import Head
from charrnn.network.rounding import Array, Integers


def logits(o: Array) -> None:
    """Leave the outputs: they are the logits."""


def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
    """Turn y_hat into dL/do."""
    y_hat.reshape(-1)[at_y] -= weight  # (10.18)


EQUATIONS = {
    "y_hat": "exp({o}(t) - {log sum exp})  (10.11)",
    "dL/do": "{y_hat}(t) - {1 at y(t)}  (10.18)",
}
SYMBOL = Head(logits, gradient, equations=EQUATIONS)
