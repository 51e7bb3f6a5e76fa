"""How like its corpus is what a network writes: the nats that a model which counts gives it.

The Markov model of five characters has learned from the same corpus. What is held out costs it so
much; what the network draws may cost more, where it errs further with every error that it reads,
or less, where it writes only what is usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from charrnn.corpus.corpus import Corpus
from charrnn.counts.markov import surprisals
from charrnn.network.language_model import LanguageModel
from charrnn.prediction.predictor import Predictor
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.vocabulary import END, Ids

CONTEXT: Final = 5  # characters
NAME: Final = f"markov-{CONTEXT}"
SEED: Final = 0  # the same texts each time


@dataclass(frozen=True)
class DrawnTexts:
    """What was drawn, beside what is held out. The nats are those of the Markov model."""

    texts: int
    characters: int
    nats_per_character: float  # of a character that was drawn, ends counted
    held_out: float  # likewise, of what the model has not learned from


def drawn_texts(
    model: LanguageModel | Predictor, corpus: Corpus, count: int, workers: int = 1
) -> DrawnTexts | None:
    """So many texts, as the Markov model sees them; nothing where nothing is held out."""
    held_out = corpus.held_out.ids
    if not len(held_out):
        return None
    sampler = Sampler(model, SampleConfig(seed=SEED), workers=workers)
    texts = [sample.text for sample in sampler.samples(range(count))]
    ids = [np.append(model.vocabulary.encode(text), END) for text in texts]
    found = costs(corpus, held_out), costs(corpus, np.concatenate(ids).astype(held_out.dtype))
    best = int(np.argmin(found[0]))  # smoothed in the way that suits what is held out
    return DrawnTexts(count, sum(map(len, texts)), found[1][best], found[0][best])


def costs(corpus: Corpus, ids: Ids) -> tuple[float, float]:
    """The mean nats of these symbols by the Markov model, smoothed one way and the other."""
    *_, last = surprisals(corpus.train.ids, ids, corpus.vocabulary.symbols, CONTEXT + 1)
    return float(last.kneser_ney.mean()), float(last.witten_bell.mean())
