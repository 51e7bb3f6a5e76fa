"""Scores of networks, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from charrnn.network import Array64
from charrnn.network.parameters import LanguageModel
from charrnn.predictor import Predictor
from charrnn.score import Score, score_of
from charrnn.scorer import score_group, score_ids
from charrnn.vocabulary import Ids


def nats_of(model: LanguageModel, ids: Ids) -> Array64:
    """Return the surprisal of each symbol."""
    return score_ids(Predictor([model]), ids)[0]["network"]


def score_texts(model: LanguageModel, texts: Sequence[str]) -> Score:
    """Return the sums over texts that are an example each."""
    return score_of(score_group(Predictor([model]), texts))
