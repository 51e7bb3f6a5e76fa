"""What counting alone can do on a text, naming the characters that nobody has seen included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from charrnn.corpus import Corpus
from charrnn.markov import Baseline, baselines
from charrnn.vocabulary import UNKNOWN, Ids


def by_counting(corpus: Corpus, ids: Ids) -> Iterator[Baseline]:
    """Uniform, unigram and Markov models of what is learned from, asked for this text."""
    unknown = int(np.count_nonzero(ids == UNKNOWN))
    naming = unknown * corpus.vocabulary.unseen_nats / max(1, len(ids))
    for found in baselines(corpus.train.ids, ids, corpus.vocabulary.symbols):
        yield replace(found, nats_per_character=found.nats_per_character + naming)
