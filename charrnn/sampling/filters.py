"""From the logits of a model to the symbol that is drawn.

    y_hat = softmax of the logits         (10.11)
    P(k)  ~ exp(logit(k) / temperature)       a temperature below 1 sharpens, one above 1 flattens

then only the top_k most likely symbols stay, and of these the fewest that have top_p of the chance.
UNKNOWN is never drawn: what it would have had goes to the rest, in proportion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import Integers
from charrnn.network.rounding import Array64
from charrnn.network.softmax import normalise, set_aside
from charrnn.vocabulary import UNKNOWN

COLDEST = 1e-100  # what is colder divides by next to nothing, and draws the same


class Choice:
    """The tickets of the symbols in each lane, and the draw."""

    def __init__(
        self,
        symbols: int,
        lanes: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> None:
        self.temperature = temperature and max(temperature, COLDEST)
        self.top_k = None if top_k is None or top_k >= symbols - 1 else top_k
        self.top_p = None if top_p is None or top_p >= 1 else top_p
        self._y_hat: Array64 = np.empty((lanes, symbols))  # but for a factor a lane
        self._tickets: Array64 = np.empty((lanes, symbols))  # of this symbol and those before it
        self._has_filters = self.top_k is not None or self.top_p is not None
        self._every = np.arange(lanes)
        self._o = self._log_sums = self._y_hat  # of the step in hand

    def prepare(self, o: Array64) -> None:
        """Hand out the tickets for these logits, (B, K), which change."""
        lanes = len(o)
        y_hat, tickets = self._y_hat[:lanes], self._tickets[:lanes]
        unknown = set_aside(o, UNKNOWN)
        np.copyto(y_hat, o)
        self._log_sums = np.logaddexp(np.log(normalise(y_hat)), unknown)
        np.add.accumulate(y_hat, 1, None, tickets)
        self._o = o
        if self.temperature != 1 or self._has_filters:
            weights = y_hat if self.temperature == 1 else self._tempered(o, y_hat)
            weights = self._only_the_top(weights) if self._has_filters else weights
            np.add.accumulate(weights, 1, None, tickets)

    def draw(
        self, chances: Array64, lane: Integers | None = None
    ) -> tuple[NDArray[np.intp], Array64]:
        """For each chance the symbol drawn in its lane, and its surprisal: -log y_hat in nats.

        The surprisal is the network's own, whatever the temperature and the filters. Without
        ``lane``, there is one chance for each lane.
        """
        tickets, o, log_sums = self._tickets[: len(self._o)], self._o, self._log_sums
        if lane is None:
            lane = self._every[: len(o)]
        else:
            tickets, log_sums = tickets[lane], log_sums[lane]
        # More than, not as many as: a symbol without a ticket is not drawn.
        symbols = (tickets > (chances * tickets[:, -1])[:, None]).argmax(1)
        return symbols, log_sums - o[lane, symbols]

    def _tempered(self, o: Array64, out: Array64) -> Array64:
        if self.temperature == 0:
            best = np.argmax(o, 1)
            out[...] = 0
            out[np.arange(len(o)), best] = 1
            return out
        np.divide(o, self.temperature, out)
        return np.exp(out, out)

    def _only_the_top(self, weights: Array64) -> Array64:
        order = np.argsort(-weights, axis=1, kind="stable")  # of equals, the one that comes first
        ranked = np.take_along_axis(weights, order, 1)
        if self.top_k is not None:
            ranked[:, self.top_k :] = 0
        if self.top_p is not None:
            reached = np.add.accumulate(ranked, 1)
            ranked[:, 1:][reached[:, :-1] >= self.top_p * reached[:, -1:]] = 0
        kept = np.empty_like(weights)
        np.put_along_axis(kept, order, ranked, 1)
        return kept
