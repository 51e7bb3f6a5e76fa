"""A model as one C99 header that draws the texts of ``charrnn sample --seed``.

``assets/model.h`` holds the arithmetic, in doubles. Its lines that begin so: @gru lstm@, are only
for networks with one of these cells or heads. This module picks them and adds the numbers, each as
the shortest decimal that rounds to the same float.
"""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.files.model_contents import Trained
from charrnn.network.parameters import Parameters

LINE_WIDTH: Final = 100  # columns of a line of numbers


def export(trained: Trained, name: str, prefix: str | None) -> bytes:
    model, architecture = trained.model, trained.model.architecture
    prefix = prefix_for(name, prefix)
    cell, head = architecture.cell_name, architecture.head_name
    layers = "layer" if architecture.layers == 1 else "layers"
    values = {
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
    return re.sub(r"@(\w+)@", lambda name: values[name[1]], template_for(cell, head)).encode()


def template_for(cell: str, head: str) -> str:
    """Return the template with the lines for all networks, and for those of this cell and head."""

    def line(match: re.Match[str]) -> str:
        return match["code"] if {cell, head} & set(match["kinds"].split()) else ""

    text = files("charrnn.export").joinpath("assets", "model.h").read_text("utf-8")
    return re.sub(r"(?m)^@(?P<kinds>[a-z ]+)@(?P<code>.*\n)", line, text)


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
