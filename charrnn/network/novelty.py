"""Room for the characters that were never seen, in what a network says of those that were.

With the chance ``novelty``, estimated from how many characters the corpus shows just once, the next
character is one of those never seen, each as likely as the other; with the rest of the chance it is
what the network says. So a model is a distribution over all texts there are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from charrnn.network.language_model import LanguageModel
from charrnn.network.rounding import Array64, in_units
from charrnn.vocabulary import END, UNKNOWN, Ids


def add_novelty(
    model: LanguageModel, ids: Ids, nats: Array64, ranks: NDArray[np.integer] | None
) -> None:
    """Make room for characters never seen in what the network says, and price those that came.

    Such a character ranks behind all that are known. What comes out is in whole units. Where the
    end is known beforehand, nothing new could have come in its place.
    """
    vocabulary = model.vocabulary
    novelty = vocabulary.novelty
    is_known = ids == END if model.architecture.head.lengths is not None else False
    nats -= np.where(is_known, 0.0, math.log1p(-novelty))
    unknown = ids == UNKNOWN
    if unknown.any():
        expected = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], expected)
        if ranks is not None:
            ranks[unknown] = vocabulary.symbols
    nats[...] = in_units(nats)
