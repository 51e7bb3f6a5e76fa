"""A model for torch: every number under torch's names, and torch's equations give its logits."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load

from charrnn.export.write import ExportOptions, export
from charrnn.model import Model
from charrnn.network.arrays import Array
from tests.networks import FEW, IDS, LABELS, MODELS, model_of, random_ids

LAYERS = {"tanh": "RNN", "gru": "GRU", "lstm": "LSTM"}


def safetensors(model: Model) -> bytes:
    return export(model.trained, ".safetensors", ExportOptions())


def metadata(data: bytes) -> dict[str, Any]:
    """What stands in the header beside the arrays."""
    length = int.from_bytes(data[:8], "little")
    known: dict[str, Any] = json.loads(data[8 : 8 + length])["__metadata__"]
    return known


def sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def layer_of_torch(cell: str, p: Mapping[str, Array], layer: int, x: Array) -> Array:
    """The outputs of a layer, (T, H), by the equations in torch's documentation."""
    U, W, b, d = (
        p[f"rnn.{name}_l{layer}"].astype(np.float64)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = c = np.zeros(W.shape[1])
    outputs = []
    for row in x:
        below, before = U @ row + b, W @ h + d
        if cell == "tanh":
            h = np.tanh(below + before)
        elif cell == "gru":
            (xr, xz, xn), (hr, hz, hn) = np.split(below, 3), np.split(before, 3)
            r, z = sigmoid(xr + hr), sigmoid(xz + hz)
            n = np.tanh(xn + r * hn)
            h = (1 - z) * n + z * h
        else:
            i, f, g, o = np.split(below + before, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs)


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_it_has_all_numbers_and_torch_would_give_the_logits(size: dict[str, Any]) -> None:
    model = model_of(**size)
    p, ids = load(safetensors(model)), random_ids(model, FEW)
    kept = np.concatenate([array.ravel() for array in p.values()])
    assert sorted(kept[kept != 0]) == sorted(model.parameters.flat)
    h: Array = np.eye(model.vocabulary.symbols)[ids]
    for layer in range(size["layers"]):
        h = layer_of_torch(size["cell"], p, layer, h)
    o = h @ p["out.weight"].T + p["out.bias"]
    if size["ends"] == "halt":
        o -= np.logaddexp.reduce(o, 1)[:, None]
        o = np.concatenate([h @ p["halt.weight"].T + p["halt.bias"], o], 1)
    np.testing.assert_allclose(o, model.logits(ids), atol=1e-5)


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_torch_loads_it_strictly_and_computes_the_same(size: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    model = model_of(**size)
    symbols, hidden, halts = model.vocabulary.symbols, size["hidden"], size["ends"] == "halt"
    net = torch.nn.Module()
    net.rnn = getattr(torch.nn, LAYERS[size["cell"]])(symbols, hidden, size["layers"])
    net.out = torch.nn.Linear(hidden, symbols - halts)
    if halts:
        net.halt = torch.nn.Linear(hidden, 1)
    arrays = load(safetensors(model))
    net.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()}, strict=True)
    ids = random_ids(model, FEW)
    with torch.no_grad():
        h, _ = net.rnn(torch.nn.functional.one_hot(torch.tensor(ids), symbols).float())
        o = net.out(h)
        if halts:
            o = torch.cat([net.halt(h), o.log_softmax(-1)], -1)
    expected = torch.tensor(model.logits(ids)).log_softmax(-1)
    torch.testing.assert_close(o.double().log_softmax(-1), expected, atol=1e-5, rtol=0)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_it_says_which_characters_it_speaks_of(text: str) -> None:
    model = model_of(text, layers=1, hidden=1)
    data = safetensors(model)
    assert int.from_bytes(data[:8], "little") % 8 == 0
    known = metadata(data)
    assert known["format"] == "pt"
    assert json.loads(known["charrnn"])["characters"] == model.vocabulary.characters


def test_labels_are_the_last_columns_of_the_input() -> None:
    model = model_of(cell="gru", layers=2, hidden=5, labels=LABELS)
    data, symbols = safetensors(model), model.vocabulary.symbols
    p, labels = load(data), json.loads(metadata(data)["charrnn"])["labels"]
    assert labels == model.labels == sorted({*LABELS})
    assert p["rnn.weight_ih_l0"].shape == (15, symbols + len(labels))
    assert p["out.weight"].shape == (symbols, 5)
    for place, label in enumerate(labels):
        ids = random_ids(model, FEW)
        h: Array = np.eye(symbols + len(labels))[[symbols + place, *ids[1:]]]
        for layer in range(2):
            h = layer_of_torch("gru", p, layer, h)
        o = h @ p["out.weight"].T + p["out.bias"]
        np.testing.assert_allclose(o, model.logits(ids, label=label), atol=1e-5)


def test_it_says_what_a_reader_needs_and_nothing_of_the_corpus() -> None:
    model = model_of(cell="gru", ends="halt", layers=2, hidden=3)
    assert json.loads(metadata(safetensors(model))["charrnn"]) == {
        "schema": "charrnn.export/3",
        "cell": "gru",
        "ends": "halt",
        "hidden": 3,
        "layers": 2,
        "characters": model.vocabulary.characters,
        "novelty": model.vocabulary.novelty,
        "end": 0,
        "unknown": 1,
        "first_id": 2,
        "newlines": "translate",
        "normalize": "none",
    }
