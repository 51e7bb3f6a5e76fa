"""Models made by hand, with known output and probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.runs import train
from charrnn.settings import TrainConfig
from charrnn.vocabulary import Vocabulary

END = ""  # as a key among characters
UNKNOWN = "?"

Odds = Mapping[str, float]  # the probability of each character, of END and of UNKNOWN


def vocabulary_of(characters: str, novelty: float = 0.01) -> Vocabulary:
    return Vocabulary("".join(sorted(set(characters))), novelty)


def log_odds(odds: Odds, characters: str) -> list[float]:
    chances = [odds.get(key, 0.0) for key in (END, UNKNOWN, *characters)]
    return [math.log(chance) if chance else -1000.0 for chance in chances]


def independent(odds: Odds) -> LanguageModel:
    """Return a model with zero weights and c = log p: all symbols are drawn independently."""
    vocabulary = vocabulary_of("".join(key for key in odds if key not in (END, UNKNOWN)))
    p = Parameters.zeros(Architecture(vocabulary.symbols, 3, 1))
    p["c"][...] = log_odds(odds, vocabulary.characters)
    return LanguageModel(p, vocabulary)


def markov(after: Mapping[str, Odds]) -> LanguageModel:
    """Return a bigram model: U = 20 I and W = 0, so V holds the odds after each symbol."""
    vocabulary = vocabulary_of("".join(after))
    p = Parameters.zeros(Architecture(vocabulary.symbols, vocabulary.symbols, 1))
    p["U1"][...] = 20 * np.eye(vocabulary.symbols)
    keys = (END, UNKNOWN, *vocabulary.characters)
    for column, key in enumerate(keys):
        p["V"][:, column] = log_odds(after.get(key, {END: 1.0}), vocabulary.characters)
    return LanguageModel(p, vocabulary)


def speller(word: str) -> LanguageModel:
    """Return a model that draws this word only; its letters must differ."""
    return markov({here: {there: 1.0} for here, there in pairwise([END, *word, END])})


def babbler(
    characters: str = "abcdefgh",
    hidden: int = 12,
    layers: int = 2,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
) -> LanguageModel:
    """Return a model with random weights, whose output depends on all characters before."""
    vocabulary = vocabulary_of(characters)
    p = Parameters.zeros(Architecture(vocabulary.symbols, hidden, layers), dtype)
    p.flat[...] = np.random.default_rng(seed).standard_normal(p.flat.shape)
    for name in p:
        if p[name].shape == (hidden, hidden):
            p[name][...] *= hidden**-0.5
    return LanguageModel(p, vocabulary)


def saved(speaker: LanguageModel, path: Path, examples_are: str = "lines", **corpus: Any) -> Path:
    """Save a model file, as if the model had been trained on examples of this kind."""
    p, vocabulary, size = speaker.parameters, speaker.vocabulary, speaker.architecture
    config = TrainConfig(hidden=size.hidden, layers=size.layers, batch=1, bptt=8)
    run = train([vocabulary.characters], config, holdout=0.0)
    checkpoint = run.checkpoint
    checkpoint.vocabulary = vocabulary
    checkpoint.corpus = replace(checkpoint.corpus, examples_are=examples_are, **corpus)
    checkpoint.state.parameters.flat[...] = p.flat
    run.save(path)
    return path
