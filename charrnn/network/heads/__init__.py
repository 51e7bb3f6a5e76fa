"""Heads: how outputs become a distribution over "which character, or the end". A file each.

    o = c + V h                           (10.10)  the readout's, for every head
    logits                                what the head makes of o
    y_hat = softmax of the logits         (10.11)  one softmax for all: see softmax

A head says how far the outputs are logits already, and how a gradient finds its way back. Both work
in place on rows (R, K), of which column END is the end. No logit may be larger than the largest of
the outputs of its row, or 0, so that what has been seen to be safe from overflow stays so.

A head under which a text has its length before its first character says besides how likely each
length is. Then no logit of END counts, and what END costs is what the length costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charrnn.network.parameters import Array, Integers, Parameters
    from charrnn.network.rounding import Array64

# name -> where it is found
HEADS = {
    "symbol": "charrnn.network.heads.symbol:SYMBOL",
    "halt": "charrnn.network.heads.halt:HALT",
    "length": "charrnn.network.heads.length:LENGTH",
}


@dataclass(frozen=True)
class Lengths:
    """A distribution over 0, 1, 2, ... that is learned with the rest."""

    shapes: Mapping[str, tuple[int, ...]]  # of its parameters
    begin: Callable[[Parameters, Integers], None]  # fills them, to suit such lengths (n,)
    nats: Callable[[Parameters, Integers], Array64]  # -log P(tau): (n,) -> (n,)
    # the sum of that over (n,), its gradient times a weight left in the last
    fill_gradient: Callable[[Parameters, Integers, float, Parameters], float]
    log_at_least: Callable[[Parameters, Array64], Array64]  # log P(tau >= n): (n,) -> (n,)


@dataclass(frozen=True)
class Head:
    """The way there and the way back."""

    # o (R, K) -> the logits, in its place
    logits: Callable[[Array], None]
    # y_hat (R, K) and y (R,), where each stands in the flat y_hat -> dL/do, in its place; y_hat
    # and the gradient are both times the weight of a row
    gradient: Callable[[Array, Integers, float], None]
    inputs: tuple[str, ...] = ()  # what the network has to read besides symbols: see inputs
    lengths: Lengths | None = None  # where the length comes first


def head_named(name: str) -> Head:
    """The head of that name."""
    module, _, attribute = HEADS[name].partition(":")
    head: Head = getattr(import_module(module), attribute)
    return head
