"""From the logits of a model to the symbol that is drawn.

    y_hat = softmax of the logits         (10.11)
    P(k)  ~ exp(logit(k) / temperature)       a temperature below 1 sharpens, one above 1 flattens

then only the top_k most likely symbols stay, and of these the fewest that have top_p of the chance.
UNKNOWN is never drawn: what it would have had goes to the rest, in proportion.

Random numbers that are looked up, not drawn: one for each seed, sample, attempt and step.

    number = mix(key(seed, sample, attempt) + (step + 1) * GAMMA)

which is SplitMix64 (Steele, Lea and Flood, 2014) told to begin at the key and asked for one step.
There is no state to carry along, so the third sample is the third sample, whether it is drawn
alone or beside a thousand others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import Integers
from charrnn.network.readout import normalise, set_aside
from charrnn.network.rounding import Array64
from charrnn.vocabulary import UNKNOWN, codes_of

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


Words = NDArray[np.uint64]

GAMMA = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples spread evenly
BITS = 52  # see uniform


def keys(seed: int, samples: Sequence[int], attempts: Sequence[int] = (0,)) -> Words:
    """Where the stream of each sample begins, (S,): an attempt for each of them, or for all."""
    word = _words([seed])
    for part in (samples, attempts):  # one after the other, so that (1, 2) is not (2, 1)
        word = _mix(word + _words([GAMMA])) ^ _words(part)
    return _mix(word + _words([GAMMA]))


def keys_of_texts(texts: Sequence[str]) -> Words:
    """A number for each text, which no other is likely to have, in no order: (N,). A text is its
    code points, one after the other, as a sample is its seed, its number and its attempt.
    """
    codes = [codes_of(text) for text in sorted(texts, key=len, reverse=True)]
    words, lengths = np.zeros(len(codes), np.uint64), [len(one) for one in codes]
    for at in range(max(lengths, default=0)):
        longer = bisect_left(lengths, -at, key=lambda length: -length)
        part = np.array([one[at] for one in codes[:longer]], np.uint64)
        words[:longer] = _mix(words[:longer] + _words([GAMMA])) ^ part
    return _mix(words + _words([GAMMA]))


def uniform(streams: Words, first: int, steps: int) -> NDArray[np.float64]:
    """The numbers of these steps, from 0 to below 1: (steps, S).

    They are multiples of 2^-52. With one bit more, the largest of them times a sum could be
    rounded up to that sum, and what is drawn by it would lie beyond the last symbol.
    """
    at = np.arange(first + 1, first + 1 + steps, dtype=np.uint64)[:, None]
    words = _mix(streams + at * np.uint64(GAMMA))
    return (words >> np.uint64(64 - BITS)).astype(np.float64) * 2.0**-BITS


def _mix(z: Words) -> Words:
    """Each bit of the result depends on every bit of z."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _words(numbers: Sequence[int]) -> Words:
    return np.array(numbers, np.uint64)
