"""The end as a length that is known before the first character, and then counted down.

    P(text)  =  P(tau)  x  product of P(y(t) | y(1) .. y(t-1), tau)  over its tau characters

The third of the book's three ways to end. END takes no part in the softmax; what is left, tau - t,
is an input of the recurrence (see inputs), and where nothing is left the text is over. A loss has
to stand somewhere: that of the length stands at END, where the softmax has nothing to say.

Before the first character there is nothing to predict a length from, so P(tau) is the same for all
texts: a mixture of M log-logistic distributions, cut into whole numbers. With F(x) = sigmoid(x),

    P(tau)   =  sum over m of  w_m (F(a_m(tau + 1)) - F(a_m(tau)))
    a_m(n)   =  (log n - place_m) / spread_m,          so that a_m(0) = -inf
    w        =  softmax of share,    spread = exp of width

It adds up to 1 over 0, 1, 2, ... without a largest, and its parameters move by their gradients:

    F(a) - F(b)  =  F(a) F(-b) (1 - exp(b - a))        with nothing lost where both are near 1
    d log / da   =  F(-a) + r      d log / db  =  -F(b) - r      r = 1 / (exp(a - b) - 1)
    dL / d share =  w - how much of P(tau) is each one's
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.heads import Head, Lengths
from charrnn.network.parameters import Array, Integers, Parameters
from charrnn.network.rounding import Array64
from charrnn.vocabulary import END

PARTS: Final = 8  # M
SHAPES: Final = {f"tau.{name}": (PARTS,) for name in ("share", "place", "width")}
NARROWEST, WIDEST = -6.0, 3.0  # of widths: what lies beyond makes no difference
FARTHEST: Final = 1e4  # of places


def logits(o: Array) -> None:
    """The outputs are the logits, without END."""
    o[:, END] = -np.inf


def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
    """From y_hat to dL/do; at the END nothing was to be said."""
    rows = np.arange(len(y_hat))
    is_over = at_y - rows * y_hat.shape[1] == END
    y_hat.reshape(-1)[at_y] -= weight  # (10.18)
    y_hat[is_over] = 0


def nats(p: Parameters, tau: Integers) -> Array64:
    """-log P(tau), (n,)."""
    each = by_part(p, tau)[0]
    most = each.max(1)
    found: Array64 = -most - np.log(np.add.reduce(np.exp(each - most[:, None]), 1))
    return found


def fill_gradient(p: Parameters, tau: Integers, weight: float, gradient: Parameters) -> float:
    """The sum of -log P(tau); its gradient times the weight is left in ``gradient``."""
    each, a, b, apart = by_part(p, tau)
    most = each.max(1, keepdims=True)
    shares = np.exp(each - most)
    sums = shares.sum(1, keepdims=True)
    shares /= sums  # of P(tau), (n, M)
    _, _, spread = settings(p)
    log_w = log_weights(p)
    with np.errstate(over="ignore"):
        r = 1 / np.expm1(apart)
    d_a, d_b = sigmoid(-a) + r, -sigmoid(b) - r
    d_place = -(d_a + d_b) / spread
    d_width = -(d_a * a + d_b * np.where(np.isfinite(b), b, 0))
    d_share = shares - np.exp(log_w)
    for name, d in (("share", d_share), ("place", shares * d_place), ("width", shares * d_width)):
        gradient[f"tau.{name}"][...] = -weight * d.sum(0)
    return float(-(most + np.log(sums)).sum())


def by_part(p: Parameters, tau: Integers) -> tuple[Array64, Array64, Array64, Array64]:
    """log w_m (F(a) - F(b)); a, b and a - b: (n, M) each, in float64."""
    n = tau.astype(np.float64)[:, None]
    _, place, spread = settings(p)
    with np.errstate(divide="ignore"):
        a, b = (np.log(n + 1) - place) / spread, (np.log(n) - place) / spread
        apart = np.log1p(1 / n) / spread
    gap = np.log(-np.expm1(-apart))
    return log_weights(p) + log_sigmoid(a) + log_sigmoid(-b) + gap, a, b, apart


def log_at_least(p: Parameters, n: Array64) -> Array64:
    """log P(tau >= n), (n,)."""
    _, place, spread = settings(p)
    with np.errstate(divide="ignore"):
        each = log_weights(p) + log_sigmoid((place - np.log(n)[:, None]) / spread)
    most = each.max(1)
    found: Array64 = most + np.log(np.exp(each - most[:, None]).sum(1))
    return found


def settings(p: Parameters) -> tuple[Array64, Array64, Array64]:
    """Share, place and spread of each part, (M,), in float64."""
    share, place, width = (p[name].astype(np.float64) for name in SHAPES)
    spread = np.exp(width.clip(NARROWEST, WIDEST))
    return share, place.clip(-FARTHEST, FARTHEST), spread


def log_weights(p: Parameters) -> Array64:
    """log w_m, (M,)."""
    share = settings(p)[0]
    share = share - share.max()
    found: Array64 = share - np.log(np.exp(share).sum())
    return found


def log_sigmoid(a: Array64) -> Array64:
    """log F(a), which is a itself far below 0."""
    found: Array64 = -np.logaddexp(0.0, -a)
    return found


def sigmoid(a: Array64) -> Array64:
    """F(a)."""
    return np.exp(log_sigmoid(a))


def begin(p: Parameters, tau: Integers) -> None:
    """Values to start learning from: the parts lie where equal shares of these lengths do."""
    places = np.log(np.sort(tau) + 0.5)
    cuts = np.array_split(places, PARTS) if len(places) >= PARTS else [places] * PARTS
    apart = max(float(np.std(places)), 0.1)
    p["tau.share"][...] = 0
    p["tau.place"][...] = [cut.mean() for cut in cuts]
    p["tau.width"][...] = np.log([max(float(np.std(cut)), 0.1 * apart) for cut in cuts])


LENGTH = Head(
    logits,
    gradient,
    inputs=("left",),
    lengths=Lengths(SHAPES, begin, nats, fill_gradient, log_at_least),
)
