"""A model as a JavaScript module, for a page of one's own: the engine of the page, and the numbers.

import model from "./names.mjs";
model.sample({ seed: 1, number: 0, temperature: 0.8 }).text

The numbers are bytes, array after array, little-endian. With 32 bits they are float32, exact
because matrices that multiply states are on the grid. With 16 or 8 each row of a matrix is an int16
e and integers n: a weight is 2^e n; vectors remain float32.
"""

from __future__ import annotations

import base64
import json
from importlib.resources import files

from charrnn.export import ExportOptions, check_known
from charrnn.model_file import Trained
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import as_integers

# Each cell and each head needs a function in assets/network.js, and a name here.
CELLS = ("tanh", "gru", "lstm")
HEADS = ("symbol", "halt")

MODULE = """\
{engine}
const facts = {facts};
const model = new charrnn.Model(facts, charrnn.bytesOf("{numbers}"));
export {{ charrnn }};
export default model;
"""


def export(trained: Trained, options: ExportOptions) -> bytes:
    facts = facts_of(trained, options, "a JavaScript module")
    numbers = in_base64(encode(trained.model.parameters, options.bits))
    return MODULE.format(engine=engine(), facts=plain_json(facts), numbers=numbers).encode()


def facts_of(trained: Trained, options: ExportOptions, kind: str = "a page") -> dict[str, object]:
    """Return the facts beside the numbers. Raise ExportError for a model that is not known."""
    architecture, vocabulary = trained.model.architecture, trained.model.vocabulary
    check_known(architecture, kind, CELLS, HEADS)
    return {
        "symbols": architecture.symbols,
        "hidden": architecture.hidden,
        "layers": architecture.layers,
        "cell": architecture.cell_name,
        "head": architecture.head_name,
        "bits": options.bits,
        "codes": [ord(character) for character in vocabulary.characters],
        "novelty": vocabulary.novelty,
        "newlines": trained.corpus.reading.newlines,
        "normalize": trained.corpus.reading.normalize,
    }


def engine() -> str:
    return asset("network.js") + asset("core.js")


def asset(name: str) -> str:
    """Return the text of a file in assets."""
    return files("charrnn.export").joinpath("assets", name).read_text("utf-8")


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def plain_json(value: object) -> str:
    """Return JSON in printable ASCII without characters that open or close markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def encode(p: Parameters, bits: int) -> bytes:
    """Return all parameters as bytes."""
    parts = []
    for name, array in p.exact().items():
        if bits == 32 or array.ndim == 1:
            parts.append(array.astype("<f4").tobytes())
        else:
            exponents, integers = as_integers(p[name], bits)
            for exponent, row in zip(exponents.astype("<i2"), integers, strict=True):
                parts += [exponent.tobytes(), row.tobytes()]
    return b"".join(parts)
