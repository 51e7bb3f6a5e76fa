"""Drawing symbols from logits at a temperature, and lengths, by random numbers that are looked up.

Symbols may be excluded. Of the others only the top_k most likely stay, and of these the fewest that
have top_p of the total. UNKNOWN is never drawn: its probability goes to the others in proportion.
Each seed, sample, attempt and step has its own random number: one step of SplitMix64 (Steele, Lea
and Flood, 2014) from a key.

A model with ends length draws the length of a text before its first character:

    P(tau | prime)  ~  P(tau) P(prime | tau)          for every tau from the length of the prime on

The prime is read once for each of some hundred lengths, and for the middles of ranges beyond them.
Only the ranges are approximate: to a network, large values of tau - t look alike.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import add_novelty, normalise, set_aside
from charrnn.network.rounding import Array64, Integers, in_units
from charrnn.network.stepper import State, Stepper
from charrnn.scoring.predictor import MixedStepper
from charrnn.settings.sampling import SampleConfig
from charrnn.vocabulary import END, UNKNOWN, Ids, codes_of

COLDEST = 1e-100  # lower temperatures draw the same

Tau = NDArray[np.int64]

MOST: Final = 512  # lengths and ranges
WORK: Final = 1 << 16  # symbols of a prime to read, for all lengths together
FEWEST: Final = 16
FAR: Final = 1 << 40  # characters beyond the prime where the last range begins
RARE: Final = 1e-3  # of all texts
LARGEST: Final = 1 << 60


class Choice:
    """softmax of the logits (10.11) in each lane, with temperature and filters."""

    def __init__(
        self, symbols: int, lanes: int, how: SampleConfig, excluded: NDArray[np.bool_] | None = None
    ) -> None:
        self.temperature = how.temperature and max(how.temperature, COLDEST)
        self.top_k = None if how.top_k is None or how.top_k >= symbols - 1 else how.top_k
        self.top_p = None if how.top_p is None or how.top_p >= 1 else how.top_p
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
        unknown = set_aside(o)
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

    def draw(self, chances: Array64, lane: Integers | None = None) -> tuple[Integers, Array64]:
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


class LengthChoice:
    """The distribution of the length of a text with this prime."""

    def __init__(
        self,
        model: LanguageModel,
        stepper: Stepper | MixedStepper,
        read: Ids,  # END and the prime, or the last of it
        length: int,  # of the prime
        temperature: float,
    ) -> None:
        lengths = model.architecture.head.lengths
        assert lengths is not None
        self.model, self.lengths, self.least = model, lengths, length
        self._stepper, self._read = stepper, read
        most = max(FEWEST, min(MOST, WORK // len(read)))
        self._first, self._stop, log_p = self._ranges(most)
        cost = np.zeros(len(self._first))
        if len(read) > 1:
            middle = np.minimum((self._first + self._stop - 1) // 2, 2 * self._first + MOST)
            for at in range(0, len(middle), stepper.lanes):
                some = slice(at, at + stepper.lanes)
                cost[some] = self.read_prime(middle[some])[1]
        log_p -= cost
        self.prime_nats = -float(np.logaddexp.reduce(log_p))
        self._sums = np.add.accumulate(self._weights(log_p, temperature))

    def draw(self, chances: Array64) -> Tau:
        """Return a length for each of these chances, (n,)."""
        sums = self._sums
        wanted = chances * sums[-1]
        which = np.minimum(np.searchsorted(sums, wanted, "right"), len(sums) - 1)
        before = np.concatenate([[0.0], sums])[which]
        share = np.maximum(wanted - before, 0.0) / np.maximum(sums[which] - before, 1e-300)
        share = share.clip(0, 1 - 2.0**-52)
        return self._at_share(share, self._first[which], self._stop[which])

    def read_prime(self, tau: Tau) -> tuple[State, Array64]:
        """Return, for these lengths, the states before the prime's last symbol and its nats."""
        count, ids = len(tau), self._read
        state = self._stepper.zeros(count)
        total = np.zeros(count)
        skipped = self.least + 1 - len(ids)
        for index in range(len(ids) - 1):
            left = {"left": tau - skipped - index}
            x = np.full(count, ids[index], np.intp)
            o = self._stepper.step(x, state, skipped + index, left)
            aside = set_aside(o)
            y = int(ids[index + 1])
            at_y = aside if y == UNKNOWN else o[:, y].copy()
            nats = np.zeros(count)
            nats += np.logaddexp(np.log(normalise(o)), aside) - at_y
            add_novelty(self.model, np.full(count, y, ids.dtype), nats, None)
            total += nats
        return state, total

    def begin(self, chances: Array64) -> tuple[State, NDArray[np.intp], Tau, Array64]:
        """Draw lengths by these chances, (n,). Return the states before the prime's last symbol,
        (B, H), the lane of each text, the characters to come in each lane, and the lengths' nats.
        """
        tau, lane = np.unique(self.draw(chances), return_inverse=True)
        state, prime_nats = self.read_prime(tau)
        length_nats: Array64 = self.lengths.nats(self.model.parameters, tau)
        nats = in_units(length_nats + prime_nats - self.prime_nats)
        return state, lane, tau - self.least, nats[lane]

    def _ranges(self, most: int) -> tuple[Tau, Tau, Array64]:
        """Return the first length, the length after the last, and log P of each range."""
        least, few = self.least, most // 4
        shares = np.arange(2 * few) / (2 * few)
        by_share = self._at_share(shares, np.int64(least), np.int64(LARGEST))
        wider = np.geomspace(few, FAR, few).astype(np.int64)
        first = np.unique(np.concatenate([by_share, least + np.arange(few), least + wider]))
        stop = np.append(first[1:], LARGEST)
        starting, after = self._log_at_least(first), self._log_at_least(stop)
        after[-1] = -np.inf
        log_p = starting + np.log(-np.expm1(np.minimum(after - starting, -1e-300)))
        single = stop - first == 1
        log_p[single] = -self.lengths.nats(self.model.parameters, first[single])
        return first, stop, log_p

    def _log_at_least(self, n: Tau) -> Array64:
        log_p: Array64 = self.lengths.log_at_least(self.model.parameters, n.astype(np.float64))
        return log_p

    def _weights(self, log_p: Array64, temperature: float) -> Array64:
        """Return weights that are not normalised. At temperatures other than 1 the longest lengths,
        RARE in total, get 0: there are so many that they could outweigh the others.
        """
        logits = log_p
        if temperature != 1:
            many = np.log((self._stop - self._first).astype(np.float64))
            each = log_p - many
            beyond = self._log_at_least(self._first) - self._log_at_least(self._first[:1])
            each[beyond < math.log(RARE)] = -np.inf
            if temperature == 0:
                each = np.where(np.arange(len(each)) == int(np.argmax(each)), 0.0, -np.inf)
                temperature, many = 1.0, np.zeros(len(each))
            logits = many + each / max(temperature, COLDEST)
        chances: Array64 = np.exp(logits - logits.max())
        return chances

    def _at_share(self, share: Array64, first: Tau | np.int64, stop: Tau | np.int64) -> Tau:
        """Return the length that is this share of the way through a range, by bisection."""
        low = np.broadcast_to(np.asarray(first, np.int64), share.shape).copy()
        high = np.broadcast_to(np.asarray(stop, np.int64), share.shape).copy()
        starting = self._log_at_least(low)  # others are relative to it, so that none vanishes
        wanted = 1 + share * np.expm1(self._log_at_least(high) - starting)
        while (high - low > 1).any():
            middle = low + (high - low) // 2
            is_before = np.exp(self._log_at_least(middle) - starting) >= wanted
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        return low


def nats_of_beginning(model: LanguageModel, prime: str) -> float:
    """Return -log of the probability that a text begins with the prime, over all lengths."""
    vocabulary = model.vocabulary
    read = np.concatenate((np.array([END], vocabulary.dtype), vocabulary.encode(prime)))
    return LengthChoice(model, Stepper(model.parameters, MOST), read, len(prime), 1.0).prime_nats
