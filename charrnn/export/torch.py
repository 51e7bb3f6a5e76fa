"""A model for torch: a safetensors file, whose names are exactly those of the state dicts.

rnn   torch.nn.RNN, GRU or LSTM (symbols, hidden, layers), with one-hot symbols as input
out   torch.nn.Linear (hidden, symbols); without END if halt gives its probability
halt  torch.nn.Linear (hidden, 1), the logit of the end, if the end is a unit of its own
"""

import json
from typing import Any

import numpy as np

from charrnn.files.model_contents import Trained
from charrnn.network.arrays import Array
from charrnn.network.parameters import Parameters
from charrnn.system.visible import encodable
from charrnn.text.vocabulary import END, UNKNOWN


def export(trained: Trained) -> bytes:
    """Return the file: the size of its header, the header (no facts of the corpus), the numbers."""
    architecture, vocabulary = trained.model.architecture, trained.model.vocabulary
    facts: dict[str, object] = {
        "schema": "charrnn.export/3",
        "cell": architecture.cell_name,
        "ends": architecture.head_name,
        "hidden": architecture.hidden,
        "layers": architecture.layers,
        "characters": vocabulary.characters,
        "novelty": vocabulary.novelty,
        **({"labels": [*map(encodable, vocabulary.labels)]} if vocabulary.labels else {}),
        "end": END,
        "unknown": UNKNOWN,
        "first_id": UNKNOWN + 1,  # of the characters
        "newlines": "translate",
        "normalize": trained.corpus.reading.normalize,
    }
    about = {"format": "pt", "charrnn": json.dumps(facts, ensure_ascii=False)}
    header: dict[str, Any] = {"__metadata__": about}
    numbers = bytearray()
    for name, array in torch_arrays(trained.model.parameters).items():
        start = len(numbers)
        numbers += array.astype("<f4").tobytes()
        places = [start, len(numbers)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": places}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


def torch_arrays(p: Parameters) -> dict[str, Array]:
    """Return the arrays under torch's names and in torch's layout."""
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
