"""The end as a length, drawn before the first character and then counted down.

    P(text)  =  P(tau)  x  product of P(y(t) | y(1) .. y(t-1), tau)  over its tau characters

The third of the book's three ways to end. END takes no part in the softmax; the loss of the length
stands at END. The remaining length tau - t is an input (see inputs). P(tau) comes before the first
character, so it is the same for all texts: M log-logistic distributions, cut into whole numbers,

    P(tau)  =  sum over m of  w_m (F(a_m(tau + 1)) - F(a_m(tau))),    F(x) = sigmoid(x)
    a_m(n)  =  (log n - place_m) / spread_m,    w = softmax of share,    spread = exp of width

    F(a) - F(b)  =  F(a) F(-b) (1 - exp(b - a))        precise even if both are near 1
    d log / da   =  F(-a) + r      d log / db  =  -F(b) - r      r = 1 / (exp(a - b) - 1)
    dL / d share =  w - the share of each part in P(tau)
"""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.heads import Head, Lengths
from charrnn.network.rounding import Array, Array64, Arrays, Integers
from charrnn.vocabulary import END

PARTS: Final = 8  # M
SHAPES: Final = {f"tau.{name}": (PARTS,) for name in ("share", "place", "width")}
NARROWEST, WIDEST = -6.0, 3.0  # widths: beyond these, nothing changes
FARTHEST: Final = 1e4  # of places


def logits(o: Array) -> None:
    """Leave the outputs as logits, without END."""
    o[:, END] = -np.inf


def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
    """Turn y_hat into dL/do, which is 0 at END."""
    is_over = at_y - np.arange(len(y_hat)) * y_hat.shape[1] == END
    y_hat.reshape(-1)[at_y] -= weight  # (10.18)
    y_hat[is_over] = 0


def nats(p: Arrays, tau: Integers) -> Array64:
    """Return -log P(tau), (n,)."""
    each = by_part(p, tau)[0]
    most = each.max(1)
    costs: Array64 = -most - np.log(np.add.reduce(np.exp(each - most[:, None]), 1))
    return costs


def fill_gradient(p: Arrays, tau: Integers, weight: float, gradient: Arrays) -> float:
    """Return the sum of -log P(tau), and leave its gradient times the weight in ``gradient``."""
    each, a, b, apart = by_part(p, tau)
    most = each.max(1, keepdims=True)
    shares = np.exp(each - most)
    sums = shares.sum(1, keepdims=True)
    shares /= sums  # of P(tau), (n, M)
    log_w, _, spread = mixture(p)
    with np.errstate(over="ignore"):
        r = 1 / np.expm1(apart)
    d_a, d_b = np.exp(log_sigmoid(-a)) + r, -np.exp(log_sigmoid(b)) - r
    d_place = -(d_a + d_b) / spread
    d_width = -(d_a * a + d_b * np.where(np.isfinite(b), b, 0))
    d_share = shares - np.exp(log_w)
    for name, d in (("share", d_share), ("place", shares * d_place), ("width", shares * d_width)):
        gradient[f"tau.{name}"][...] = -weight * d.sum(0)
    return float(-(most + np.log(sums)).sum())


def by_part(p: Arrays, tau: Integers) -> tuple[Array64, Array64, Array64, Array64]:
    """Return log w_m (F(a) - F(b)), a, b and a - b: (n, M) each, in float64."""
    n = tau.astype(np.float64)[:, None]
    log_w, place, spread = mixture(p)
    with np.errstate(divide="ignore"):
        a, b = (np.log(n + 1) - place) / spread, (np.log(n) - place) / spread
        apart = np.log1p(1 / n) / spread
    gap = np.log(-np.expm1(-apart))
    return log_w + log_sigmoid(a) + log_sigmoid(-b) + gap, a, b, apart


def log_at_least(p: Arrays, n: Array64) -> Array64:
    """Return log P(tau >= n), (n,)."""
    log_w, place, spread = mixture(p)
    with np.errstate(divide="ignore"):
        each = log_w + log_sigmoid((place - np.log(n)[:, None]) / spread)
    most = each.max(1)
    logs: Array64 = most + np.log(np.exp(each - most[:, None]).sum(1))
    return logs


def mixture(p: Arrays) -> tuple[Array64, Array64, Array64]:
    """Return log w, place and spread of each part, (M,), in float64."""
    share, place, width = (p[name].astype(np.float64) for name in SHAPES)
    share = share - share.max()
    log_w = share - np.log(np.exp(share).sum())
    return log_w, place.clip(-FARTHEST, FARTHEST), np.exp(width.clip(NARROWEST, WIDEST))


def log_sigmoid(a: Array64) -> Array64:
    """Return log F(a), without underflow far below 0."""
    logs: Array64 = -np.logaddexp(0.0, -a)
    return logs


def begin(p: Arrays, tau: Integers) -> None:
    """Fill initial parameters: each part covers an equal share of these lengths."""
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
