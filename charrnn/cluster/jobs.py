"""Texts drawn by workers: to each some numbers, and the texts come back in their order.

A sample is known by its number, so it is the same whoever draws it and beside which others.

A text scored by workers: to each a piece of it, and the sums come back, or every symbol's cost.

A score is the same to the last bit, whoever computes it and in whatever pieces. So the results are
those of one process, and only the order has to be kept."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from charrnn.cluster.pool import Cluster
from charrnn.cluster.worker import check_wanted, prepared
from charrnn.model import Model
from charrnn.sampling.constraints import IN_VAIN, Wishes, redrawn
from charrnn.sampling.sampler import Ending, Piece, Sample, SampleConfig, Sampler
from charrnn.scoring.mixed import scorer_of
from charrnn.scoring.pieces import Floats, Ranks, Reader, pieces, summed
from charrnn.scoring.pieces import Piece as ScoredPiece
from charrnn.scoring.predictor import Predictor, together
from charrnn.scoring.score import Score
from charrnn.vocabulary import Codes, Ids

FIRST: Final = 16  # samples of the first pieces, so that somebody sees them soon
MOST_TEXTS: Final = 1 << 14
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
            size = min(4 * size, MOST_TEXTS)
        for sample in found.samples():
            yield sample
            in_vain = 0 if sample is not None else in_vain + 1
            if in_vain == IN_VAIN:
                return


WORK: Final = 1 << 33  # products between two looks at whether the result is still wanted
FEWEST: Final = 1 << 12  # symbols between them
MOST: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class ScoringJob:
    """Who reads, and what is to be known of it: goes to each worker once."""

    models: tuple[Model, ...]  # slim
    use: str | None = None
    mixed: bool = False  # whether the mean of them all reads, too, and first
    fast: bool = False
    ranking: bool = False
    detailed: bool = False  # what each symbol costs, and not the sums alone
    key: str = field(default_factory=lambda: uuid4().hex)

    def predictors(self) -> list[Predictor]:
        """Those that read."""
        each = [model.predictor(self.use) for model in self.models]
        return [together(each), *each] if self.mixed else each

    def readers(self) -> list[Reader]:
        """They, ready to read."""
        return [scorer_of(one, ranking=self.ranking, fast=self.fast) for one in self.predictors()]

    @property
    def look(self) -> int:
        """How many symbols are read between two looks."""
        size = sum(
            one.parameters.architecture.parameter_count
            for model in self.models
            for one in (model.language_model, *model.trained.others)
        )
        return max(FEWEST, min(MOST, WORK // size))


@dataclass(frozen=True, eq=False)
class TextPiece:
    """Some whole examples, and what they are called."""

    codes: Codes
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Costs:
    """What each symbol of a piece cost."""

    ids: Ids
    nats: Floats
    ranks: Ranks | None
    parts: Mapping[str, Floats]


def score_piece(piece: TextPiece, job: ScoringJob) -> list[Costs | dict[str, Score]]:
    """What each reader makes of a piece: the work of a worker."""
    readers = prepared(job.key, job.readers)
    return [read(reader, piece.codes, job) for reader in readers]


def read(reader: Reader, codes: Codes, job: ScoringJob) -> Costs | dict[str, Score]:
    """What one of them makes of it."""
    found = list(pieces(reader, looked_at(codes, job.look), 1))
    if job.detailed:
        return Costs(
            np.concatenate([one.ids for one in found]),
            np.concatenate([one.nats for one in found]),
            np.concatenate([one.ranks for one in found if one.ranks is not None])
            if job.ranking
            else None,
            {name: np.concatenate([one.parts[name] for one in found]) for name in found[0].parts},
        )
    sums = {"": sum((one.score() for one in found), Score())}
    for name in found[0].parts:
        sums[name] = sum((one.of(name).score() for one in found), Score())
    return sums


def looked_at(codes: Codes, size: int) -> Iterator[Codes]:
    """The same in blocks, as long as anybody wants it."""
    for at in range(0, len(codes), size):
        check_wanted()
        yield codes[at : at + size]


def scored(
    cluster: Cluster, job: ScoringJob, text: Iterable[TextPiece]
) -> Iterator[Sequence[ScoredPiece]]:
    """The pieces of a text in their order, each as every reader of the job has it."""
    sent: deque[Codes] = deque()

    def kept() -> Iterator[TextPiece]:
        for piece in text:
            sent.append(piece.codes)
            yield piece

    for found in cluster.ordered(score_piece, kept(), cluster.share(job)):
        codes = sent.popleft()
        yield [
            ScoredPiece(codes, one.ids, one.nats, one.ranks, one.parts)
            if isinstance(one, Costs)
            else summed(codes, one)
            for one in found
        ]
