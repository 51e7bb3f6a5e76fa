"""Drawing the length of a text before its first character, for models with ends length.

    P(tau | prime)  ~  P(tau) P(prime | tau)          for every tau from the length of the prime on

The prime is read once for each of some hundred lengths, and for the middles of ranges beyond them.
Only the ranges are approximate: to a network, large values of tau - t look alike.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel
from charrnn.network.readout import add_novelty, normalise, set_aside
from charrnn.network.rounding import Array64, in_units
from charrnn.network.stepper import State, Stepper
from charrnn.sampling.draws import COLDEST
from charrnn.scoring.predictor import MixedStepper
from charrnn.vocabulary import END, UNKNOWN, Ids

Tau = NDArray[np.int64]

MOST: Final = 512  # lengths and ranges
WORK: Final = 1 << 16  # symbols of a prime to read, for all lengths together
FEWEST: Final = 16
FAR: Final = 1 << 40  # characters beyond the prime where the last range begins
RARE: Final = 1e-3  # of all texts
LARGEST: Final = 1 << 60


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
        self._first, self._stop, self._log_p = self._ranges(
            max(FEWEST, int(min(MOST, WORK // len(read))))
        )
        cost = np.zeros(len(self._first))
        if len(read) > 1:
            middle = np.minimum((self._first + self._stop - 1) // 2, 2 * self._first + MOST)
            for at in range(0, len(middle), stepper.lanes):
                some = slice(at, at + stepper.lanes)
                cost[some] = self.read_prime(middle[some])[1]
        log_p = self._log_p - cost
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
            aside = set_aside(o, UNKNOWN)
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
