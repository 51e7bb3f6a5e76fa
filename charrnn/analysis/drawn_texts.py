"""Compare drawn texts with the corpus: the loss of a Markov model on both.

Its loss on drawn texts is above that on held-out text if the network goes astray after its own
errors, and below it if the network writes only usual text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Corpus
from charrnn.counts.baselines import BUDGET, surprisals
from charrnn.network.parameters import LanguageModel
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.scoring.predictor import Predictor
from charrnn.vocabulary import END, Ids

CONTEXT: Final = 5  # characters
NAME: Final = f"markov-{CONTEXT}"


@dataclass(frozen=True)
class DrawnTexts:
    """The losses of the Markov model on drawn and on held-out text, in nats per character."""

    texts: int
    characters: int
    nats_per_character: float  # on drawn text, with the ENDs that were drawn
    held_out: float  # on held-out text


def drawn_texts(
    model: LanguageModel | Predictor, corpus: Corpus, count: int, workers: int = 1
) -> DrawnTexts | None:
    """Draw ``count`` texts and score them; return None if nothing is held out."""
    held_out = corpus.held_out.ids
    if not len(held_out):
        return None
    samples = list(Sampler(model, SampleConfig(seed=0), workers=workers).samples(range(count)))
    ids = [np.append(model.vocabulary.encode(one.text), END) for one in samples]
    # A sample that was cut off has no END; the one appended only separates it from the next.
    drawn = [np.append(np.ones(len(one.text), bool), one.ended == "end") for one in samples]
    most = BUDGET.held_out  # the limit for held-out text, too
    drawn_ids = np.concatenate(ids).astype(held_out.dtype)[:most]
    of_held_out = losses(corpus, held_out)
    of_drawn = losses(corpus, drawn_ids, np.concatenate(drawn)[:most])
    best = int(np.argmin(of_held_out))  # the smoothing that suits the held-out text
    characters = sum(len(one.text) for one in samples)
    return DrawnTexts(count, characters, of_drawn[best], of_held_out[best])


def losses(
    corpus: Corpus, ids: Ids, counted: NDArray[np.bool_] | None = None
) -> tuple[float, float]:
    """Return the mean nats of symbols with Kneser-Ney and with Witten-Bell smoothing."""
    *_, last = surprisals(corpus.train.ids, ids, corpus.vocabulary.symbols, CONTEXT + 1)
    every = ... if counted is None else counted
    return float(last.kneser_ney[every].mean()), float(last.witten_bell[every].mean())
