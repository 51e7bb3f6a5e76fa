"""A model as one C99 header that draws the texts of ``charrnn sample --seed``, byte for byte.

``assets/model.h`` holds the arithmetic. This module adds the cells, the heads and the numbers: an
integer for each weight and a scale for each row. With 32 bits they are on the grid of the stepper,
so no sum is rounded. States are rounded by ``rint``, which -ffast-math leaves alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.export import ExportOptions, check_known
from charrnn.model_file import Trained
from charrnn.network import rounding
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import Array, Array64, Integers

WIDTH: Final = 100  # columns of a line of numbers
TEMPLATE: Final = Path(__file__).with_name("assets") / "model.h"

# The states of unit i from ux = b + U x and wh = W h, each on the grid.
CELLS: Final = {
    "tanh": "h[i] = @p@_snapped(tanh(ux[i] + wh[i]), settles);",
    "gru": """\
const int z_at = @P@_UNITS + i, n_at = 2 * @P@_UNITS + i;
const double r = @p@_sigmoid(ux[i] + wh[i]), z = @p@_sigmoid(ux[z_at] + wh[z_at]);
const double n = tanh(ux[n_at] + r * (wh[n_at] + @p@_layers[l].d[i]));
h[i] = @p@_snapped((h[i] - n) * z + n, settles);""",
    "lstm": """\
const int f_at = @P@_UNITS + i, g_at = 2 * @P@_UNITS + i, o_at = 3 * @P@_UNITS + i;
const double in = @p@_sigmoid(ux[i] + wh[i]), forget = @p@_sigmoid(ux[f_at] + wh[f_at]);
const double g = tanh(ux[g_at] + wh[g_at]), out = @p@_sigmoid(ux[o_at] + wh[o_at]);
const double next = forget * c[i] + in * g;
h[i] = @p@_snapped(out * tanh(next), settles);
c[i] = @p@_snapped(next, settles);""",
}
SIGMOID: Final = """
static double @p@_sigmoid(double a) { return 0.5 * tanh(0.5 * a) + 0.5; }
"""
# The logits from the outputs o, in place.
HEADS: Final = {
    "symbol": "",
    "halt": """\
    for (most = o[1], k = 2; k < @P@_SYMBOLS; k++) /* a unit for the end */
        if (o[k] > most) most = o[k];
    for (k = 1; k < @P@_SYMBOLS; k++) sum += exp(o[k] -= most);
    for (k = 1; k < @P@_SYMBOLS; k++) o[k] -= log(sum);
    sum = 0;
""",
}
EXAMPLE: Final = (
    ("@p@_state s;", ""),
    ("int32_t code;", ""),
    ("@p@_begin(&s, 1, 0);", "the seed and the number of the text"),
    ("while ((code = @p@_next(&s, 0.8)) >= 0)", "the temperature; -1 is the end"),
    ("    put(code);", "a Unicode code point"),
)
KEYWORDS: Final = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while
"""
EXACT: Final = "It draws the texts of %s, byte for byte, where FLT_EVAL_METHOD is 0."
COARSE: Final = "Its weights have %d bits: now and then a text differs from that of %s."


def export(trained: Trained, options: ExportOptions) -> bytes:
    model, architecture = trained.model, trained.model.architecture
    prefix, bits = prefix_for(options), options.bits
    check_known(architecture, "a C header", CELLS, HEADS)
    weights = Weights(model.parameters, prefix, bits)
    cell, head = architecture.cell_name, architecture.head_name
    layers = "layer" if architecture.layers == 1 else "layers"
    first_row = f"{prefix}_U1[s->symbol * columns + i]"  # the i-th number of U x
    if bits < 32:
        first_row = f"{prefix}_U1_scale[s->symbol] * {first_row}"
    same = "charrnn" if trained.counted is None else "the network alone in charrnn"
    size = f"{architecture.layers} {layers} of {architecture.hidden} {cell} units"
    column = 3 + max(len(line.replace("@p@", prefix)) for line, _ in EXAMPLE)
    example = (f"{line.replace('@p@', prefix):{column}}{about}" for line, about in EXAMPLE)
    values = {
        "EXAMPLE": "\n".join(f"       {line}" for line in example),
        "CELL": "\n".join(" " * 12 + line for line in CELLS[cell].split("\n")),
        "HEAD": HEADS[head],
        "SIGMOID": SIGMOID if cell != "tanh" else "",
        "CELL_STATE": ", *c = s->state[l][1]" if len(architecture.cell.states) > 1 else "",
        "U1": first_row,
        "WEIGHTS": weights.arrays(model.vocabulary.characters),
        "LAYERS": weights.layers(),
        "GRID": f"{2.0**weights.grid.state_bits!r}",
        "SETTLED": f"{2.0**rounding.SETTLED_BITS!r}",
        "OFTEN": f"{rounding.OFTEN}",
        "NETWORK": f"{size}, {architecture.symbols} symbols, weights of {bits} bits.",
        "PROMISE": EXACT % same if bits == 32 else COARSE % (bits, same),
        "SUMS": "they are exact" if bits == 32 else "they are faster than one",
        "T": weights.type,
        "K": f"{architecture.symbols}",
        "H": f"{architecture.hidden}",
        "G": f"{architecture.cell.gates}",
        "L": f"{architecture.layers}",
        "S": f"{len(architecture.cell.states)}",
        "P": prefix.upper(),
        "p": prefix,
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return re.sub(r"[ ]+$", "", text, flags=re.MULTILINE).replace("\n\n\n", "\n\n").encode()


def prefix_for(options: ExportOptions) -> str:
    """Return the prefix of all names in C: the requested one, or one made from the file name."""
    prefix = options.prefix
    if prefix is None:
        prefix = re.sub("[^a-z0-9]+", "_", options.name.lower()).strip("_")
        is_word = prefix in KEYWORDS.split()
        return prefix if prefix[:1].isalpha() and not is_word else f"model_{prefix}".strip("_")
    if prefix in KEYWORDS.split():
        what = f"prefix cannot be {prefix!r}"
        raise SettingError(what, "It is a word of C: choose another.", "prefix")
    return prefix


class Weights:
    """The numbers of a network as arrays of C."""

    def __init__(self, p: Parameters, prefix: str, bits: int) -> None:
        self.p, self.prefix, self.bits = p, prefix, bits
        self.type = f"int{bits}_t"
        self.grid = p.architecture.grid

    def arrays(self, characters: str) -> str:
        """Return the definitions of all arrays and of the vocabulary."""
        codes = [f"{ord(character)}" for character in characters] or ["0"]
        lines = [self._array("uint32_t", "codes", codes)]
        for name, array in self.p.items():
            if array.ndim == 1 or (name == "U1" and self.bits == 32):
                # Each number as the shortest decimal that rounds to the same float32.
                floats = (f"{number}f" for number in array.astype(np.float32).ravel())
                lines.append(self._array("float", name, floats))
                continue
            integers, scales = self.scaled(array)
            lines.append(self._array(self.type, name, map(str, integers.ravel().tolist())))
            lines.append(self._array("double", f"{name}_scale", map(repr, scales.tolist())))
        return "\n".join(lines)

    def layers(self) -> str:
        """Return a row for each layer, with 0 for arrays that it does not have."""
        lines = []
        for layer in range(1, self.p.architecture.layers + 1):
            below = [f"U{layer}", f"U{layer}_scale"] if layer > 1 else ["", ""]
            own_bias = f"d{layer}" if f"d{layer}" in self.p else ""
            names = [*below, f"W{layer}", f"W{layer}_scale", f"b{layer}", own_bias]
            row = ", ".join(f"{self.prefix}_{name}" if name else "0" for name in names)
            lines.append(f"    {{{row}}},")
        return "\n".join(lines)

    def scaled(self, matrix: Array) -> tuple[Integers, Array64]:
        """Return integers and a scale for each row."""
        if self.bits < 32:
            exponents, integers = rounding.as_integers(matrix, self.bits)
            return integers, np.ldexp(1.0, exponents)
        bits = self.grid.weight_bits
        exponents = np.frexp(np.abs(matrix).max(1))[1] - bits
        integers = np.ldexp(rounding.on_grid(matrix, bits), -exponents[:, None]).astype(np.int64)
        return integers, np.ldexp(1.0, exponents)

    def _array(self, kind: str, name: str, values: Iterable[str]) -> str:
        numbers = list(values)
        head = f"static const {kind} {self.prefix}_{name}[{len(numbers)}]"
        text = ",".join(numbers) + ","
        lines = re.sub(rf"(.{{1,{WIDTH}}},)", r"\1\n", text)[:-2]  # each as full as possible
        return f"{head} = {{\n{lines}}};"
