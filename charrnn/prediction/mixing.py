"""How what several say of the next symbol becomes what one says: a distribution again.

    of networks     P  =  the mean of their P
    with counts     P  ~  sqrt(P of the networks  P of counts)          up to 500 symbols
                    P  =  half of each                                  above, where roots are dear

The root of the product, made to sum to one over all symbols, the end and UNKNOWN among them, does a
little better than the mean: where one of both is sure that something cannot come, it does not. In
logits, which need not sum to one, it is their mean. Each row goes by itself, so that it is the same
alone and among thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.network.rounding import Array64

MOST_ROOTS: Final = 500  # symbols
LEAST: Final = 1e-300  # added to what several networks think possible, so that it has a logarithm
HEADS: Final = ("symbol", "halt")  # whose logits are a distribution, softmaxed, with the end in it


def check_mixable(head_name: str) -> None:
    """Raise SettingError where a network cannot be mixed with anything: how it ends is no chance
    beside those of the characters.
    """
    if head_name not in HEADS:
        raise SettingError(
            f"a network with ends {head_name} cannot be mixed with counts or other networks",
            f"It can with ends {' or '.join(HEADS)}.",
            "ends",
        )


def mean_of(logits: Sequence[Array64]) -> Array64:
    """The logits of the mean of distributions, of which these are the logits, (B, K) each."""
    if len(logits) == 1:
        return logits[0]
    total = np.zeros_like(logits[0])
    for o in logits:
        total += softmax(o)
    total *= 1 / len(logits)
    total += LEAST
    return np.log(total, total)


def with_counts(o: Array64, log_p: Array64) -> Array64:
    """The logits of the mixture of o, the logits of networks, and the log of what counts say;
    (B, K) each.
    """
    if o.shape[1] <= MOST_ROOTS:
        mixed: Array64 = o + log_p
        mixed *= 0.5
        return mixed
    mixed = softmax(o)
    mixed += np.exp(log_p)
    return np.log(mixed, mixed)


def softmax(o: Array64) -> Array64:
    """The distribution, each row added up by itself."""
    y_hat: Array64 = o - np.maximum.reduce(o, 1)[:, None]
    np.exp(y_hat, y_hat)
    y_hat *= (1 / np.add.reduce(y_hat, 1))[:, None]
    return y_hat
