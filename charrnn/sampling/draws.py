"""Drawing symbols from logits, with random numbers that are looked up.

Symbols may be excluded. Of the others only the top_k most likely stay, and of these the fewest that
have top_p of the total. UNKNOWN is never drawn: its probability goes to the others in proportion.
Each seed, sample, attempt and step has its own random number: one step of SplitMix64 (Steele, Lea
and Flood, 2014) from a key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.network.readout import normalise, set_aside
from charrnn.network.rounding import Array64, Integers
from charrnn.vocabulary import UNKNOWN, codes_of

COLDEST = 1e-100  # lower temperatures draw the same


class Choice:
    """softmax of the logits (10.11) in each lane, with temperature and filters."""

    def __init__(
        self,
        symbols: int,
        lanes: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        excluded: NDArray[np.bool_] | None = None,
    ) -> None:
        self.temperature = temperature and max(temperature, COLDEST)
        self.top_k = None if top_k is None or top_k >= symbols - 1 else top_k
        self.top_p = None if top_p is None or top_p >= 1 else top_p
        self._y_hat: Array64 = np.empty((lanes, symbols))  # up to a factor for each lane
        self._sums: Array64 = np.empty((lanes, symbols))  # of the weights up to each symbol
        self._has_filters = self.top_k is not None or self.top_p is not None
        self._excluded = excluded  # (K,)  symbols that are not drawn
        self._every = np.arange(lanes)
        self._o = self._log_sums = self._y_hat  # of the current step

    def prepare(self, o: Array64) -> None:
        """Set the distribution by these logits, (B, K), which change."""
        lanes = len(o)
        y_hat, sums = self._y_hat[:lanes], self._sums[:lanes]
        unknown = set_aside(o, UNKNOWN)
        np.copyto(y_hat, o)
        self._log_sums = np.logaddexp(np.log(normalise(y_hat)), unknown)
        np.add.accumulate(y_hat, 1, None, sums)
        self._o = o
        if self.temperature != 1 or self._has_filters or self._excluded is not None:
            if self._excluded is not None:
                o = np.where(self._excluded, -np.inf, o)
                o -= o.max(1, keepdims=True)
            is_ready = self.temperature == 1 and self._excluded is None
            weights = y_hat if is_ready else self._apply_temperature(o, y_hat)
            weights = self._filter(weights) if self._has_filters else weights
            np.add.accumulate(weights, 1, None, sums)

    def draw(
        self, chances: Array64, lane: Integers | None = None
    ) -> tuple[NDArray[np.intp], Array64]:
        """Return the symbol that each chance draws in its lane, and its surprisal in nats.

        The surprisal ignores the temperature and the filters. Without ``lane``, each lane has one
        chance.
        """
        sums, o, log_sums = self._sums[: len(self._o)], self._o, self._log_sums
        if lane is None:
            lane = self._every[: len(o)]
        else:
            sums, log_sums = sums[lane], log_sums[lane]
        # ">" and not ">=", so that a symbol of weight 0 is never drawn
        symbols = (sums > (chances * sums[:, -1])[:, None]).argmax(1)
        return symbols, log_sums - o[lane, symbols]

    def _apply_temperature(self, o: Array64, out: Array64) -> Array64:
        if self.temperature == 0:
            best = np.argmax(o, 1)
            out[...] = 0
            out[np.arange(len(o)), best] = 1
            return out
        np.divide(o, self.temperature, out)
        return np.exp(out, out)

    def _filter(self, weights: Array64) -> Array64:
        order = np.argsort(-weights, axis=1, kind="stable")  # of equals, the first
        ranked = np.take_along_axis(weights, order, 1)
        if self.top_k is not None:
            ranked[:, self.top_k :] = 0
        if self.top_p is not None:
            reached = np.add.accumulate(ranked, 1)
            ranked[:, 1:][reached[:, :-1] >= self.top_p * reached[:, -1:]] = 0
        kept = np.empty_like(weights)
        np.put_along_axis(kept, order, ranked, 1)
        return kept


Words = NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples spread evenly
BITS = 52  # see uniform


def keys(seed: int, samples: Sequence[int], attempts: Sequence[int] = (0,)) -> Words:
    """Return the key of each sample, (S,), with one attempt for each or for all."""
    word = np.array([seed], np.uint64)
    for part in (samples, attempts):  # one after the other, so that (1, 2) is not (2, 1)
        word = _mix(word + GAMMA) ^ np.array(part, np.uint64)
    return _mix(word + GAMMA)


def keys_of_texts(texts: Sequence[str]) -> Words:
    codes = [codes_of(text) for text in sorted(texts, key=len, reverse=True)]
    words, lengths = np.zeros(len(codes), np.uint64), [len(text) for text in codes]
    for at in range(max(lengths, default=0)):
        longer = bisect_left(lengths, -at, key=lambda length: -length)
        part = np.array([text[at] for text in codes[:longer]], np.uint64)
        words[:longer] = _mix(words[:longer] + GAMMA) ^ part
    return _mix(words + GAMMA)


def uniform(streams: Words, first: int, steps: int) -> NDArray[np.float64]:
    """Return the numbers of these steps, in [0, 1): (steps, S), multiples of 2^-52. With one more
    bit, the largest times a sum could round up to that sum: a symbol beyond the last.
    """
    at = np.arange(first + 1, first + 1 + steps, dtype=np.uint64)[:, None]
    words = _mix(streams + at * GAMMA)
    return (words >> np.uint64(64 - BITS)).astype(np.float64) * 2.0**-BITS


def _mix(z: Words) -> Words:
    """Return a hash: each bit depends on every bit of z."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
