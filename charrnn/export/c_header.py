"""A model as one C99 header, which draws what ``charrnn sample --seed`` draws, byte for byte.

What the stepper and the choice compute is in ``assets/model.h``; here are the cells and the heads,
and the numbers. A matrix is a whole number for each weight and a scale for each of its rows:

    32 bits   the grid of the stepper itself, of which no sum is rounded: see network.grid
    16, 8     as fine as that many bits let it be, from the largest of the row

``rint`` rounds a state, and not a large number that is added and taken away again, which
-ffast-math would leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from charrnn.errors import SettingError
from charrnn.export.encoding import Wholes, check_known, in_wholes
from charrnn.model_file.checkpoint import Trained
from charrnn.network.parameters import Array, Parameters
from charrnn.network.rounding import OFTEN, SETTLED_BITS, Array64, Grid, on_grid
from charrnn.settings.using import ExportOptions

WIDTH: Final = 100  # columns of a line of numbers
TEMPLATE: Final = Path(__file__).with_name("assets") / "model.h"

# From ux = b + U x and wh = W h, for unit i, to its states, each on the grid.
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
# From the outputs o to logits, in their place.
HEADS: Final = {
    "symbol": "",
    "halt": """\
    for (most = o[1], k = 2; k < @P@_SYMBOLS; k++) /* the end is a unit; the others a softmax */
        if (o[k] > most) most = o[k];
    for (k = 1; k < @P@_SYMBOLS; k++) sum += exp(o[k] -= most);
    for (k = 1; k < @P@_SYMBOLS; k++) o[k] -= log(sum);
    sum = 0;
""",
}
KEYWORDS: Final = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while
"""
EXACT: Final = "With this, texts are those of charrnn, byte for byte, where FLT_EVAL_METHOD is 0."
COARSE: Final = "Its weights have %d bits: a text is now and then another than charrnn's."


def exported(trained: Trained, options: ExportOptions) -> bytes:
    """The whole header."""
    model, architecture = trained.model, trained.model.architecture
    prefix, bits = prefix_for(options), options.bits
    check_known(architecture, "a C header", CELLS, HEADS)
    weights = Weights(model.parameters, prefix, bits)
    grid = Grid.of(architecture)
    cell, head = architecture.cell_name, architecture.head_name
    layers = "layer" if architecture.layers == 1 else "layers"
    size = f"{architecture.layers} {layers} of {architecture.hidden} {cell} units"
    values = {
        "CELL": indented(CELLS[cell], 12),
        "HEAD": HEADS[head],
        "SIGMOID": SIGMOID if cell != "tanh" else "",
        "CELL_STATE": ", *c = s->state[l][1]" if len(architecture.cell.states) > 1 else "",
        "U1": weights.first_row(),
        "WEIGHTS": weights.arrays(model.vocabulary.characters),
        "LAYERS": weights.layers(),
        "GRID": f"{2.0**grid.state_bits!r}",
        "SETTLED": f"{2.0**SETTLED_BITS!r}",
        "OFTEN": f"{OFTEN}",
        "NETWORK": f"{size}, {architecture.symbols} symbols, weights of {bits} bits.",
        "PROMISE": EXACT if bits == 32 else COARSE % bits,
        "SUMS": "nothing is rounded" if bits == 32 else "they are faster than one",
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
    """What all names begin with: what was asked for, or what the file is called."""
    prefix = options.prefix
    if prefix is None:
        prefix = re.sub("[^a-z0-9]+", "_", options.name.lower()).strip("_")
        is_word = prefix in KEYWORDS.split()
        return prefix if prefix[:1].isalpha() and not is_word else f"model_{prefix}".strip("_")
    if prefix in KEYWORDS.split():
        raise SettingError(
            f"prefix cannot be {prefix!r}", "It is a word of C: take another.", "prefix"
        )
    return prefix


class Weights:
    """The numbers of a network as arrays of C."""

    def __init__(self, p: Parameters, prefix: str, bits: int) -> None:
        self.p, self.prefix, self.bits = p, prefix, bits
        self.type = f"int{bits}_t"
        self._weight_bits = Grid.of(p.architecture).weight_bits

    def arrays(self, characters: str) -> str:
        """All of them, and the vocabulary."""
        codes = [f"{ord(character)}" for character in characters] or ["0"]
        lines = [self._array("uint32_t", "codes", codes)]
        for name, array in self.p.items():
            if array.ndim == 1 or (name == "U1" and self.bits == 32):
                lines.append(self._array("float", name, floats(array)))
                continue
            whole, scales = self.packed(array)
            lines.append(self._array(self.type, name, map(str, whole.ravel().tolist())))
            lines.append(self._array("double", f"{name}_scale", map(repr, scales.tolist())))
        return "\n".join(lines)

    def first_row(self) -> str:
        """Of what the symbol adds: the expression for its i-th number."""
        row = f"{self.prefix}_U1[s->symbol * columns + i]"
        return row if self.bits == 32 else f"{self.prefix}_U1_scale[s->symbol] * {row}"

    def layers(self) -> str:
        """A row for each layer, in which 0 stands for what it does not have."""
        lines = []
        for layer in range(1, self.p.architecture.layers + 1):
            names = [f"W{layer}", f"W{layer}_scale", f"b{layer}", f"d{layer}"]
            below = [f"U{layer}", f"U{layer}_scale"] if layer > 1 else ["", ""]
            here = (*below, *names[:3], names[3] if names[3] in self.p else "")
            found = (f"{self.prefix}_{name}" if name else "0" for name in here)
            lines.append(f"    {{{', '.join(found)}}},")
        return "\n".join(lines)

    def packed(self, matrix: Array) -> tuple[Wholes, Array64]:
        """Whole numbers, and for each row what one of them is worth."""
        if self.bits < 32:
            exponents, wholes = in_wholes(matrix, self.bits)
            return wholes, np.ldexp(1.0, exponents)
        exponents = np.frexp(np.abs(matrix).max(1))[1] - self._weight_bits
        wholes = np.ldexp(on_grid(matrix, self._weight_bits), -exponents[:, None])
        return wholes.astype(np.int64), np.ldexp(1.0, exponents)

    def _array(self, kind: str, name: str, values: Iterable[str]) -> str:
        numbers = list(values)
        head = f"static const {kind} {self.prefix}_{name}[{len(numbers)}]"
        return f"{head} = {{\n{wrapped(numbers)}}};"


def floats(array: Array) -> Iterable[str]:
    """Each as short as it can be and still be that number of 32 bits."""
    return (f"{number}f" for number in array.astype(np.float32).ravel())


def wrapped(numbers: list[str]) -> str:
    """The numbers, as many on a line as fit."""
    text = ",".join(numbers) + ","
    return re.sub(rf"(.{{1,{WIDTH}}},)", r"\1\n", text)[:-2]


def indented(text: str, spaces: int) -> str:
    """Every line so far to the right."""
    return "\n".join(" " * spaces + line for line in text.split("\n"))
