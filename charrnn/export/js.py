"""A model as a JavaScript module, for a page of one's own: the engine of the page, and the numbers.

import model from "./names.mjs";
model.sample({ shortest: 4, longest: 9, temperature: 0.8 })

The numbers are bytes, array after array, little-endian: matrices are 16-bit floats, vectors 32-bit.
"""

from __future__ import annotations

import base64
import json
from importlib.resources import files

from charrnn.checkpoint import Trained
from charrnn.network.parameters import Parameters

MODULE = """\
{engine}
const facts = {facts};
const model = new charrnn.Model(facts, charrnn.bytesOf("{numbers}"));
export {{ charrnn }};
export default model;
"""


def export(trained: Trained) -> bytes:
    facts = plain_json(facts_of(trained))
    numbers = in_base64(encode(trained.model.parameters))
    return MODULE.format(engine=asset("engine.js"), facts=facts, numbers=numbers).encode()


def facts_of(trained: Trained) -> dict[str, object]:
    """Return the facts beside the numbers."""
    architecture, vocabulary = trained.model.architecture, trained.model.vocabulary
    return {
        "symbols": architecture.symbols,
        "hidden": architecture.hidden,
        "layers": architecture.layers,
        "cell": architecture.cell_name,
        "head": architecture.head_name,
        "codes": [ord(character) for character in vocabulary.characters],
        "novelty": vocabulary.novelty,
        "normalize": trained.corpus.reading.normalize,
    }


def asset(name: str) -> str:
    """Return the text of a file in assets."""
    return files("charrnn.export").joinpath("assets", name).read_text("utf-8")


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def plain_json(value: object) -> str:
    """Return JSON in printable ASCII without characters that open or close markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def encode(p: Parameters) -> bytes:
    """Return all parameters as bytes."""
    kinds = {1: "<f4", 2: "<f2"}  # by the number of axes
    return b"".join(array.astype(kinds[array.ndim]).tobytes() for array in p.values())
