"""Show every step of the network on a text, with its equations.

This is figure 10.3 of the book with numbers. Each row is a step: the character that it reads, the
likeliest next character, the target and its loss in nats. The last columns are the norm of the
hidden state, and of the gradient of the total loss with respect to it. Below each row are the units
of each layer, a cell for each. The losses are those of charrnn eval.

With -o, the figure is a web page that works offline, or an SVG picture for a slide. On the page,
point at a cell, or walk with the arrow keys, to see its equation with numbers.

For several networks (train --members), the first is used; counts (train --counts) are left out.

# each step of a name
charrnn unfold Tyrannosaurus

# the equations of the third step, forwards and backwards
charrnn unfold Tyrannosaurus --step 3 --backward

# a page to explore, and a picture for a slide
charrnn unfold Tyrannosaurus --backward -o unfold.html
charrnn unfold Tyr -o unfold.svg

# do gradients vanish?
charrnn unfold Tyrannosaurus --json | jq -c '.steps[] | [.reads, .norm_dh]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli import options
from charrnn.cli.console import BLUE, BOLD, CYAN, DIM, YELLOW, Console, Output, wrap
from charrnn.cli.files import OutputFile, note_if_several
from charrnn.cli.options import OUTPUT, CommandOptions, NewFile, excludes, flag, needs
from charrnn.cli.reach import three_digits
from charrnn.cli.terminal.tables import INDENT, Column, Table, entries
from charrnn.errors import SettingError
from charrnn.settings.fields import COUNT, Text, setting
from charrnn.text import Visible, encodable, joined, visible_line

if TYPE_CHECKING:
    from charrnn.unfold import Unfolding


COLUMNS = (
    Column("step", 4),
    Column("reads", 7),
    Column("likeliest", 12),
    Column("target", 7),
    Column("loss", 8),
    Column("|h|", 8, 1),
    Column("|dL/dh|", 9, 2),
)
LEVELS, PLAIN = "▁▂▃▄▅▆▇", "_.-~+*#"  # cells, from the lowest to the highest
STYLES = {-1: BLUE, 0: DIM, 1: YELLOW}  # by the sign
LABEL = 6  # columns before the cells
UNITS = 4  # with equations


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """The options of ``charrnn unfold``."""

    RULES = (
        *(excludes("step", "as_json", "output"), excludes("output", "as_json")),
        needs("force", "output"),
    )

    text: str = setting(Text(), "The text to read.", default=MISSING, names=("TEXT",))
    backward: bool = flag("Also show the gradients of the total loss: back-propagation.")
    step: int | None = setting(
        COUNT, "Show the equations of this step, with numbers of a few units.", panel=OUTPUT
    )
    output: Path | None = setting(
        NewFile("FILE", "a file name that ends in .html or .svg", (".html", ".svg")),
        "Write the figure into this file: a page (.html) or a picture (.svg).",
        panel=OUTPUT,
        names=("-o", "--output"),
    )
    model: Path = options.model()
    force: bool = flag("Replace the file of --output if it exists.")


def run(options: Options, _threads: int, console: Console) -> None:
    """Unfold the text, and show the table, the equations, the JSON or the figure."""
    from charrnn.cli.sample.run import as_read, note_prime
    from charrnn.runs import load
    from charrnn.unfold import unfold

    file = None
    if options.output is not None:
        file = OutputFile(options.output, "--output", force=options.force)
        file.check(options.model)
    model = load(options.model)
    note_if_several(options.model, model, console)
    text = as_read(options.text, model.reading)
    note_prime(text, model.vocabulary, console)
    found = unfold(model.language_model, text)
    step, last = options.step or 1, len(found.targets)
    if step > last:
        raise SettingError(f"--step {step} is beyond the text", f"It has {last} steps.")
    if file is not None:
        from charrnn.export.figure import Drawing

        drawing = Drawing(found, backward=options.backward)
        content = drawing.page() if file.path.suffix.lower() == ".html" else drawing.picture()
        file.write(len(content), [encodable(content).encode()])
        console.note(f"figure saved to {file.path}")
    elif options.as_json:
        facts = found.as_json(backward=options.backward) | {"text": encodable(text)}
        console.json("unfold", {"model": str(options.model), **facts})
    else:
        shown = table if options.step is None else equations
        console.out.write_lines(shown(found, step - 1, options.backward, console.out))


def table(found: Unfolding, _first: int, backward: bool, output: Output) -> Iterator[Visible]:
    """Yield a row for each step, with the cells of its layers below it, and the sum."""
    from charrnn.unfold import bands

    rows, y_hat = Table(COLUMNS, output.width, output), found.output.values["y_hat"]
    norms = [found.norms(name).tolist() for name in ("h", "dL/dh")]
    numbers = [str(number + 1) * (len(found.layers) > 1) for number in range(len(found.layers))]
    cells = {
        f"{name}{number}": bands(name, part.values[name])
        for number, part in zip(reversed(numbers), reversed(found.layers), strict=True)
        for name in ("h", "dL/dh")[: 1 + backward]
    }
    yield rows.head()
    for t, (h, d_h) in enumerate(zip(*norms, strict=True)):
        best = found.likeliest(t)[0]
        likeliest = f"{named(found.symbols[best])} {y_hat[t, best]:.2f}"
        loss = f"{found.loss.at('L', t, 0):.3f}"
        row = [str(t + 1), named(found.reads[t]), likeliest, named(found.targets[t]), loss]
        row += [three_digits(h), three_digits(d_h)]
        yield rows.row({column.name: cell for column, cell in zip(COLUMNS, row, strict=True)})
        for label, levels in cells.items():
            lead = output.paint(Visible(f"{label:>{LABEL}} "), CYAN)
            yield joined([lead, row_of(levels[t], output)])
    loss = f"{found.nats:.3f} nats in {len(norms[0])} steps"
    about = "the units of a layer, as many as fit. A gradient ten times smaller has the next mark:"
    yield from [Visible(""), *entries([("sum", loss), ("cells", about)], output)]
    yield joined([Visible(" " * INDENT), row_of(range(7), output), Visible(" from -1 to 1")])


def row_of(levels: Iterable[int], output: Output) -> Visible:
    """Return the cells of a layer that fit in a line."""
    marks = PLAIN if output.is_plain else LEVELS
    shown = [int(level) for level in islice(levels, output.width - LABEL - 1)]
    runs = groupby(shown, lambda level: (level > 3) - (level < 3))
    return joined(
        output.paint(Visible("".join(marks[level] for level in run)), STYLES[sign])
        for sign, run in runs
    )


def equations(found: Unfolding, t: int, backward: bool, output: Output) -> Iterator[Visible]:
    """Yield the equations of a step, each with the numbers of some units."""
    from charrnn.unfold import BACKWARD

    count = found.layers[0].values["h"].shape[1]
    units: dict[int, str] = {i: f"unit {i + 1}" for i in range(min(UNITS, count))}
    reads, target = named(found.reads[t]), named(found.targets[t])
    symbols: dict[int, str] = {k: named(found.symbols[k]) for k in found.likeliest(t)}
    y = int(found.output.values["1 at y(t)"][t].argmax())
    parts = [(f"layer {number}", part, units) for number, part in enumerate(found.layers, 1)]
    parts += [("output", found.output, symbols | {y: target})]
    parts += [("loss", found.loss, {0: target})]
    yield from wrap(f"step t = {t + 1} reads {reads} and predicts {target}", output.width)
    for name, part, shown in parts:
        yield from [Visible(""), output.paint(Visible(name), BOLD)]
        for value, template in part.equations.items():
            if value.startswith(BACKWARD) and not backward:
                continue
            letters, _, number = template.partition("  ")
            written = f"{value}(t) = {re.sub('[{}]', '', letters)}"
            yield from entries([(number or " ", written)], output)
            rows = [(unit, part.filled(value, t, i)) for i, unit in shown.items()]
            yield from entries(rows, output)


def named(symbol: str) -> Visible:
    """Return a character as one word."""
    return visible_line("space" if symbol == " " else symbol)
