"""Random numbers that are looked up, not drawn: one for each seed, sample, attempt and step.

    number = mix(key(seed, sample, attempt) + (step + 1) * GAMMA)

which is SplitMix64 (Steele, Lea and Flood, 2014) told to begin at the key and asked for one step.
There is no state to carry along, so the third sample is the third sample, whether it is drawn
alone or beside a thousand others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.vocabulary import codes_of

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
