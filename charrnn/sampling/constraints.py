"""Drawing again what is not wanted: what stands in the corpus, or was said before.

A sample that is refused is drawn again, as another attempt, with other chances. What is refused
depends on the corpus and on the samples before it in number, never on how many come after.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.segmentation import END_CODE
from charrnn.sampling.sampler import Sample, Sampler
from charrnn.vocabulary import Codes, codes_of

ATTEMPTS: Final = 101  # the first and a hundred more
IN_VAIN: Final = 10  # samples given up one after the other before the whole is
PENDING: Final = 1 << 20  # marks collected before repeated ones are thrown out


class Known:
    """The texts of a corpus, eight bytes for each that is not like another.

    They are told apart by hashes of 64 bits: among a million texts, one drawn text in 10^13 is
    taken for one of them and is not.
    """

    def __init__(self, codes: Iterable[Codes], *, ignoring_case: bool = False) -> None:
        """``codes`` is what ``cut`` gives: code points, END_CODE after each text. Where case is
        ignored, so are spaces at either end.
        """
        self._ignoring_case = ignoring_case
        self._marks: NDArray[np.uint64] = np.empty(0, np.uint64)
        pending = array("Q")
        marks = map(mark_of, map(folded, texts_of(codes))) if ignoring_case else _marks_of(codes)
        for mark in marks:
            pending.append(mark)
            if len(pending) >= max(PENDING, len(self._marks)):
                self._add(pending)
                pending = array("Q")
        self._add(pending)

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, text: str) -> bool:
        return self.has_mark(mark_of(folded(text) if self._ignoring_case else text))

    def has_mark(self, mark: int) -> bool:
        """Whether the text that is known by this mark is one of them."""
        at = int(self._marks.searchsorted(np.uint64(mark)))
        return at < len(self._marks) and bool(self._marks[at] == mark)

    def _add(self, pending: array[int]) -> None:
        self._marks = np.union1d(self._marks, np.frombuffer(pending, np.uint64))


@dataclass(frozen=True)
class Wishes:
    """Which samples are wanted, whatever was said before: by what they are with their prime."""

    prime: str
    known: Known | None = None  # what they may not be
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


def mark_of(text: str) -> int:
    """64 bits by which a text is known again."""
    return _number(_hash(codes_of(text).tobytes()))


def folded(text: str) -> str:
    """What is left of a text without case and without spaces at either end."""
    return text.strip().casefold()


def texts_of(codes: Iterable[Codes]) -> Iterator[str]:
    """The texts that these code points are, with END_CODE after each."""
    unfinished: list[Codes] = []
    for block in codes:
        start = 0
        for end in np.flatnonzero(block == END_CODE).tolist():
            parts = [*unfinished, block[start:end]]
            text = np.concatenate(parts).astype("<u4").tobytes()
            yield text.decode("utf-32-le", "surrogatepass")
            unfinished, start = [], end + 1
        unfinished.append(block[start:])


def _marks_of(codes: Iterable[Codes]) -> Iterator[int]:
    unfinished = _hash()
    for block in codes:
        start = 0
        for end in np.flatnonzero(block == END_CODE).tolist():
            unfinished.update(block[start:end].astype("<u4").tobytes())
            yield _number(unfinished)
            unfinished = _hash()
            start = end + 1
        unfinished.update(block[start:].astype("<u4").tobytes())


def _hash(data: bytes = b"") -> blake2b:
    return blake2b(data, digest_size=8)


def _number(digest: blake2b) -> int:
    return int.from_bytes(digest.digest(), "little")


def redrawn(
    sampler: Sampler,
    numbers: range,
    whole: Callable[[Sample], str],
    is_unwanted: Callable[[Sample], bool],
    said: set[int] | None = None,
) -> Iterator[Sample | None]:
    """The samples of these numbers, each drawn until it is wanted; None for one that was given up.

    ``whole`` is the text that a sample stands for, its prime included. Where there is a set of what
    was ``said``, by ``mark_of``, a sample may not be that, and is added to it. After IN_VAIN
    samples given up in a row there is no next. Where nothing is left to chance, one attempt tells.
    """
    in_vain = 0
    most = 1 if sampler.always_the_same else ATTEMPTS

    def is_refused(sample: Sample) -> bool:
        return is_unwanted(sample) or (said is not None and mark_of(whole(sample)) in said)

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
                said.add(mark_of(whole(sample)))
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
