"""A text scored by workers: to each a piece of it, and the sums come back, or every symbol's cost.

A score is the same to the last bit, whoever computes it and in whatever pieces. So the results are
those of one process, and only the order has to be kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import numpy as np

from charrnn.cluster.pool import Cluster
from charrnn.cluster.task import check_wanted
from charrnn.cluster.worker_cache import prepared
from charrnn.model import Model
from charrnn.prediction.predictor import Predictor, together
from charrnn.scoring.mixed_scorer import scorer_of
from charrnn.scoring.pieces import Floats, Piece, Ranks, Reader, pieces, summed
from charrnn.scoring.score import Score
from charrnn.vocabulary import Codes, Ids

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
) -> Iterator[Sequence[Piece]]:
    """The pieces of a text in their order, each as every reader of the job has it."""
    sent: deque[Codes] = deque()

    def kept() -> Iterator[TextPiece]:
        for piece in text:
            sent.append(piece.codes)
            yield piece

    for found in cluster.ordered(score_piece, kept(), cluster.share(job)):
        codes = sent.popleft()
        yield [
            Piece(codes, one.ids, one.nats, one.ranks, one.parts)
            if isinstance(one, Costs)
            else summed(codes, one)
            for one in found
        ]
