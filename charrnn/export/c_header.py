"""A model as one C99 header that draws the texts of ``charrnn sample --seed``.

``assets/model.h`` holds the arithmetic, in doubles. This module adds the numbers, each as the
shortest decimal that rounds to the same float.
"""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.export.html import asset, kinds_of
from charrnn.files.model_contents import Trained
from charrnn.network.parameters import Parameters
from charrnn.system.visible import count, encodable, visible_line

PREFIX: Final = r"(?!charrnn_any\Z)[A-Za-z_][A-Za-z0-9_]*"  # charrnn_any_model is a type
LINE_WIDTH: Final = 100  # columns of a line of numbers


def export(trained: Trained, name: str, prefix: str | None) -> bytes:
    model, p, architecture = trained.model, trained.model.parameters, trained.model.architecture
    prefix, labels = prefix_for(name, prefix), model.vocabulary.labels
    units = count(architecture.hidden, f"{architecture.cell_name} unit")
    rows = []
    for layer in range(1, architecture.layers + 1):
        names = [f"{letter}{layer}" for letter in "UWbd"]
        row = ", ".join(f"{prefix}_{name}" if name in p else "0" for name in names)
        rows.append(f"    {{{row}}},")
    values = {
        "WEIGHTS": arrays(p, model.vocabulary.characters, prefix),
        "LAYERS": "\n".join(rows),
        "NETWORK": f"{count(architecture.layers, 'layer')} of {units}",
        "K": architecture.symbols,
        "H": architecture.hidden,
        "G": architecture.cell.gates,
        "L": architecture.layers,
        "N": architecture.labels,
        "S": len(architecture.cell.states),
        "LABEL": ", int label" if labels else "",
        "LABELS": "\n".join(f'    "{escaped(label)}",' for label in labels),
        "SUMS": ", ".join(map(str, accumulate(labels.values()))),
        "USE": "--use network " if trained.counted is not None else "",
        "FILE": visible_line(name),
        "P": prefix.upper(),
        "p": prefix,
    }
    template = asset("model.h", kinds_of(architecture))
    return re.sub(r"@(\w+)@", lambda name: str(values[name[1]]), template).encode()


def escaped(label: str) -> str:
    """Return the content of a string of C, whose bytes are the label in UTF-8."""
    safe = re.sub(rb"[^ \w.-]", lambda byte: b"\\%03o" % ord(byte[0]), encodable(label).encode())
    return safe.decode()


def prefix_for(name: str, prefix: str | None = None) -> str:
    """Return the prefix of all names in C: the requested one, or one made from the file name."""
    if prefix is None:
        prefix = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
        return prefix if re.fullmatch(PREFIX, prefix) else f"model_{prefix}".strip("_")
    if not re.fullmatch(PREFIX, prefix):
        hint = "It has letters, digits and _, begins with no digit, and is not charrnn_any."
        raise SettingError(f"prefix cannot be {prefix!r}", hint, "prefix")
    return prefix


def arrays(p: Parameters, characters: str, prefix: str) -> str:
    """Return the definitions of all arrays and of the vocabulary."""
    codes = [str(ord(character)) for character in characters] or ["0"]
    definitions = [definition("uint32_t", f"{prefix}_codes", codes)]
    for name, array in p.items():
        by_column = array if name == "U1" else array.T  # U1 has a row for each symbol
        numbers = [f"{np.float32(number)}f" for number in by_column.ravel()]
        definitions.append(definition("float", f"{prefix}_{name}", numbers))
    return "\n".join(definitions)


def definition(kind: str, name: str, numbers: Sequence[str]) -> str:
    text = ",".join(numbers) + ","
    lines = re.sub(rf"(.{{1,{LINE_WIDTH}}},)", r"\1\n", text)[:-2]  # each as full as possible
    return f"static const {kind} {name}[{len(numbers)}] = {{\n{lines}}};"
