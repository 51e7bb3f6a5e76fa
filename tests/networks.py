"""Networks for tests: by hand, with known output and probabilities; and with random weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from charrnn.checkpoint import Trained
from charrnn.model import Model
from charrnn.network import Array64, Integers
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters, initial
from charrnn.predictor import Predictor
from charrnn.runs import fit, train
from charrnn.score import Score, score_of
from charrnn.scorer import score_group, score_ids
from charrnn.settings import TrainConfig
from charrnn.vocabulary import Ids, Vocabulary

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


# With random weights

# Each cell, head, number of layers and number of units appears at least twice.
MODELS: Sequence[dict[str, Any]] = [
    {"cell": "tanh", "ends": "symbol", "layers": 1, "hidden": 64},
    {"cell": "tanh", "ends": "halt", "layers": 3, "hidden": 5},
    {"cell": "gru", "ends": "symbol", "layers": 2, "hidden": 5},
    {"cell": "gru", "ends": "halt", "layers": 1, "hidden": 1},
    {"cell": "lstm", "ends": "symbol", "layers": 2, "hidden": 64},
    {"cell": "lstm", "ends": "halt", "layers": 1, "hidden": 5},
]
IDS = ["-".join(map(str, model.values())) for model in MODELS]
FEW = 60  # symbols; states move to the coarser grid only later
CHARACTERS = "abcé€😀"


def model_of(text: str = CHARACTERS, *, seed: int = 0, scale: float = 1.0, **size: Any) -> Model:
    """Return a model with random weights for the characters of a text."""
    run = train([text], TrainConfig(batch=1, bptt=8, **size), holdout=0.0)
    p = run.checkpoint.state.parameters
    rng = np.random.default_rng(seed)
    p.flat[...] = scale * rng.standard_normal(p.flat.shape)
    for name in p:
        if p[name].ndim == 2 and name != "U1":
            p[name][...] *= p.architecture.hidden**-0.5
    p["c"][0] -= 1  # END is less likely, so texts are longer
    return run.model


def random_ids(model: Model, length: int, seed: int = 0) -> Integers:
    """Return END and then random symbols other than END."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, model.vocabulary.symbols, length + 1)
    ids[0] = 0
    return ids


TINY = TrainConfig(hidden=4, layers=1, epochs=1, batch=2, bptt=8)
VOCABULARY = Vocabulary("".join(sorted("\nabcdefgh é<\U0001f600\U0010ffff")), 0.01)


@cache
def small() -> Trained:
    """Return a model trained for a few steps."""
    return fit(["anna", "bob", "clara", "dora"], TINY, holdout=0.0).trained


def holding(model: LanguageModel) -> Trained:
    """Return a checkpoint that holds this model."""
    size = model.architecture
    named: dict[str, Any] = {"cell": size.cell_name, "ends": size.head_name}
    config = replace(small().config, hidden=size.hidden, layers=size.layers, **named)
    return replace(small(), model=model, config=config)


def lively(
    cell: str = "tanh",
    head: str = "symbol",
    layers: int = 1,
    hidden: int = 4,
    vocabulary: Vocabulary = VOCABULARY,
) -> LanguageModel:
    """Return a network with large random weights, whose output varies strongly."""
    architecture = Architecture(vocabulary.symbols, hidden, layers, cell, head)
    even = np.full(vocabulary.symbols, -np.log(vocabulary.symbols))
    p = initial(architecture, even, np.random.default_rng(hidden + layers))
    p.flat[...] *= 1.5
    p["V"][...] *= 6
    return LanguageModel(p, vocabulary)


# Their scores


def nats_of(model: LanguageModel, ids: Ids) -> Array64:
    """Return the surprisal of each symbol."""
    return score_ids(Predictor([model]), ids)[0]["network"]


def score_texts(model: LanguageModel, texts: Sequence[str]) -> Score:
    """Return the sums over texts that are an example each."""
    return score_of(score_group(Predictor([model]), texts))
