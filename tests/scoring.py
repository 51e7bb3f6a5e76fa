"""Scores by one scorer, for tests: of examples that are ids, and of texts."""

from __future__ import annotations

from collections.abc import Iterable

from charrnn.corpus import Examples
from charrnn.scoring.pieces import Floats, Scorer, score_blocks
from charrnn.scoring.score import Score, tally
from charrnn.scoring.streams import stream_of


def nats_of(scorer: Scorer, examples: Examples) -> Floats:
    """Return the surprisal of every symbol, read from the beginning."""
    scorer.begin()
    return scorer.read(examples.ids)[0]


def score_examples(scorer: Scorer, examples: Examples) -> Score:
    """Return the sums over these examples."""
    return tally(examples.ids, nats_of(scorer, examples))


def score_texts(scorer: Scorer, texts: Iterable[str]) -> Score:
    """Return the sums, with bytes, over texts that are an example each."""
    return sum((block.score() for block in score_blocks(scorer, stream_of(texts))), Score())
