"""A text to score that is shared out to workers, and how its pieces are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from charrnn.cluster.scoring import ScoringJob, TextPiece, scored
from charrnn.corpus.segmentation import END_CODE
from charrnn.model import Model
from charrnn.scoring.origins import Origins
from charrnn.scoring.splitting import whole_pieces
from charrnn.vocabulary import Codes

if TYPE_CHECKING:
    from charrnn.cli.eval import Options
    from charrnn.cluster.pool import Cluster
    from charrnn.scoring.pieces import Piece


def job_of(models: Sequence[Model], options: Options, *, mixed: bool) -> ScoringJob:
    """What the workers are told."""
    return ScoringJob(
        tuple(model.slim() for model in models),
        options.use,
        mixed,
        options.fast,
        ranking=options.per_char,
        detailed=options.shows_rows
        or options.baselines
        or options.above is not None
        or options.html is not None,
    )


def scored_by_workers(
    cluster: Cluster, job: ScoringJob, text: Iterable[Codes], places: Origins, files: Sequence[str]
) -> Iterator[Sequence[Piece]]:
    """The pieces of a text, as each reader has them."""
    return scored(cluster, job, named_pieces(text, places, files))


def named_pieces(
    text: Iterable[Codes], places: Origins, files: Sequence[str]
) -> Iterator[TextPiece]:
    """The pieces, each called by where it stands; no files: by the numbers of its examples."""
    for codes in whole_pieces(text):
        of, lines = places.take(int(np.count_nonzero(codes == END_CODE)))
        begins, ends = int(lines[0]), int(lines[-1])
        if not files:
            name = f"examples {begins:,} to {ends:,} of what was held out"
        elif of[0] == of[-1]:
            name = f"{files[int(of[0])]}, lines {begins:,} to {ends:,},"
        else:
            name = f"{files[int(of[0])]}, line {begins:,}, to {files[int(of[-1])]}, line {ends:,},"
        yield TextPiece(codes, name)
