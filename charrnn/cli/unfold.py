"""This is figure 10.3 of the book with numbers. Each row is a step: the character that it reads,
the likeliest next character, the target and its loss in nats, as in charrnn eval. The next columns
are the norms of the hidden state and of the gradient of the total loss. The last shows units of the
top layer, or their gradients with --backward.

With -o, all of it is a web page that works offline. Point at a square, or click one and use the
arrow keys, to see its equation with numbers. Counts (train --counts) are left out.

# each step of a name
charrnn unfold Tyrannosaurus

# the equations of the third step, forwards and backwards
charrnn unfold Tyrannosaurus --step 3 --backward

# the gradients of the parameters, as sums over the steps
charrnn unfold Tyrannosaurus --gradients

# a page to explore
charrnn unfold Tyrannosaurus --backward -o unfold.html

# do gradients vanish?
charrnn unfold Tyrannosaurus --json | jq -c '.time_steps[] | [.reads, .norm_dh]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

import charrnn
from charrnn.cli import shared_options as shared
from charrnn.cli.console import Console, Output, entries, only_one, save
from charrnn.cli.reach import three_digits
from charrnn.cli.sample import as_read
from charrnn.errors import SettingError
from charrnn.settings.values import COUNT, File, Text, setting
from charrnn.system.visible import Visible, count, encodable, visible_line

if TYPE_CHECKING:
    from charrnn.prediction.unfold import Unfolding

LEVELS, PLAIN = "▁▂▃▄▅▆▇", "_.-~+*#"  # cells, from the lowest to the highest
UNIT_STYLES = (*["blue"] * 3, "dim", *["yellow"] * 3)
COLUMNS_BEFORE_UNITS = 58
FEWEST_UNITS = 6  # that are worth a column
UNITS = 4  # with equations
ENTRIES = 3  # of a gradient
SUMS = {  # what is summed over t, and the number of the equation
    "c": ("dL/do(t)", "(10.22)"),
    "b": ("{0}", "(10.23)"),
    "V": ("dL/do(t) h(t)'", "(10.24)"),
    "W": ("{1} h(t-1)'", "(10.26)"),
    "U": ("{0} x(t)'", "(10.28)"),
}


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    text: str = setting(
        Text(), "The text to read.", default=MISSING, names=("TEXT",), short="Read this text"
    )
    backward: bool = shared.flag("Also show the gradients| of the total loss: back-propagation.")
    gradients: bool = shared.flag(
        "Show the largest gradients of the parameters, each with the terms of its sum over the"
        " steps; --json has all.",
        short="Show gradients of parameters",
    )
    step: int | None = setting(
        COUNT, "Show the equations of this step|, with numbers of a few units."
    )
    output: Path | None = shared.output_option(
        File("FILE.html", ".html"),
        "Write a web page with each value and its equation into this file.",
        short="Write a web page to this file",
    )
    label: str | None = shared.label_option("Read the text with this label.")
    model: Path = shared.model_option()
    force: bool = shared.force_option("the file of --output")


def run(options: Options, console: Console) -> None:
    """Unfold the text, and show the table, the equations, the JSON or the figure."""
    from charrnn.prediction.unfold import unfold

    only_one({"--step": options.step, "--output": options.output, "--json": options.as_json})
    only_one({"--step": options.step, "--output": options.output, "--gradients": options.gradients})
    model, out = charrnn.load(options.model), console.out
    text = as_read(options.text, model, console)
    backward = options.backward or options.gradients
    unfolding = unfold(model.language_model, text, options.label, backward=backward)
    step, last = options.step or 1, len(unfolding.time_steps)
    if step > last:
        raise SettingError(f"--step {step} is beyond the text", f"It has {count(last, 'step')}.")
    if options.output is not None:
        from charrnn.export.html import unfolded

        save(options.output, unfolded(unfolding), "--output", options.model, force=options.force)
        console.note(f"page saved to {options.output}")
    elif options.as_json:
        facts = unfolding.as_json() | {"text": encodable(text)}
        if options.gradients and unfolding.gradient is not None:
            facts["gradients"] = {name: g.tolist() for name, g in unfolding.gradient.items()}
        console.json("unfold", {"model": str(options.model), **facts})
    elif options.gradients:
        out.write_lines(largest_gradients(unfolding, out))
    elif options.step is not None:
        out.write_lines(equations(unfolding, step - 1, out))
    else:
        out.write_lines(table(unfolding, "dL/dh" if options.backward else "h", out))


def table(unfolding: Unfolding, value: str, output: Output) -> Iterator[Visible]:
    """Yield a row for each step, with the units of its top layer where they fit, and the sum."""
    bands, room = unfolding.layers[-1].bands(value), output.width - COLUMNS_BEFORE_UNITS
    head = f"step  reads   likeliest target    loss{'     |h|  |dL/dh|' if room >= 0 else ''}"
    yield output.paint(Visible(f"{head}  {value}" if room >= FEWEST_UNITS else head), "cyan")
    for t, step in enumerate(unfolding.time_steps):
        best, chance = next(iter(unfolding.chances(t).items()))
        likeliest = f"{named(unfolding.symbols[best])} {chance:.2f}"
        reads = set_cell_size(named(step["reads"]), 6).rstrip()
        row = f"{t + 1:4}{right(reads, 7)}{right(likeliest, 12)}{right(named(step['target']), 7)}"
        row += f"{step['nats']:8.3f}"
        if room >= 0:
            row += f"{three_digits(step['norm_h']):>8}{three_digits(step['norm_dh']):>9}"
        units = "  " + marks(bands[t][:room], output) if room >= FEWEST_UNITS else ""
        yield Visible(row + units)
    yield Visible(f"\nsum {unfolding.nats:.3f} nats in {count(len(unfolding.time_steps), 'step')}")
    if room >= FEWEST_UNITS:
        yield Visible(f"units of the top layer: {marks(range(7), output)} from -1 to 1")
        if value == "dL/dh":
            yield Visible("a gradient ten times smaller has the next mark")


def right(text: str, columns: int) -> str:
    """Return a text at the right of its columns; a Chinese character takes two."""
    return " " * (columns - cell_len(text)) + text


def marks(bands: Iterable[int], output: Output) -> Visible:
    shown = PLAIN if output.is_dumb else LEVELS
    return Visible("".join(output.paint(Visible(shown[band]), UNIT_STYLES[band]) for band in bands))


def equations(unfolding: Unfolding, t: int, output: Output) -> Iterator[Visible]:
    """Yield the equations of a step, each with the numbers of some units."""
    reads, target = (named(unfolding.time_steps[t][name]) for name in ("reads", "target"))
    hidden = unfolding.layers[0].values["h"].shape[1]
    units: dict[int, str] = {i: f"unit {i + 1}" for i in range(min(UNITS, hidden))}
    symbols: dict[int, str] = {k: named(unfolding.symbols[k]) for k in unfolding.chances(t)}
    parts = [(f"layer {number}", part, units) for number, part in enumerate(unfolding.layers, 1)]
    parts += [("output", unfolding.output, symbols), ("loss", unfolding.loss, {0: target})]
    yield Visible(f"step t = {t + 1} reads {reads} and predicts {target}")
    for name, part, shown in parts:
        yield from [Visible(""), output.paint(Visible(name), "bold")]
        for value, template in part.equations.items():
            letters, _, number = template.partition("  ")
            if number == "(10.21)" and "V'" in letters and t + 1 == len(unfolding.time_steps):
                number = "(10.19)"  # nothing comes from later steps
            written = f"{value}(t) = {re.sub('[{}]', '', letters)}"
            rows = [(unit, part.filled(value, t, i)) for i, unit in shown.items()]
            yield from entries([(number or " ", written), *rows], output)


def largest_gradients(unfolding: Unfolding, output: Output) -> Iterator[Visible]:
    """Yield the largest entries of each gradient, and the terms of their sums over the steps."""
    layer, is_single = unfolding.layers[0], len(unfolding.layers) == 1
    errors = ("diag(1 - h(t)^2) dL/dh(t)",) * 2
    if "{h}(t)^2" not in layer.equations.get("dL/da", ""):
        errors = "dL/da(t)", "dL/d(W h)(t)"
    yield Visible("the largest numbers: unit or symbol, value = a term for each time step")
    for name in sorted(unfolding.factors, key=lambda name: "cbVWU".index(name[0])):
        (sum_of, number), letter = SUMS[name[0]], name[0] if is_single else name
        title = f"dL/d{letter} = sum over t of {sum_of.format(*errors)}  {number}"
        yield from [Visible(""), output.paint(Visible(title), "bold")]
        for row, column, value, terms in unfolding.largest(name, ENTRIES):
            written = [f"({term:.4g})" if term < 0 else f"{term:.4g}" for term in terms]
            text = f"{value:.4g} = {' + '.join(written)}"
            yield from entries([(entry_name(unfolding, name, row, column), text)], output)


def entry_name(unfolding: Unfolding, name: str, row: int, column: int) -> str:
    """Return where an entry stands, as the book has it: U (units, symbols) is stored the other way.

    Units of gates have the letter of their gate.
    """
    hidden, gates = unfolding.layers[0].values["h"].shape[1], list(unfolding.layers[0].equations)
    has_gates = "dL/da" not in gates

    def unit(i: int) -> str:
        return f"{gates[i // hidden] if has_gates else ''}{i % hidden + 1}"

    if name == "U1":
        return f"{unit(column)}, {named(unfolding.inputs[row])[:6]}"
    first = named(unfolding.symbols[row]) if name in ("c", "V") else unit(row)
    return first if name[0] in "cb" else f"{first}, {column + 1}"


def named(symbol: str | None) -> Visible:
    """Return a symbol as one word."""
    return visible_line("space" if symbol == " " else symbol or "END")
