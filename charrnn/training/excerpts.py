"""Excerpts that are scored at a check-up.

Excerpts of several texts are scored side by side, because many lanes are faster than a few. They
come in as many portions as a batch has shards, so that each process scores some. One may be empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.prediction.losses import Score, tally
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import score_ids
from charrnn.text.corpus import Examples
from charrnn.text.vocabulary import END, Ids, Vocabulary

STRETCHES = 16  # taken from texts that are few and long, because some may be easier
SHORTEST = 1 << 8  # symbols of a stretch
EXCERPT_WARM_UP = 1 << 5  # symbols of a stretch, and of a lane, that do not count
CHECKUP_LANE = 1 << 8  # symbols counted in a lane of a check-up

Counted = NDArray[np.bool_]  # whether a symbol counts
Portion = Sequence[tuple[Ids, Counted]]  # of each text


def excerpt_of(examples: Examples, most: int) -> tuple[Examples, Counted]:
    """Return evenly spaced examples with about that many symbols, or stretches of long ones.

    The second array tells which symbols count.
    """
    total = len(examples.ids)
    if total <= most:
        return examples, np.ones(total, np.bool_)
    stride = -(-total // most)  # rounded up
    if len(examples) >= STRETCHES * stride:
        ids = np.concatenate([examples.nth(i) for i in range(0, len(examples), stride)])
        return Examples(ids), np.ones(len(ids), np.bool_)
    length = min(most, max(SHORTEST, most // STRETCHES))
    places = np.linspace(0, total - length, most // length, dtype=np.int64)
    ids = examples.ids[places[:, None] + np.arange(length)].ravel()
    # The stretches lie end to end, and a state goes on into the next, whose context was not read.
    is_counted = np.tile(np.arange(length) >= EXCERPT_WARM_UP, len(places))
    is_counted[:length] = True  # the first has its context
    return Examples(ids), is_counted


def portions_of(texts: Sequence[Examples], most: Sequence[int], shards: int) -> list[Portion]:
    """Return excerpts of these texts, with about so many symbols of each, in portions."""
    divided = [
        divide(*excerpt_of(text, size), shards) for text, size in zip(texts, most, strict=True)
    ]
    return list(zip(*divided, strict=True))


def divide(excerpt: Examples, is_counted: Counted, shards: int) -> list[tuple[Ids, Counted]]:
    """Cut an excerpt into shards of about one size, where an example or a stretch is_start.

    Some shards may be empty.
    """
    ids = excerpt.ids
    is_stretch_start = is_counted[:-1] & ~is_counted[1:]  # with a warm-up that does not count
    is_start = (ids[:-1] == END) | is_stretch_start
    starts = np.append(np.flatnonzero(is_start) + 1, len(ids))
    cuts = starts[np.searchsorted(starts, len(ids) * np.arange(1, shards) // shards)]
    return list(zip(np.split(ids, cuts), np.split(is_counted, cuts), strict=True))


@np.errstate(all="ignore")  # overflow shows in the loss
def score_portion(vocabulary: Vocabulary, p: Parameters, portion: Portion) -> list[Score]:
    """Return the score of each text, in float32."""
    # An END after each, or a text would go on into the next.
    ids = np.concatenate([np.append(ids, ids.dtype.type(END)) for ids, _ in portion])
    predictor = Predictor([LanguageModel(p, vocabulary)], dtype=np.float32)
    nats, _ = score_ids(predictor, ids, stretch=CHECKUP_LANE, warm_up=EXCERPT_WARM_UP)
    scores, first = list[Score](), 0
    for ids, is_counted in portion:
        of_text = nats["network"][first : first + len(ids)]
        scores.append(tally(ids[is_counted], of_text[is_counted]))
        first += len(ids) + 1
    return scores
