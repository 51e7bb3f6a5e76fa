"""JavaScript, run by V8 (package mini-racer), and models for it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from py_mini_racer import MiniRacer

from charrnn.checkpoint import Trained
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, initial
from charrnn.runs import fit
from charrnn.settings import TrainConfig
from charrnn.vocabulary import Vocabulary

SMALL = TrainConfig(hidden=4, layers=1, epochs=1, batch=2, bptt=8)
VOCABULARY = Vocabulary("".join(sorted("\nabcdefgh é<\U0001f600\U0010ffff")), 0.01)


@cache
def small() -> Trained:
    """Return a model trained for a few steps."""
    return fit(["anna", "bob", "clara", "dora"], SMALL, holdout=0.0).trained


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


@cache
def engine() -> MiniRacer:
    """Return V8."""
    return MiniRacer()


def ask(expression: str) -> Any:
    """Return the value of a JavaScript expression."""
    return json.loads(str(engine().eval(f"JSON.stringify({expression})")))
