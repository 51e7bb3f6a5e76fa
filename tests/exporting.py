"""Models of every cell and head, with random weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from charrnn.model import Model
from charrnn.network import Integers
from charrnn.runs import train
from charrnn.settings import TrainConfig

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
