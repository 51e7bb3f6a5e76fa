"""Which samples are shown: conditions on drawn texts, and the choice of the best.

A sample that fails a condition is drawn again, as another attempt.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Final

from charrnn.errors import SettingError
from charrnn.prediction.sampling import MapGroups, Sample, Sampler
from charrnn.settings.drawing import SampleConfig as SampleConfig

ATTEMPTS: Final = 101  # at one sample: the first and a hundred more
FAILURES_TO_STOP: Final = 10  # samples in a row without success, after which drawing stops
BEST_OF, MOST_DRAWN = 10, 100  # samples for each of --best


@dataclass
class Conditions:
    """Conditions on samples, and a count of those that fail."""

    known: Set[str] = frozenset()  # texts that are not shown, folded
    unique: bool = False
    shortest: int | None = None
    longest: int | None = None
    drawn: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # reason -> samples
    accepted: set[str] = field(default_factory=set)  # texts, kept where they have to be unique

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
        elif self.unique and text in self.accepted:
            reason = "repeats"
        else:
            if self.unique:
                self.accepted.add(text)
            return True
        self.rejected[reason] += 1
        return False


def folded(text: str) -> str:
    """Return the text without case and outer spaces, in one Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).strip()


def choose(
    sampler: Sampler,
    count: int,
    conditions: Conditions,
    *,
    best: bool = False,
    share: MapGroups | None = None,
) -> Iterator[Sample]:
    """Yield samples 0 to count - 1, each drawn until it meets the conditions.

    A sample that fails ATTEMPTS times is left out. FAILURES_TO_STOP of these in a row end the
    drawing. The best are those with the fewest nats a character, of ten times as many that pass.
    """
    if best:
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
