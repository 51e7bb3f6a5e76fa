"""The readout: from the top state to a distribution over symbols and the end, and its loss.

    o = c + V h                           (10.10)
    y_hat = softmax of the logits         (10.11)  a head makes the logits of o
    L = -log y_hat at y                   (10.14)  = log sum of exp - logit at y
    dL/do                                 (10.18)  by the head
    dL/dh = V' dL/do                      (10.19, and its part of 10.21)

A head decides how the end is predicted: it turns o into logits, and dL/d(logits) into dL/do, both
in place on rows (R, K); column END is the end. No logit may exceed the largest output of its row,
or 0, so that a check of the outputs against overflow also covers the logits.

Rows are independent, so they are processed in blocks: no array of all rows x symbols is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.arrays import Array, Array64, Arrays, Integers
from charrnn.text.vocabulary import END

PARTS: Final = 8  # M
NARROWEST, WIDEST = -6.0, 3.0  # widths: beyond these, nothing changes
FARTHEST: Final = 1e4  # of places


class Lengths:
    """A distribution over the length of a text: M log-logistic ones, cut into whole numbers.

    P(tau)  =  sum over m of  w_m (F(a_m(tau + 1)) - F(a_m(tau))),    F(x) = sigmoid(x)
    a_m(n)  =  (log n - place_m) / spread_m,    w = softmax of share,    spread = exp of width

    F(a) - F(b)  =  F(a) F(-b) (1 - exp(b - a))        precise even if both are near 1
    d log / da   =  F(-a) + r      d log / db  =  -F(b) - r      r = 1 / (exp(a - b) - 1)
    dL / d share =  w - the share of each part in P(tau)
    """

    shapes: ClassVar = {f"tau.{name}": (PARTS,) for name in ("share", "place", "width")}

    @staticmethod
    def begin(p: Arrays, tau: Integers) -> None:
        """Fill initial parameters: each part covers an equal share of these lengths."""
        logs = np.log(np.sort(tau) + 0.5)
        cuts = np.array_split(logs, PARTS) if len(logs) >= PARTS else [logs] * PARTS
        narrowest = 0.1 * max(float(np.std(logs)), 0.1)
        p["tau.share"][...] = 0
        p["tau.place"][...] = [cut.mean() for cut in cuts]
        p["tau.width"][...] = np.log([max(float(np.std(cut)), narrowest) for cut in cuts])

    @staticmethod
    def nats(p: Arrays, tau: Integers) -> Array64:
        """Return -log P(tau), (n,)."""
        return -_log_sum(_by_part(p, tau)[0])

    @staticmethod
    def fill_gradient(p: Arrays, tau: Integers, weight: float, gradient: Arrays) -> float:
        """Return the sum of -log P(tau); leave its gradient times the weight in ``gradient``."""
        log_parts, a, b, a_less_b = _by_part(p, tau)
        log_p = _log_sum(log_parts)
        shares = np.exp(log_parts - log_p[:, None])  # of P(tau), (n, M)
        log_w, _, spread = _mixture(p)
        with np.errstate(over="ignore"):
            r = 1 / np.expm1(a_less_b)
        d_a, d_b = np.exp(_log_sigmoid(-a)) + r, -np.exp(_log_sigmoid(b)) - r
        d_place = -(d_a + d_b) / spread
        d_width = -(d_a * a + d_b * np.where(np.isfinite(b), b, 0))
        gradient["tau.share"][...] = -weight * (shares - np.exp(log_w)).sum(0)
        gradient["tau.place"][...] = -weight * (shares * d_place).sum(0)
        gradient["tau.width"][...] = -weight * (shares * d_width).sum(0)
        return float(-log_p.sum())


def _by_part(p: Arrays, tau: Integers) -> tuple[Array64, Array64, Array64, Array64]:
    """Return log w_m (F(a) - F(b)), a, b and a - b: (n, M) each, in float64."""
    n = tau.astype(np.float64)[:, None]
    log_w, place, spread = _mixture(p)
    with np.errstate(divide="ignore"):
        a, b = (np.log(n + 1) - place) / spread, (np.log(n) - place) / spread
        a_less_b = np.log1p(1 / n) / spread
    log_gap = np.log(-np.expm1(-a_less_b))
    return log_w + _log_sigmoid(a) + _log_sigmoid(-b) + log_gap, a, b, a_less_b


def _mixture(p: Arrays) -> tuple[Array64, Array64, Array64]:
    """Return log w, place and spread of each part, (M,), in float64."""
    share, place, width = (p[name].astype(np.float64) for name in Lengths.shapes)
    log_w: Array64 = share - _log_sum(share[None])
    return log_w, place.clip(-FARTHEST, FARTHEST), np.exp(width.clip(NARROWEST, WIDEST))


def _log_sum(logs: Array64) -> Array64:
    """Return the logarithm of the sum of exp in each row, (n, M) -> (n,)."""
    largest = logs.max(1)
    total: Array64 = largest + np.log(np.exp(logs - largest[:, None]).sum(1))
    return total


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
    # turns y_hat (R, K), times the weight of a row's loss, into dL/do times that weight, in place;
    # at_y (R,) are the places of the targets y in y_hat.reshape(-1)
    gradient: Callable[[Array, Integers, float], None]


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
    def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
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
    def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
        is_over = _is_end(y_hat, at_y)
        characters = y_hat[:, END + 1 :]
        sums = np.maximum(np.add.reduce(characters, 1), np.finfo(y_hat.dtype).tiny)
        characters *= (weight / sums)[:, None]  # softmax
        y_hat.reshape(-1)[at_y] -= weight
        characters[is_over] = 0


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
    def gradient(y_hat: Array, at_y: Integers, weight: float) -> None:
        """Turn y_hat into dL/do, which is 0 at END."""
        is_over = _is_end(y_hat, at_y)
        y_hat.reshape(-1)[at_y] -= weight  # (10.18)
        y_hat[is_over] = 0


def _is_end(y_hat: Array, at_y: Integers) -> Array:
    """Return whether y is END in each row."""
    is_over: Array = at_y - np.arange(len(y_hat)) * y_hat.shape[1] == END
    return is_over


HEADS: dict[str, type[Head]] = {"symbol": Symbol, "halt": Halt, "length": Length}


# The loss


LARGEST_BLOCK: Final = 1 << 20  # numbers in a block of outputs, unless 16 rows have more
SAFE: Final = 60.0  # exp(60) times a million symbols is still a float32


class Readout:
    """The readout of training, with buffers for a block of rows."""

    def __init__(self, head: type[Head], symbols: int, rows: int, dtype: DTypeLike) -> None:
        self.head = head
        self.rows = min(rows, max(16, LARGEST_BLOCK // symbols))
        self.o: Array = np.empty((self.rows, symbols), dtype)
        self.ones: Array = np.ones(max(self.rows, symbols), dtype)
        self.first = np.arange(self.rows) * symbols  # the place of each row in the flat o

    def nats_and_gradient(
        self,
        p: Arrays,
        h: Array,  # (R, H)
        y: Integers,  # (R,)
        weight: float,  # of a row's loss
        idle: Integers | None,  # rows without a loss
        largest: float,  # |h|
        gradient: Arrays,
        d_h: Array,  # (R, H)
    ) -> float:
        """Return the sum of L over the rows. Fill gradient["V"], gradient["c"] and d_h."""
        V, d_V, d_c = p["V"], gradient["V"], gradient["c"]
        total = 0.0
        bounded = is_bounded(p, largest)
        d_V[...] = 0
        d_c[...] = 0
        for rows in self._blocks(len(y)):
            losses, sums = self._losses(p, h[rows], y[rows], bounded)
            d_o = self.o[: len(losses)]
            d_o *= (weight / sums)[:, None]  # y_hat (10.11), weighted
            self.head.gradient(d_o, self.first[: len(d_o)] + y[rows], weight)  # (10.18)
            if idle is not None:
                silent = idle[(idle >= rows.start) & (idle < rows.stop)] - rows.start
                d_o[silent] = 0
                losses[silent] = 0
            total += float(losses.sum(dtype=np.float64))
            np.matmul(d_o, V, out=d_h[rows])  # (10.19)
            d_V += d_o.T @ h[rows]  # (10.24)
            d_c += self.ones[: len(d_o)] @ d_o  # (10.22)
        return total

    def _blocks(self, rows: int) -> Iterator[slice]:
        return (slice(at, min(at + self.rows, rows)) for at in range(0, rows, self.rows))

    def _losses(self, p: Arrays, h: Array, y: Integers, bounded: bool) -> tuple[Array, Array]:
        """Return L and the sum of exp for each row. Leave exp of the logits in ``o``."""
        o = self.o[: len(h)]
        np.matmul(h, p["V"].T, out=o)
        np.add(o, p["c"], out=o)  # (10.10)
        self.head.logits(o)
        if not bounded:  # exp cannot overflow then, and the softmax stays
            o -= o.max(axis=1, keepdims=True)
        at_y = o.reshape(-1)[self.first[: len(o)] + y]
        np.exp(o, o)
        sums: Array = o @ self.ones[: o.shape[1]]
        return np.log(sums) - at_y, sums  # (10.14)


def is_bounded(p: Arrays, largest: float) -> bool:
    """Return True if exp o cannot overflow: |o| <= |c| + |V| |h|, with |h| <= largest."""
    most = np.abs(p["V"]).sum(axis=1) * largest + np.abs(p["c"])
    return bool(most.max() < SAFE)  # False for NaN
