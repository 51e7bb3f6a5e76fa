"""A model for torch: every number under torch's names, and torch's equations give its logits."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from charrnn.export.write import ExportOptions, export
from charrnn.model import Model
from charrnn.network.arrays import Array
from charrnn.text.vocabulary import END
from tests.networks import FEW, IDS, LABELS, MODELS, model_of, random_ids
from tests.plain import next_state

PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer


def safetensors(model: Model) -> bytes:
    return export(model.trained, ".safetensors", ExportOptions())


def metadata(data: bytes) -> dict[str, Any]:
    """What stands in the header beside the arrays."""
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    known: dict[str, Any] = json.loads(data[8 : 8 + length])["__metadata__"]
    assert known["format"] == "pt"
    return known


def layer_of_torch(cell: str, p: Mapping[str, Array], layer: int, x: Array) -> Array:
    """The outputs of a layer, (T, H). Torch has these equations, and this order of the gates."""
    U, W, b, d = (p[f"rnn.{part}_l{layer}"].astype(np.float64) for part in PARTS)
    hidden = W.shape[1]
    state, outputs = [np.zeros(hidden)] * 2, list[Array]()
    for row in x:
        below, before = (a.reshape(-1, hidden) for a in (U @ row + b, W @ state[0] + d))
        state = next_state(cell, below, before, state, 0)
        outputs.append(state[0])
    return np.array(outputs)


@pytest.mark.parametrize("size", MODELS, ids=IDS)
@pytest.mark.parametrize("kinds", [None, LABELS])
def test_torch_would_give_the_logits(size: dict[str, Any], kinds: list[str] | None) -> None:
    model = model_of(**size, labels=kinds)
    data, ids, symbols = safetensors(model), random_ids(model, FEW), model.vocabulary.symbols
    p, labels = load(data), json.loads(metadata(data)["charrnn"]).get("labels", [])
    assert labels == model.labels == sorted({*(kinds or ())})
    kept = np.concatenate([array.ravel() for array in p.values()])
    assert sorted(kept[kept != 0]) == sorted(model.parameters.flat)
    parts = [f"rnn.{part}_l{layer}" for part in PARTS for layer in range(size["layers"])]
    ends = ["halt.weight", "halt.bias"] * (size["ends"] == "halt")
    assert p.keys() == {*parts, "out.weight", "out.bias", *ends}
    for place, label in enumerate(labels or [None]):  # their columns are the last
        h: Array = np.eye(symbols + len(labels))[[symbols + place if label else END, *ids[1:]]]
        for layer in range(size["layers"]):
            h = layer_of_torch(size["cell"], p, layer, h)
        o = h @ p["out.weight"].T + p["out.bias"]
        if size["ends"] == "halt":
            o -= np.logaddexp.reduce(o, 1)[:, None]
            o = np.concatenate([h @ p["halt.weight"].T + p["halt.bias"], o], 1)
        np.testing.assert_allclose(o, model.logits(ids, label=label), atol=1e-5)


def test_a_label_that_is_no_text_is_written() -> None:
    model = model_of(labels=["b", "\udcff"], layers=1, hidden=1)  # a file name that is not UTF-8
    assert json.loads(metadata(safetensors(model))["charrnn"])["labels"] == ["b", "\ufffd"]


def test_it_says_what_a_reader_needs_and_nothing_of_the_corpus() -> None:
    told: dict[str, Any] = {"cell": "gru", "ends": "halt", "layers": 2, "hidden": 3}
    model = model_of(**told)
    characters, novelty = model.vocabulary.characters, model.vocabulary.novelty
    told |= {"characters": characters, "novelty": novelty, "end": 0, "unknown": 1, "first_id": 2}
    told |= {"schema": "charrnn.export/3", "newlines": "translate", "normalize": "none"}
    assert json.loads(metadata(safetensors(model))["charrnn"]) == told
