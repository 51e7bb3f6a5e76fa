"""How fast a run goes and how long it will take, told from how it went a moment ago."""

from __future__ import annotations

import math

from charrnn.training.stopwatch import Stopwatch

MEMORY = 10.0  # seconds after which what was measured counts for a third


class Pace:
    """How a run goes, from one look at it to the next."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.characters = 0
        self.share = 0.0  # of the run that is done
        self._rate = self._share_rate = math.nan  # per second, of late
        self._clock = Stopwatch()

    def update(self, characters: int, share: float) -> None:
        """So many characters more were learned from, and that much of the run is done."""
        gap = max(self._clock.lap(), 1e-9)
        self._rate = self._smooth(self._rate, characters / gap, gap)
        self._share_rate = self._smooth(self._share_rate, (share - self.share) / gap, gap)
        self.seconds += gap
        self.characters += characters
        self.share = share

    def _smooth(self, old: float, new: float, gap: float) -> float:
        # What is left of a mean over e^(-t/MEMORY), begun as a plain one.
        weight = 1 - math.exp(-gap / MEMORY)
        weight = max(weight, gap / (self.seconds + gap))
        return new if math.isnan(old) else old + weight * (new - old)

    @property
    def characters_per_second(self) -> float:
        """Of late."""
        return 0.0 if math.isnan(self._rate) else self._rate

    @property
    def average(self) -> float:
        """Characters per second from the beginning."""
        return self.characters / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """How long it will take if it goes on so; infinite where nobody can tell."""
        return (1 - self.share) / self._share_rate if self._share_rate > 0 else math.inf
