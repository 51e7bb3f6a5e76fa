"""A model for torch: its numbers under the names of torch's own layers, in a safetensors file.

    rnn   torch.nn.RNN, GRU or LSTM (symbols, hidden, layers), which read one-hot symbols
    out   torch.nn.Linear (hidden, symbols)
    halt  torch.nn.Linear (hidden, 1) where the end is a unit of its own, sigmoid of which ends a
          text; then out has a row less, for it has none for END

so that ``load_state_dict`` finds every name that it looks for, and no other. Gates stand as in
torch: r z n, and i f g o. What torch has a second bias for is zero but for the d of a GRU.

    8 bytes     how long the header is
    header      JSON, filled up with spaces: type, shape and place of each array; what else to know
    numbers     float32, one array after the other

The numbers are the model's own, on no grid, and torch has floats of 32 bits: what comes out are the
same probabilities but for some 1e-6, and not the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from charrnn.export.encoding import check_known
from charrnn.model_file.checkpoint import Trained
from charrnn.network.parameters import Array, Parameters
from charrnn.settings.using import ExportOptions
from charrnn.vocabulary import END, UNKNOWN

CELLS = {"tanh": "RNN", "gru": "GRU", "lstm": "LSTM"}  # as torch and ONNX call them
HEADS = ("symbol", "halt")


def exported(trained: Trained, options: ExportOptions) -> bytes:
    """The whole file."""
    check_known(trained.model.architecture, "a safetensors file", CELLS, HEADS)
    return dumped(named_for_torch(trained.model.parameters), described(trained))


def named_for_torch(p: Parameters) -> dict[str, Array]:
    """Each array under the name that torch has for it, laid out as torch has it."""
    arrays: dict[str, Array] = {}
    for layer in range(1, p.architecture.layers + 1):
        U, b = p[f"U{layer}"], p[f"b{layer}"]
        second = np.zeros_like(b)
        if f"d{layer}" in p:
            second[-len(p[f"d{layer}"]) :] = p[f"d{layer}"]
        arrays |= {
            f"rnn.weight_ih_l{layer - 1}": U.T if layer == 1 else U,
            f"rnn.weight_hh_l{layer - 1}": p[f"W{layer}"],
            f"rnn.bias_ih_l{layer - 1}": b,
            f"rnn.bias_hh_l{layer - 1}": second,
        }
    V, c = p["V"], p["c"]
    if p.architecture.head_name == "halt":
        arrays |= {"halt.weight": V[END : END + 1], "halt.bias": c[END : END + 1]}
        V, c = V[END + 1 :], c[END + 1 :]
    return arrays | {"out.weight": V, "out.bias": c}


def described(trained: Trained) -> dict[str, str]:
    """What to know beside the numbers, as JSON under one name; nothing of the corpus."""
    model, corpus = trained.model, trained.corpus
    architecture = model.architecture
    known = {
        "schema": "charrnn.export/1",
        "cell": architecture.cell_name,
        "ends": architecture.head_name,
        "hidden": architecture.hidden,
        "layers": architecture.layers,
        **asdict(model.vocabulary),  # characters and novelty
        "end": END,
        "unknown": UNKNOWN,
        "first_id": UNKNOWN + 1,  # of the characters
        "newlines": corpus.newlines,
        "normalize": corpus.normalize,
        "carry": model.carry,
    }
    return {"charrnn": json.dumps(known, ensure_ascii=False)}


def dumped(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The file of these arrays."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt", **metadata}}
    numbers: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        data = array.astype("<f4").tobytes()
        places = [at, at + len(data)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": places}
        numbers.append(data)
        at += len(data)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(numbers)
