"""Texts drawn by workers: to each some numbers, and the texts come back in their order.

A sample is known by its number, so it is the same whoever draws it and beside which others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from charrnn.cluster.pool import Cluster
from charrnn.cluster.task import check_wanted
from charrnn.cluster.worker_cache import prepared
from charrnn.model import Model
from charrnn.prediction.predictor import together
from charrnn.sampling.redrawing import IN_VAIN, Wishes, redrawn
from charrnn.sampling.sampler import Ending, Piece, Sample, SampleConfig, Sampler

FIRST: Final = 16  # samples of the first pieces, so that somebody sees them soon
MOST: Final = 1 << 14
ENOUGH: Final = 1.0  # seconds of work: a piece that took as long is large enough
LARGE: Final = 1 << 20  # characters, likewise


@dataclass(frozen=True, eq=False)
class SamplingJob:
    """Who draws, and how: goes to each worker once."""

    models: tuple[Model, ...]  # slim
    config: SampleConfig  # with a seed
    prime: str = ""
    use: str | None = None
    wishes: Wishes | None = None
    key: str = field(default_factory=lambda: uuid4().hex)

    def sampler(self) -> WatchedSampler:
        """The models, made ready to draw."""
        predictor = together([model.predictor(self.use) for model in self.models])
        return WatchedSampler(predictor, self.config, self.prime)


class WatchedSampler(Sampler):
    """One that looks at every step whether anybody still wants what it draws."""

    def pieces(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Piece]:
        for piece in super().pieces(numbers, attempt):
            check_wanted()
            yield piece


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples on their way, packed."""

    numbers: list[int]
    texts: list[str | None]  # None: it was given up
    endings: list[str]
    counts: list[int]  # of the nats of each
    nats: NDArray[np.float64]
    seconds: float  # that it took to draw them

    @property
    def is_enough(self) -> bool:
        """Whether a piece need not be larger."""
        return self.seconds >= ENOUGH or len(self.nats) >= LARGE

    def samples(self) -> Iterator[Sample | None]:
        """They themselves."""
        nats, at = self.nats.tolist(), 0
        for row in zip(self.numbers, self.texts, self.endings, self.counts, strict=True):
            number, text, ended, count = row
            if text is None:
                yield None
                continue
            yield Sample(number, text, nats[at : at + count], cast(Ending, ended))
            at += count


def draw(numbers: range, job: SamplingJob) -> Drawn:
    """The samples of these numbers, or those up to where it is hopeless: the work of a worker."""
    began = time.monotonic()
    sampler = prepared(job.key, job.sampler)
    found: list[Sample | None]
    if job.wishes is None:
        found = list(sampler.samples(numbers))
    else:
        found = list(redrawn(sampler, numbers, job.wishes.whole, job.wishes.refuses))
    there = [one for one in found if one is not None]
    return Drawn(
        list(numbers[: len(found)]),
        [None if one is None else one.text for one in found],
        ["" if one is None else one.ended for one in found],
        [0 if one is None else len(one.nats) for one in found],
        np.concatenate([np.zeros(0), *(np.array(one.nats) for one in there)]),
        time.monotonic() - began,
    )


def drawn(cluster: Cluster, job: SamplingJob, numbers: range) -> Iterator[Sample | None]:
    """The samples of these numbers in their order; None for one that was given up, and nothing
    after IN_VAIN of those in a row.
    """
    size, in_vain = FIRST, 0

    def pieces() -> Iterable[range]:
        at = 0
        while at < len(numbers):
            piece = numbers[at : at + size]
            at += len(piece)
            yield piece  # the size may grow meanwhile

    def name(piece: range) -> str:
        return f"drawing the samples {piece[0]:,} to {piece[-1]:,}"

    for found in cluster.ordered(draw, pieces(), cluster.share(job), name):
        if not found.is_enough:
            size = min(4 * size, MOST)
        for sample in found.samples():
            yield sample
            in_vain = 0 if sample is not None else in_vain + 1
            if in_vain == IN_VAIN:
                return
