"""Excerpts that are scored at a check-up.

Excerpts of several texts are scored side by side, because many lanes are faster than a few. They
come in as many portions as a batch has shards, so that each process scores some. One may be empty.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.prediction.losses import Score, tally
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import score_ids
from charrnn.text.corpus import Examples
from charrnn.text.examples import WARM_UP, excerpt_of
from charrnn.text.vocabulary import END, Ids, Vocabulary

CHECKUP_LANE = 1 << 8  # symbols counted in a lane of a check-up

Counted = NDArray[np.bool_]  # whether a symbol counts
Piece = tuple[Ids, Counted, Ids | None]  # symbols, and the label of the example of each
Portion = Sequence[Piece]  # of each text


def portions_of(texts: Sequence[Examples], most: Sequence[int], shards: int) -> list[Portion]:
    """Return excerpts of these texts, with about so many symbols of each, in portions."""
    divided = []
    for text, size in zip(texts, most, strict=True):
        places, is_counted = excerpt_of(text.ids, size)
        divided.append(divide(text.ids[places], is_counted, shards, text.labels_at(places)))
    return list(zip(*divided, strict=True))


def divide(ids: Ids, is_counted: Counted, portions: int, labels: Ids | None = None) -> list[Piece]:
    """Divide an excerpt into portions of about one size, where an example or a piece begins.

    Some portions may be empty.
    """
    is_piece_start = is_counted[:-1] & ~is_counted[1:]  # with a warm-up that does not count
    starts = np.append(np.flatnonzero((ids[:-1] == END) | is_piece_start) + 1, len(ids))
    cuts = starts[np.searchsorted(starts, len(ids) * np.arange(1, portions) // portions)]
    by_portion = [None] * portions if labels is None else np.split(labels, cuts)
    return list(zip(np.split(ids, cuts), np.split(is_counted, cuts), by_portion, strict=True))


@np.errstate(all="ignore")  # overflow shows in the loss
def score_portion(vocabulary: Vocabulary, p: Parameters, portion: Portion) -> list[Score]:
    """Return the score of each text, in float32."""
    # An END after each, or a text would go on into the next.
    ids = np.concatenate([np.append(ids, ids.dtype.type(END)) for ids, _, _ in portion])
    of_pieces = [of_piece for *_, of_piece in portion if of_piece is not None]
    with_end = [np.append(labels, labels[-1] if len(labels) else END) for labels in of_pieces]
    labels = np.concatenate(with_end) if with_end else None
    predictor = Predictor([LanguageModel(p, vocabulary)], dtype=np.float32)
    nats, _ = score_ids(predictor, ids, labels, stretch=CHECKUP_LANE, warm_up=WARM_UP)
    scores, first = list[Score](), 0
    for ids, is_counted, _ in portion:
        of_text = nats["network"][first : first + len(ids)]
        scores.append(tally(ids[is_counted], of_text[is_counted]))
        first += len(ids) + 1
    return scores
