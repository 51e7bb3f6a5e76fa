"""Jobs that workers share: drawing samples by their numbers, and scoring pieces of a text.

A sample depends only on its number, and a score is exact to the last bit. So any division of the
work gives the results of one process, and only the order has to be kept.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import numpy as np

from charrnn.cluster.pool import Cluster
from charrnn.cluster.worker import cached, check_wanted
from charrnn.model import Model
from charrnn.sampling.sampler import (
    IN_VAIN,
    Conditions,
    Fragment,
    Sample,
    SampleConfig,
    Sampler,
    redraw,
)
from charrnn.scoring.pieces import ScoredBlock, Scorer, SummedBlock, score_blocks
from charrnn.scoring.predictor import combine, scorer_of
from charrnn.scoring.score import Score
from charrnn.vocabulary import Codes

FIRST_PIECE: Final = 16  # samples a piece: few at first, so that the first texts appear soon
LARGEST_PIECE: Final = 1 << 14
LONG_ENOUGH: Final = 1.0  # seconds; a piece that took so long does not grow
LARGE_ENOUGH: Final = 1 << 20  # characters, likewise
CHECK_WORK: Final = 1 << 33  # multiply-adds between two checks whether a score is still wanted


@dataclass(frozen=True, eq=False)
class SamplingJob:
    """The models and settings of sampling; sent to each worker once."""

    models: tuple[Model, ...]  # slim
    config: SampleConfig  # with a seed
    prime: str = ""
    use: str | None = None
    conditions: Conditions | None = None
    key: str = field(default_factory=lambda: uuid4().hex)

    def sampler(self) -> CancellableSampler:
        predictor = combine([model.predictor(self.use) for model in self.models])
        return CancellableSampler(predictor, self.config, self.prime)


class CancellableSampler(Sampler):
    """A sampler that stops when its result is no longer wanted."""

    def fragments(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Fragment]:
        for piece in super().fragments(numbers, attempt):
            check_wanted()
            yield piece


def draw(numbers: range, job: SamplingJob) -> tuple[list[Sample | None], float]:
    """Draw the samples of these numbers on a worker; stop early after too many failures. Return the
    samples, None for each failure, and the seconds it took.
    """
    began = time.monotonic()
    sampler, conditions = cached(job.key, job.sampler), job.conditions
    samples: list[Sample | None]
    if conditions is None:
        samples = list(sampler.samples(numbers))
    else:
        samples = list(redraw(sampler, numbers, conditions.whole, conditions.rejects))
    return samples, time.monotonic() - began


def drawn(cluster: Cluster, job: SamplingJob, numbers: range) -> Iterator[Sample | None]:
    """Yield the samples of these numbers in order, None for each failure; stop after IN_VAIN
    failures in a row.
    """
    size, failures = FIRST_PIECE, 0

    def pieces() -> Iterable[range]:
        at = 0
        while at < len(numbers):
            piece = numbers[at : at + size]
            at += len(piece)
            yield piece  # the size may grow before the next one

    def name(piece: range) -> str:
        return f"drawing samples {piece[0]:,} to {piece[-1]:,}"

    for samples, seconds in cluster.ordered(draw, pieces(), cluster.share(job), name):
        characters = sum(len(sample.nats) for sample in samples if sample)
        if seconds < LONG_ENOUGH and characters < LARGE_ENOUGH:
            size = min(4 * size, LARGEST_PIECE)
        for sample in samples:
            yield sample
            failures = 0 if sample is not None else failures + 1
            if failures == IN_VAIN:
                return


@dataclass(frozen=True, eq=False)
class ScoringJob:
    """The models and figures of a scoring run; sent to each worker once."""

    models: tuple[Model, ...]  # slim
    use: str | None = None
    mixed: bool = False  # score with the mean of all models first
    fast: bool = False
    ranking: bool = False
    detailed: bool = False  # return the cost of each symbol instead of sums
    key: str = field(default_factory=lambda: uuid4().hex)

    def readers(self) -> list[Scorer]:
        each = [model.predictor(self.use) for model in self.models]
        predictors = [combine(each), *each] if self.mixed else each
        return [scorer_of(one, ranking=self.ranking, fast=self.fast) for one in predictors]

    @property
    def block(self) -> int:
        """The number of symbols between two checks whether the score is still wanted."""
        size = sum(
            network.parameters.architecture.parameter_count
            for model in self.models
            for network in model.trained.networks
        )
        return max(1 << 12, min(1 << 16, CHECK_WORK // size))


@dataclass(frozen=True, eq=False)
class TextPiece:
    """Whole examples of a text, and a name for messages."""

    codes: Codes
    name: str

    def __str__(self) -> str:
        return self.name


def score_piece(piece: TextPiece, job: ScoringJob) -> list[ScoredBlock]:
    """Score a piece with each reader, on a worker."""
    return [score_with(reader, piece.codes, job) for reader in cached(job.key, job.readers)]


def score_with(reader: Scorer, codes: Codes, job: ScoringJob) -> ScoredBlock:
    """Score code points with one reader; return costs or sums, without the code points."""

    def wanted_blocks(size: int) -> Iterator[Codes]:
        for at in range(0, len(codes), size):
            check_wanted()
            yield codes[at : at + size]

    blocks = list(score_blocks(reader, wanted_blocks(job.block), 1))
    parts = blocks[0].parts
    if job.detailed:
        ranks = [block.ranks for block in blocks if block.ranks is not None]
        return ScoredBlock(
            codes[:0],
            np.concatenate([block.ids for block in blocks]),
            np.concatenate([block.nats for block in blocks]),
            np.concatenate(ranks) if job.ranking else None,
            {name: np.concatenate([block.parts[name] for block in blocks]) for name in parts},
        )
    sums = {"": sum((block.score() for block in blocks), Score())}
    for name in parts:
        sums[name] = sum((block.of_part(name).score() for block in blocks), Score())
    return SummedBlock(codes[:0], sums)


def scored(
    cluster: Cluster, job: ScoringJob, text: Iterable[TextPiece]
) -> Iterator[Sequence[ScoredBlock]]:
    """Yield the pieces of a text in order, each as scored by every reader of the job."""
    sent: deque[Codes] = deque()

    def remember() -> Iterator[TextPiece]:
        for piece in text:
            sent.append(piece.codes)
            yield piece

    for blocks in cluster.ordered(score_piece, remember(), cluster.share(job)):
        codes = sent.popleft()
        for block in blocks:
            block.codes = codes
        yield blocks
