"""Samples that meet conditions: not in the corpus, not drawn before, not too short or too long.

A rejected sample is drawn again as another attempt, with other random numbers. Its rejection
depends on the corpus and on samples with lower numbers, never on later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from charrnn.corpus.text_set import TextSet
from charrnn.sampling.sampler import Sample, Sampler

ATTEMPTS: Final = 101  # the first and a hundred more
IN_VAIN: Final = 10  # samples in a row without success, after which drawing stops


@dataclass(frozen=True)
class Wishes:
    """Conditions on a sample with its prime, apart from samples before it."""

    prime: str
    known: TextSet | None = None  # texts that are rejected
    shortest: int | None = None
    longest: int | None = None

    def whole(self, sample: Sample) -> str:
        return self.prime + sample.text

    def rejects(self, sample: Sample) -> bool:
        text = self.whole(sample)
        if self.longest is not None and (len(text) > self.longest or sample.ended == "limit"):
            return True
        return len(text) < (self.shortest or 0) or (self.known is not None and text in self.known)


def redraw(
    sampler: Sampler,
    numbers: range,
    whole: Callable[[Sample], str],
    rejects: Callable[[Sample], bool],
    seen: TextSet | None = None,
) -> Iterator[Sample | None]:
    """Yield the samples of these numbers, each drawn until it is accepted; None after ATTEMPTS.

    A sample whose ``whole`` text is in ``seen`` is rejected; that of an accepted one is added.
    Drawing stops after IN_VAIN failures in a row. A deterministic sampler gets one attempt.
    """
    in_vain = 0
    most = 1 if sampler.is_deterministic else ATTEMPTS

    def is_rejected(sample: Sample) -> bool:
        return rejects(sample) or (seen is not None and whole(sample) in seen)

    for group in growing_groups(numbers, sampler.group):
        for number, attempts in _attempts_of(sampler, group, most, is_rejected).items():
            later = (
                sample
                for tried in doubling(len(attempts), most)
                for sample in sampler.attempts(number, tried)
            )
            accepted = (sample for sample in chain(attempts, later) if not is_rejected(sample))
            sample = next(accepted, None)
            yield sample
            if sample is not None and seen is not None:
                seen.add(whole(sample))
            in_vain = 0 if sample is not None else in_vain + 1
            if in_vain == IN_VAIN:
                return


def growing_groups(numbers: range, most: int) -> Iterator[range]:
    """Yield the numbers in groups, few at first, so that a hopeless case ends soon."""
    at, size = 0, IN_VAIN + 1  # one success and IN_VAIN failures
    while at < len(numbers):
        yield numbers[at : at + size]
        at, size = at + size, min(2 * size, most)


def doubling(at: int, stop: int) -> Iterator[range]:
    size = 1
    while at < stop:
        yield range(at, min(at + size, stop))
        at, size = at + size, 2 * size


def _attempts_of(
    sampler: Sampler, numbers: range, most: int, is_rejected: Callable[[Sample], bool]
) -> dict[int, list[Sample]]:
    """Return the attempts of each sample up to one that is accepted but may repeat another."""
    tried: dict[int, list[Sample]] = {number: [] for number in numbers}
    rejected = list(numbers)
    for attempt in range(most):
        drawn = list(sampler.samples(rejected, attempt))
        for sample in drawn:
            tried[sample.number].append(sample)
        rejected = [sample.number for sample in drawn if is_rejected(sample)]
        if not rejected:
            break
    return tried
