"""A model as an ONNX graph: it is one by the book, and a runtime computes what the model does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from charrnn.errors import MissingPackageError
from charrnn.export import ExportOptions, export
from charrnn.model import Model
from charrnn.network.rounding import Array, Integers
from tests.exporting import FEW, IDS, MODELS, model_of, random_ids
from tests.extras import without

Feeds = dict[str, np.ndarray[Any, Any]]


def graph(model: Model) -> bytes:
    return export(model.trained, "onnx", ExportOptions())


class Runtime:
    """The graph of a model at work."""

    def __init__(self, model: Model) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(graph(model), options, providers=providers)
        self.shape = model.parameters.architecture.layers, model.parameters.architecture.hidden

    def zeros(self, lanes: int = 1) -> Feeds:
        layers, hidden = self.shape
        names = [one.name for one in self.session.get_inputs()][1:]
        return {name: np.zeros((layers, lanes, hidden), np.float32) for name in names}

    def __call__(self, ids: Integers, states: Feeds) -> tuple[Array, Feeds]:
        logits, *after = self.session.run(None, {"ids": ids, **states})
        return logits, dict(zip(states, after, strict=True))


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_a_runtime_computes_the_logits_of_the_model(size: dict[str, Any]) -> None:
    model = model_of(**size)
    ids = random_ids(model, FEW)
    run, expected = Runtime(model), model.logits(ids)
    whole, after = run(ids[:, None], run.zeros())
    np.testing.assert_allclose(whole[:, 0], expected, atol=1e-4)
    states, steps = run.zeros(), []
    for symbol in ids:
        logits, states = run(np.array([[symbol]]), states)
        steps.append(logits[0, 0])
    np.testing.assert_allclose(steps, expected, atol=1e-4)
    for name in states:
        np.testing.assert_allclose(states[name], after[name], atol=1e-4)


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_texts_beside_each_other_do_not_know_of_each_other(size: dict[str, Any]) -> None:
    model = model_of(**size)
    one, other = random_ids(model, FEW), random_ids(model, FEW, seed=1)
    run = Runtime(model)
    logits, _ = run(np.stack([one, other], 1), run.zeros(2))
    np.testing.assert_allclose(logits[:, 0], model.logits(one), atol=1e-4)
    np.testing.assert_allclose(logits[:, 1], model.logits(other), atol=1e-4)


@pytest.mark.parametrize("size", MODELS, ids=IDS)
def test_it_is_a_graph_that_old_runtimes_read_too(size: dict[str, Any]) -> None:
    found = onnx.load_model_from_string(graph(model_of(**size)))
    onnx.checker.check_model(found, full_check=True)
    assert (found.ir_version, [one.version for one in found.opset_import]) == (8, [17])
    assert {node.op_type for node in found.graph.node} & {"RNN", "GRU", "LSTM"}


def test_it_says_which_characters_it_speaks_of_and_nothing_of_the_corpus() -> None:
    model = model_of(layers=1, hidden=2)
    found = onnx.load_model_from_string(graph(model))
    (known,) = found.metadata_props
    assert known.key == "charrnn"
    assert json.loads(known.value)["characters"] == model.vocabulary.characters
    assert graph(model) == graph(model)
    assert model.corpus.fingerprint.encode() not in graph(model)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnx")
    with pytest.raises(MissingPackageError, match="onnx is not installed") as missing:
        graph(model_of(layers=1, hidden=2))
    assert missing.value.hint == "pip install onnx"
