"""Drawing again what is not wanted: what stands in the corpus, or was said before.

A sample that is refused is drawn again, as another attempt, with other chances. What is refused
depends on the corpus and on the samples before it in number, never on how many come after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from charrnn.corpus.text_set import TextSet
from charrnn.sampling.sampler import Sample, Sampler

ATTEMPTS: Final = 101  # the first and a hundred more
IN_VAIN: Final = 10  # samples given up one after the other before the whole is


@dataclass(frozen=True)
class Wishes:
    """Which samples are wanted, whatever was said before: by what they are with their prime."""

    prime: str
    known: TextSet | None = None  # what they may not be
    shortest: int | None = None
    longest: int | None = None

    def whole(self, sample: Sample) -> str:
        """The text that a sample stands for."""
        return self.prime + sample.text

    def refuses(self, sample: Sample) -> bool:
        """Whether it is to be drawn again."""
        text = self.whole(sample)
        if self.longest is not None and (len(text) > self.longest or sample.ended == "limit"):
            return True
        if len(text) < (self.shortest or 0):
            return True
        return self.known is not None and text in self.known


def redrawn(
    sampler: Sampler,
    numbers: range,
    whole: Callable[[Sample], str],
    is_unwanted: Callable[[Sample], bool],
    said: TextSet | None = None,
) -> Iterator[Sample | None]:
    """The samples of these numbers, each drawn until it is wanted; None for one that was given up.

    ``whole`` is the text that a sample stands for, its prime included. A sample may not be in
    the set ``said``, if there is one, and is added to it. After IN_VAIN
    samples given up in a row there is no next. Where nothing is left to chance, one attempt tells.
    """
    in_vain = 0
    most = 1 if sampler.always_the_same else ATTEMPTS

    def is_refused(sample: Sample) -> bool:
        return is_unwanted(sample) or (said is not None and whole(sample) in said)

    for group in growing_groups(numbers, sampler.group):
        for number, attempts in _tried_at_once(sampler, group, most, is_refused).items():
            later = (
                sample
                for tried in doubling(len(attempts), most)
                for sample in sampler.attempts(number, tried)
            )
            wanted = (sample for sample in chain(attempts, later) if not is_refused(sample))
            sample = next(wanted, None)
            yield sample
            if sample is not None and said is not None:
                said.add(whole(sample))
            in_vain = 0 if sample is not None else in_vain + 1
            if in_vain == IN_VAIN:
                return


def growing_groups(numbers: range, most: int) -> Iterator[range]:
    """The numbers, few at first, so that a hopeless case is soon known as one."""
    at, size = 0, IN_VAIN + 1  # one that is wanted, and all that is given up
    while at < len(numbers):
        yield numbers[at : at + size]
        at, size = at + size, min(2 * size, most)


def doubling(at: int, stop: int) -> Iterator[range]:
    """The numbers from one to another, one, two, four, .. at a time."""
    size = 1
    while at < stop:
        yield range(at, min(at + size, stop))
        at, size = at + size, 2 * size


def _tried_at_once(
    sampler: Sampler, numbers: range, most: int, is_refused: Callable[[Sample], bool]
) -> dict[int, list[Sample]]:
    """The attempts of each sample up to one that is wanted, as far as can be told beforehand.

    Not what the group itself repeats: that depends on what becomes of those before.
    """
    tried: dict[int, list[Sample]] = {number: [] for number in numbers}
    refused = list(numbers)
    for attempt in range(most):
        drawn = list(sampler.samples(refused, attempt))
        for sample in drawn:
            tried[sample.number].append(sample)
        refused = [sample.number for sample in drawn if is_refused(sample)]
        if not refused:
            break
    return tried
