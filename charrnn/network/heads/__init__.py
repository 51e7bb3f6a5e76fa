"""Heads: how outputs become a distribution over the next character or the end.

A head is a file here and a line in HEADS. It turns the outputs o = c + V h (10.10) into logits,
whose softmax (10.11) the readout computes, and dL/d(logits) into dL/do. Both work in place on rows
(R, K); column END is the end. No logit may exceed the largest output of its row, or 0, so that a
check of the outputs against overflow also covers the logits.

A head that draws the length before the first character also has a distribution over lengths. Then
the logit of END is ignored, and the cost of the length is counted at END.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charrnn.network.rounding import Array, Array64, Arrays, Integers

# name -> module:attribute
HEADS = {
    "symbol": "charrnn.network.heads.symbol:SYMBOL",
    "halt": "charrnn.network.heads.halt:HALT",
    "length": "charrnn.network.heads.length:LENGTH",
}


@dataclass(frozen=True)
class Lengths:
    """A distribution over 0, 1, 2, ... that is learned with the rest."""

    shapes: Mapping[str, tuple[int, ...]]  # of its parameters
    begin: Callable[[Arrays, Integers], None]  # fill the parameters to suit these lengths (n,)
    nats: Callable[[Arrays, Integers], Array64]  # -log P(tau): (n,) -> (n,)
    # return the sum of nats (n,), and leave its gradient times a weight in the last argument
    fill_gradient: Callable[[Arrays, Integers, float, Arrays], float]
    log_at_least: Callable[[Arrays, Array64], Array64]  # log P(tau >= n): (n,) -> (n,)


@dataclass(frozen=True)
class Head:
    """The way from outputs to logits and back."""

    # o (R, K) -> logits, in place
    logits: Callable[[Array], None]
    # y_hat (R, K) and the places of y (R,) in the flat y_hat -> dL/do, in place; y_hat and the
    # gradient are both multiplied by the weight of a row
    gradient: Callable[[Array, Integers, float], None]
    inputs: tuple[str, ...] = ()  # inputs that the head needs besides symbols: see inputs
    lengths: Lengths | None = None  # set if the length comes first
    equations: Mapping[str, str] = field(default_factory=dict)  # value -> its equation: see Cell
