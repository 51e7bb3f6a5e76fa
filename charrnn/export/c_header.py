"""A model as one C99 header that draws the texts of ``charrnn sample --seed``.

``assets/model.h`` holds the arithmetic, in doubles. This module adds the cell, the head and the
numbers, each as the shortest decimal that rounds to the same float.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.files.model_contents import Trained
from charrnn.network.parameters import Parameters

LINE_WIDTH: Final = 100  # columns of a line of numbers

# The states of unit i from ux = b + U x and wh = W h.
CODE_OF_CELL: Final = {
    "tanh": "h[i] = tanh(ux[i] + wh[i]);",
    "gru": """\
const int z_at = @P@_UNITS + i, n_at = 2 * @P@_UNITS + i;
const double r = @p@_sigmoid(ux[i] + wh[i]), z = @p@_sigmoid(ux[z_at] + wh[z_at]);
const double n = tanh(ux[n_at] + r * (wh[n_at] + @p@_layers[l].d[i]));
h[i] = (h[i] - n) * z + n;""",
    "lstm": """\
const int f_at = @P@_UNITS + i, g_at = 2 * @P@_UNITS + i, o_at = 3 * @P@_UNITS + i;
const double in = @p@_sigmoid(ux[i] + wh[i]), forget = @p@_sigmoid(ux[f_at] + wh[f_at]);
const double g = tanh(ux[g_at] + wh[g_at]), out = @p@_sigmoid(ux[o_at] + wh[o_at]);
c[i] = forget * c[i] + in * g;
h[i] = out * tanh(c[i]);""",
}
SIGMOID: Final = """
static double @p@_sigmoid(double a) { return 0.5 * tanh(0.5 * a) + 0.5; }
"""
# The logits from the outputs o, in place.
CODE_OF_HEAD: Final = {
    "symbol": "",
    "halt": """\
    for (most = o[1], k = 2; k < @P@_SYMBOLS; k++) /* a unit for the end */
        if (o[k] > most) most = o[k];
    for (k = 1; k < @P@_SYMBOLS; k++) sum += exp(o[k] -= most);
    for (k = 1; k < @P@_SYMBOLS; k++) o[k] -= log(sum);
    sum = 0;
""",
}


def export(trained: Trained, name: str, prefix: str | None) -> bytes:
    model, architecture = trained.model, trained.model.architecture
    prefix = prefix_for(name, prefix)
    cell, head = architecture.cell_name, architecture.head_name
    layers = "layer" if architecture.layers == 1 else "layers"
    values = {
        "CELL": "\n".join(" " * 12 + line for line in CODE_OF_CELL[cell].split("\n")),
        "HEAD": CODE_OF_HEAD[head],
        "SIGMOID": SIGMOID if cell != "tanh" else "",
        "CELL_STATE": ", *c = s->state[l][1]" if len(architecture.cell.states) > 1 else "",
        "WEIGHTS": arrays(model.parameters, model.vocabulary.characters, prefix),
        "LAYERS": rows_of_layers(model.parameters, prefix),
        "NETWORK": f"{architecture.layers} {layers} of {architecture.hidden} {cell} units",
        "K": f"{architecture.symbols}",
        "H": f"{architecture.hidden}",
        "G": f"{architecture.cell.gates}",
        "L": f"{architecture.layers}",
        "S": f"{len(architecture.cell.states)}",
        "P": prefix.upper(),
        "p": prefix,
    }
    text = files("charrnn.export").joinpath("assets", "model.h").read_text("utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return re.sub(r"[ ]+$", "", text, flags=re.MULTILINE).replace("\n\n\n", "\n\n").encode()


def prefix_for(name: str, prefix: str | None = None) -> str:
    """Return the prefix of all names in C: the requested one, or one made from the file name."""
    if prefix is None:
        prefix = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
        return prefix if prefix[:1].isalpha() else f"model_{prefix}".strip("_")
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", prefix):
        hint = "It may have letters, digits and _, and does not begin with a digit."
        raise SettingError(f"prefix cannot be {prefix!r}", hint, "prefix")
    return prefix


def arrays(p: Parameters, characters: str, prefix: str) -> str:
    """Return the definitions of all arrays and of the vocabulary."""
    codes = [str(ord(character)) for character in characters] or ["0"]
    definitions = [definition("uint32_t", f"{prefix}_codes", codes)]
    for name, array in p.items():
        numbers = [f"{np.float32(number)}f" for number in array.ravel()]
        definitions.append(definition("float", f"{prefix}_{name}", numbers))
    return "\n".join(definitions)


def definition(kind: str, name: str, numbers: Sequence[str]) -> str:
    text = ",".join(numbers) + ","
    lines = re.sub(rf"(.{{1,{LINE_WIDTH}}},)", r"\1\n", text)[:-2]  # each as full as possible
    return f"static const {kind} {name}[{len(numbers)}] = {{\n{lines}}};"


def rows_of_layers(p: Parameters, prefix: str) -> str:
    """Return a row of arrays for each layer, with 0 for those that it does not have."""
    lines = []
    for layer in range(1, p.architecture.layers + 1):
        names = [f"U{layer}", f"W{layer}", f"b{layer}", f"d{layer}"]
        row = ", ".join(f"{prefix}_{name}" if name in p else "0" for name in names)
        lines.append(f"    {{{row}}},")
    return "\n".join(lines)
