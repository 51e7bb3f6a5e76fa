"""The three ways in which a text can end: heads, which make logits of the outputs.

A head turns o into logits, and dL/d(logits) into dL/do, both in place on rows (R, K); column END is
the end. No logit may exceed the largest output of its row, or 0, so that a check of the outputs
against overflow also covers the logits.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import numpy as np

from charrnn.network.arrays import Array, Array64, Arrays, Integers, log_softmax
from charrnn.text.vocabulary import END

COMPONENTS: Final = 8  # M
NARROWEST, WIDEST = -6.0, 3.0  # widths: beyond these, P stays; the gradient is that at the bound
FARTHEST_PLACE: Final = 1e4  # of places


class Lengths:
    """A distribution over the length of a text: M log-logistic ones, cut into whole numbers.

    P(tau)  =  sum over m of  w_m (F(a_m(tau + 1)) - F(a_m(tau))),    F(x) = sigmoid(x)
    a_m(n)  =  (log n - place_m) / spread_m,    w = softmax of share,    spread = exp of width

    F(a) - F(b)  =  F(a) F(-b) (1 - exp(b - a))        precise even if both are near 1
    d log / da   =  F(-a) + r      d log / db  =  -F(b) - r      r = 1 / (exp(a - b) - 1)
    dL / d share =  w - the share of each part in P(tau)
    """

    shapes: ClassVar = {f"tau.{name}": (COMPONENTS,) for name in ("share", "place", "width")}

    @staticmethod
    def initialize(p: Arrays, tau: Integers) -> None:
        """Fill initial parameters: each part covers an equal share of these lengths."""
        logs = np.log(np.sort(tau) + 0.5)
        cuts = np.array_split(logs, COMPONENTS) if len(logs) >= COMPONENTS else [logs] * COMPONENTS
        narrowest = 0.1 * max(float(np.std(logs)), 0.1)
        p["tau.share"][...] = 0
        p["tau.place"][...] = [cut.mean() for cut in cuts]
        p["tau.width"][...] = np.log([max(float(np.std(cut)), narrowest) for cut in cuts])

    @staticmethod
    def nats(p: Arrays, tau: Integers) -> Array64:
        """Return -log P(tau), (n,)."""
        nats: Array64 = -np.logaddexp.reduce(_by_part(p, tau)[2], 1)
        return nats

    @staticmethod
    def fill_gradient(p: Arrays, tau: Integers, weight: float, gradient: Arrays) -> float:
        """Return the sum of -log P(tau); leave its gradient times the weight in ``gradient``."""
        log_w, spread, log_parts, a, b, a_less_b = _by_part(p, tau)
        log_p = np.logaddexp.reduce(log_parts, 1)
        shares = np.exp(log_parts - log_p[:, None])  # of P(tau), (n, M)
        with np.errstate(over="ignore"):
            r = 1 / np.expm1(a_less_b)
        d_a, d_b = np.exp(_log_sigmoid(-a)) + r, -np.exp(_log_sigmoid(b)) - r
        d_place = -(d_a + d_b) / spread
        d_width = -(d_a * a + d_b * np.where(np.isfinite(b), b, 0))
        gradient["tau.share"][...] = -weight * (shares - np.exp(log_w)).sum(0)
        gradient["tau.place"][...] = -weight * (shares * d_place).sum(0)
        gradient["tau.width"][...] = -weight * (shares * d_width).sum(0)
        return float(-log_p.sum())


def _by_part(p: Arrays, tau: Integers) -> tuple[Array64, ...]:
    """Return log w and spread (M,); log w_m (F(a) - F(b)), a, b and a - b (n, M), in float64."""
    share, place, width = (p[name].astype(np.float64) for name in Lengths.shapes)
    log_w, spread = log_softmax(share), np.exp(width.clip(NARROWEST, WIDEST))
    n, place = tau.astype(np.float64)[:, None], place.clip(-FARTHEST_PLACE, FARTHEST_PLACE)
    with np.errstate(divide="ignore"):
        a, b = (np.log(n + 1) - place) / spread, (np.log(n) - place) / spread
        a_less_b = np.log1p(1 / n) / spread
    log_gap = np.log(-np.expm1(-a_less_b))
    log_parts = log_w + _log_sigmoid(a) + _log_sigmoid(-b) + log_gap
    return log_w, spread, log_parts, a, b, a_less_b


def _log_sigmoid(a: Array64) -> Array64:
    """Return log F(a), without underflow far below 0."""
    logs: Array64 = -np.logaddexp(0.0, -a)
    return logs


class Head:
    """The way from outputs to logits and back."""

    inputs: ClassVar[tuple[str, ...]] = ()  # that the head needs besides symbols: see parameters
    lengths: ClassVar[type[Lengths] | None] = None  # set if the length comes first
    equations: ClassVar[Mapping[str, str]] = {}  # value -> its equation: see cells

    # turns the outputs o (R, K) into logits, in place
    logits: Callable[[Array], None]
    # turns y_hat (R, K), times the weight of a row's loss, into dL/do times that weight, in place,
    # by the targets y (R,) and their places in y_hat.reshape(-1)
    gradient: Callable[[Array, Integers, Integers, float], None]


class Symbol(Head):
    """The end as a symbol of the vocabulary: one softmax over the characters and END.

    y_hat = softmax o                     (10.11)
    dL/do = y_hat - 1 at y                (10.18)
    """

    equations: ClassVar = {
        "y_hat": "exp({o}(t) - {log sum exp})  (10.11)",
        "dL/do": "{y_hat}(t) - {1 at y(t)}  (10.18)",
    }

    @staticmethod
    def logits(o: Array) -> None:
        """Leave the outputs: they are the logits."""

    @staticmethod
    def gradient(y_hat: Array, y: Integers, at_y: Integers, weight: float) -> None:
        y_hat.reshape(-1)[at_y] -= weight  # (10.18)


class Halt(Head):
    """The end as a unit of its own, which gives the probability of the end at every step.

        P(end)  =  sigmoid of o at END
        P(k)    =  (1 - P(end)) softmax of the other outputs at k

    The second of the book's three ways to end. END takes no part in the softmax over the
    characters. The loss is the cross-entropy of the unit, plus that of the character, if any.

        dL/do(END) = P(end) - 1 at the end
        dL/do(k)   = softmax(k) - 1 at y, and 0 at the end
    """

    @staticmethod
    def logits(o: Array) -> None:
        """Keep the output of the unit, the log odds of the end; log softmax for the others."""
        characters = o[:, END + 1 :]
        characters -= np.maximum.reduce(characters, 1)[:, None]
        characters -= np.log(np.add.reduce(np.exp(characters), 1))[:, None]

    @staticmethod
    def gradient(y_hat: Array, y: Integers, at_y: Integers, weight: float) -> None:
        characters = y_hat[:, END + 1 :]
        sums = np.maximum(np.add.reduce(characters, 1), np.finfo(y_hat.dtype).tiny)
        characters *= (weight / sums)[:, None]  # softmax
        y_hat.reshape(-1)[at_y] -= weight
        characters[y == END] = 0


class Length(Head):
    """The length first: P(text) = P(tau) P(text | tau) over its tau characters.

    The third of the book's three ways to end. END takes no part in the softmax; the loss of the
    length is counted at END. The remaining length tau - t is an input. P(tau) comes before the
    first character, so it is the same for all texts.
    """

    inputs = ("to_come",)
    lengths = Lengths

    @staticmethod
    def logits(o: Array) -> None:
        o[:, END] = -np.inf

    @staticmethod
    def gradient(y_hat: Array, y: Integers, at_y: Integers, weight: float) -> None:
        """Turn y_hat into dL/do, which is 0 at END."""
        y_hat.reshape(-1)[at_y] -= weight  # (10.18)
        y_hat[y == END] = 0


HEADS: dict[str, type[Head]] = {"symbol": Symbol, "halt": Halt, "length": Length}
