"""Which samples are shown: conditions on drawn texts, and the choice of the best.

A sample that fails a condition is drawn again, as another attempt. Texts are compared without case.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cache
from heapq import nsmallest
from itertools import chain, groupby, islice, repeat
from operator import attrgetter
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.network.arrays import Integers
from charrnn.prediction.sampling import MapGroups, Sample, Sampler
from charrnn.settings.drawing import SampleConfig
from charrnn.text.vocabulary import codes_of

ATTEMPTS: Final = 101  # at one sample: the first and a hundred more
FAILURES_TO_STOP: Final = 10  # samples in a row without success, after which drawing stops
BEST_OF, MOST_DRAWN = 10, 100  # samples for each of --best


@dataclass
class Conditions:
    """Conditions on samples, and a count of those that fail."""

    texts: Set[str] = frozenset()  # of the training, folded
    taken: Iterable[str] = ()  # more texts that are not shown
    without: Iterable[str] = ()  # pieces that no sample contains
    novel: bool = False
    best: bool = False
    unique: bool = False
    known_words: bool = False
    distance: int | None = None  # the fewest edits from ``others``
    shortest: int | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        self.known = {*(self.texts if self.novel or self.best else ()), *map(folded, self.taken)}
        self.pieces = [folded(piece) or piece for piece in self.without if piece]  # or a space
        self.words = words_in(self.texts) if self.known_words else None
        self.others = Neighbours(self.texts) if self.distance else None  # earlier samples, too
        self.drawn, self.rejected = 0, Counter[str]()  # samples; rejected ones by reason
        self.accepted = set[str]()  # texts, kept where they have to be unique

    def accept(self, sample: Sample) -> bool:
        """Return whether the sample may be shown, and count it."""
        self.drawn += 1
        text = sample.text
        if len(text) < (self.shortest or 0):
            reason = "too short"
        elif self.longest is not None and (len(text) > self.longest or sample.ended == "limit"):
            reason = "too long"
        elif self.known and folded(text) in self.known:
            reason = "copies"
        elif text in self.accepted:
            reason = "repeats"
        elif any(piece in without_case(text) for piece in self.pieces):
            reason = "with unwanted words"
        elif self.words is not None and not words_in([folded(text)]) <= self.words:
            reason = "with unknown words"
        elif self.others and self.others.are_near(folded(text), self.distance or 0):
            reason = "too near"
        else:
            if self.unique or self.best:
                self.accepted.add(text)
            if self.others:
                self.others.add(folded(text))
            return True
        self.rejected[reason] += 1
        return False


def folded(text: str) -> str:
    """Return the text without case and outer spaces, in one Unicode form."""
    return without_case(text).strip()


def without_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def words_in(texts: Iterable[str]) -> set[str]:
    """Return the words of texts, without the marks between them."""
    return {word for text in texts for word in run_of_letters().findall(text)}


@cache
def run_of_letters() -> re.Pattern[str]:
    """Return what matches a word. Its letters may have marks, such as the vowels of Hindi."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"\w[\w{marks}]*(?:['’]\w[\w{marks}]*)*")


class Neighbours:
    """Texts by their length, to look for those that are a few edits from another."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.codes: dict[int, Integers] = {}  # code points of the n texts of length L, (L, n)
        for length, group in groupby(sorted(texts, key=len), len):
            batch = list(group)
            self.codes[length] = codes_of("".join(batch)).reshape(len(batch), length).T.copy()

    def add(self, text: str) -> None:
        length, codes = len(text), codes_of(text)[:, None]
        self.codes[length] = np.append(self.codes.get(length, codes[:, :0]), codes, 1)

    def are_near(self, text: str, distance: int) -> bool:
        """Return whether one of the texts is fewer edits away than this."""
        codes = codes_of(text)
        counts = Counter(codes.tolist())
        for length, others in self.codes.items():
            if abs(length - len(text)) >= distance:
                continue
            common = np.zeros(others.shape[1], np.intp)  # characters: an edit takes one at most
            for character, count in counts.items():
                common += np.minimum((others == character).sum(0), count)
            near = others[:, max(length, len(text)) - common < distance]
            if near.shape[1] and edits(codes, near).min() < distance:
                return True
        return False


def edits(text: Integers, others: Integers) -> Integers:
    """Return the edits between a text (M,) and each of others (L, n), by optimal string alignment.

    A row has the edits from the characters of the text so far to each beginning of the others:

        row[j] = min(above[j] + 1, above[j - 1] + differs[j], before[j - 2] + 1 if swapped,
                     row[j - 1] + 1)
    """
    place = np.arange(len(others) + 1, dtype=np.int32)[:, None]
    above = before = np.repeat(place, others.shape[1], 1)
    for i, character in enumerate(text):
        row = above + 1
        np.minimum(row[1:], above[:-1] + (others != character), out=row[1:])
        if i > 0:
            is_swap = (others[1:] == text[i - 1]) & (others[:-1] == character)
            swapped = np.where(is_swap, before[:-2] + 1, row[2:])
            np.minimum(row[2:], swapped, out=row[2:])
        row = np.minimum.accumulate(row - place, 0) + place  # row[j - 1] + 1, and so on
        before, above = above, row
    distances: Integers = above[-1]
    return distances


def choose(
    sampler: Sampler, count: int, conditions: Conditions, share: MapGroups | None = None
) -> Iterator[Sample]:
    """Yield samples 0 to count - 1, each drawn until it meets the conditions.

    A sample that fails ATTEMPTS times is left out. FAILURES_TO_STOP of these in a row end the
    drawing. The best are those with the fewest nats a character, of ten times as many that pass.
    """
    if conditions.best:
        samples = sampler.samples(range(MOST_DRAWN * count), share=share)
        passing = islice(filter(conditions.accept, samples), BEST_OF * count)
        yield from nsmallest(count, passing, attrgetter("nats_per_character"))
        return
    in_vain = 0
    for first in sampler.samples(range(count), share=share):
        later = sampler.samples(repeat(first.number), range(1, ATTEMPTS))
        sample = next(filter(conditions.accept, chain([first], later)), None)
        in_vain = in_vain + 1 if sample is None else 0
        if sample is not None:
            yield sample
        elif in_vain == FAILURES_TO_STOP:
            return


def limit_length(
    config: SampleConfig, prime: str, shortest: int | None, longest: int | None
) -> SampleConfig:
    """Return the configuration with no more characters than ``longest`` needs.

    Raise SettingError if no sample can be long or short enough.
    """
    most = len(prime) + config.max_characters
    if longest is not None:
        # One character more shows that a sample is too long.
        room = min(config.max_characters, longest + 1 - len(prime))
        config, most = replace(config, max_characters=max(1, room)), min(most, longest)
    least = max(shortest or 0, len(prime))
    if least > most:
        what = f"a sample would need at least {least} characters, and may have at most {most}"
        hint = "Lower [shortest], shorten the prime, or raise [longest] or [max_characters]."
        raise SettingError(what, hint, "shortest")
    return config
