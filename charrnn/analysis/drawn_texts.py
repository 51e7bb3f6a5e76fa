"""How like its corpus is what a network writes: the nats that a model which counts gives it.

The Markov model of five characters has learned from the same corpus. What is held out costs it so
much; what the network draws may cost more, where it errs further with every error that it reads,
or less, where it writes only what is usual.
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
SEED: Final = 0  # the same texts each time


@dataclass(frozen=True)
class DrawnTexts:
    """What was drawn, beside what is held out. The nats are those of the Markov model."""

    texts: int
    characters: int
    nats_per_character: float  # of a character that was drawn, ends counted where they were
    held_out: float  # likewise, of what the model has not learned from


def drawn_texts(
    model: LanguageModel | Predictor, corpus: Corpus, count: int, workers: int = 1
) -> DrawnTexts | None:
    """So many texts, as the Markov model sees them; nothing where nothing is held out."""
    held_out = corpus.held_out.ids
    if not len(held_out):
        return None
    sampler = Sampler(model, SampleConfig(seed=SEED), workers=workers)
    samples = list(sampler.samples(range(count)))
    ids = [np.append(model.vocabulary.encode(one.text), END) for one in samples]
    # What was cut off did not say its END, which is there only for the next to begin after one.
    drawn = [np.append(np.ones(len(one.text), bool), one.ended == "end") for one in samples]
    most = slice(BUDGET.held_out)  # as of what is held out; one sample is as good as another
    found = (
        costs(corpus, held_out),
        costs(
            corpus, np.concatenate(ids).astype(held_out.dtype)[most], np.concatenate(drawn)[most]
        ),
    )
    best = int(np.argmin(found[0]))  # smoothed in the way that suits what is held out
    characters = sum(len(one.text) for one in samples)
    return DrawnTexts(count, characters, found[1][best], found[0][best])


def costs(
    corpus: Corpus, ids: Ids, counted: NDArray[np.bool_] | None = None
) -> tuple[float, float]:
    """The mean nats of these symbols by the Markov model, smoothed one way and the other."""
    *_, last = surprisals(corpus.train.ids, ids, corpus.vocabulary.symbols, CONTEXT + 1)
    every = ... if counted is None else counted
    return float(last.kneser_ney[every].mean()), float(last.witten_bell[every].mean())
