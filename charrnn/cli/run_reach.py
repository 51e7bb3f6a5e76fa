"""What ``charrnn reach`` does: read the text, let gradients walk back, tell how far they came.

How far gradients reach, as a table and a picture; several models stand side by side.

1e-1 |***
     |   ****
     | ..    ***
1e-6 |   ....   **
     +----------------
      0             40 steps back"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from charrnn.analysis.reach import Reach, reach_of
from charrnn.cli.console import BLUE, BOLD, CYAN, GREEN, RED, YELLOW, Console, Output
from charrnn.cli.files import FigureFile, Reads, codes_for, names_of, note_if_several
from charrnn.cli.terminal.curve import Canvas, Line
from charrnn.cli.terminal.tables import Column, Table, entries
from charrnn.corpus.segmentation import END_CODE
from charrnn.display.figures import plot_reach
from charrnn.errors import CorpusError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.text import Visible, visible_line
from charrnn.vocabulary import END, Ids

if TYPE_CHECKING:
    from charrnn.cli.reach import Options


FIRST: Final = 22  # columns of the names of the rows
COLUMN: Final = 16  # and of the figures of a model
HEIGHT: Final = 8  # lines of the picture
LABEL: Final = 7  # columns before it
LEAST: Final = 1e-12  # norms below that are all the same to the eye
STYLES: Final = ((GREEN, "*", 0), (YELLOW, ".", 1), (BLUE, "o", 2), (RED, "+", 3))


class Found(NamedTuple):
    """What is known of a model."""

    model: str
    network: str
    horizon: int  # that it was trained with
    reach: Reach
    advice: str


def report(found: Sequence[Found], output: Output) -> Iterator[Visible]:
    """The tables, as many models in each as fit, the picture and the advice."""
    names = short_names([one.model for one in found])
    column = max(COLUMN, 2 + max(map(len, names)))
    together = max(1, (output.width - FIRST) // column)
    for first in range(0, len(found), together):
        some = slice(first, first + together)
        yield from table_of(found[some], names[some], column, output)
    yield from picture(found, names, output)
    many = len(found) > 1
    for name, one in zip(names, found, strict=True):
        yield from entries([("advice", f"{name}: {one.advice}" if many else one.advice)], output)


def table_of(
    found: Sequence[Found], names: Sequence[str], column: int, output: Output
) -> Iterator[Visible]:
    """A column of figures for each of these models."""
    columns = [Column(name, column) for name in names]
    table = Table([Column("", FIRST, is_left=True), *columns], output.width, output)
    yield table.head()
    for name, cells in rows(found):
        if cells is None:
            yield Visible("")
            yield output.paint(Visible(name), CYAN)
        else:
            yield table.row({"": name, **dict(zip(names, cells, strict=True))})
    yield Visible("")


def rows(found: Sequence[Found]) -> Iterator[tuple[str, list[str] | None]]:
    """The rows of the table, a cell for each model; None for a heading."""
    reaches = [one.reach for one in found]
    yield "network", [one.network for one in found]
    yield "decay per step", [shown(reach.decay_per_step) for reach in reaches]
    yield "spectral radius of W", [shown(reach.spectral_radius) for reach in reaches]
    yield "horizon: --bptt", [str(one.horizon) for one in found]
    yield "cut off by it", [f"{one.reach.cut_off_share(one.horizon):.1%}" for one in found]
    yield "norm, steps back", None
    for back in doubling(max(len(reach.norms) for reach in reaches) - 1, 0):
        yield f"{back:>5}", [at(dict(enumerate(reach.norms)), back) for reach in reaches]
    yield "cosine, horizon", None
    for steps in doubling(max(max(reach.cosine) for reach in reaches), 1):
        yield f"{steps:>5}", [at(reach.cosine, steps) for reach in reaches]


def doubling(last: int, first: int) -> list[int]:
    """first, 1, 2, 4, ... and the last."""
    powers = [1 << power for power in range(last.bit_length())]
    return sorted({first, *powers, last})


def at(values: dict[int, float], place: int) -> str:
    """The value there; where there is none, nothing."""
    return shown(values[place]) if place in values else ""


def shown(value: float | None) -> str:
    """Three figures, of a number of any size."""
    return "-" if value is None else f"{value:#.3g}".rstrip(".")


def short_names(models: Sequence[str]) -> list[str]:
    """The ends of the names, each another."""
    names: list[str] = []
    for model in models:
        whole = visible_line(model)
        name = str(whole) if len(whole) <= FIRST else f"..{whole[2 - FIRST :]}"
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    return names


def picture(found: Sequence[Found], names: Sequence[str], output: Output) -> Iterator[Visible]:
    """The norms against the steps back, in powers of ten; nothing where there are not two."""
    wide, plain = output.width - LABEL - 2, output.is_plain
    far = max(len(one.reach.norms) for one in found) - 1
    norms = [norm for one in found for norm in one.reach.norms if norm > LEAST]
    if far < 2 or wide < 10 or not norms:
        return
    high, low = math.ceil(math.log10(max(norms))), math.floor(math.log10(min(norms)))
    low = min(low, high - 1)
    canvas = Canvas(wide, HEIGHT, plain=plain)
    legend = []
    for number, (name, one) in enumerate(zip(names, found, strict=True)):
        line = Line(name, *STYLES[number % len(STYLES)])
        logs = [math.log10(max(norm, LEAST)) for norm in one.reach.norms]
        canvas.draw([(k / far, (high - log) / (high - low)) for k, log in enumerate(logs)], line)
        sample = Visible(line.mark * 2 if plain else "⠤⠤" if not line.dash else "⠄⠄")
        legend.append(f"{output.paint(sample, line.style)} {name}")
    bar, corner, floor = ("|", "+", "-") if plain else ("│", "└", "─")
    labels = {0: f"1e{high}", HEIGHT - 1: f"1e{low}"}
    yield output.paint(Visible("norm"), BOLD)
    for row, line_of_dots in enumerate(canvas.lines(output.paint)):
        yield Visible(f"{labels.get(row, ''):>{LABEL - 1}} {bar}{line_of_dots}")
    yield Visible(" " * LABEL + corner + floor * wide)
    yield Visible(f"{'':{LABEL}} 0{f'{far} steps back':>{wide - 1}}")
    if len(found) > 1:
        for entry in legend:
            yield Visible(" " * (LABEL + 1) + entry)
    yield Visible("")


RIGHT: Final = 0.99  # a cosine that is as good as 1
LONG: Final = 2  # times as long as it needs to be


def run(options: Options, file: FigureFile | None, console: Console) -> None:
    """Do all of it."""
    reads = Reads(options.sources, options.examples, options.reading)
    console.note_if_waiting(options.sources)
    if file is not None:
        file.check(*options.sources, *(os.path.join(os.curdir, path) for path in options.models))
    found = [find(path, reads, console) for path in options.models]
    if file is not None:
        reaches = [one.reach for one in found]
        named = dict(zip(names_of(options.models), reaches, strict=True))
        file.write(partial(plot_reach, named), console)
    if not options.as_json:
        console.out.write_lines(report(found, console.out))
        return
    for one in found:
        console.json("reach", described(one))


def find(path: Path, reads: Reads, console: Console) -> Found:
    """How far the gradients of that model reach."""
    model = load(path)
    note_if_several(model, console)
    ids = ids_of(model, reads)
    if not len(ids):
        raise CorpusError("there is no example in what was read", "Name a text that is not empty.")
    horizon = model.config.bptt
    reach = reach_of(model.language_model, ids, (horizon,))
    size = model.parameters.architecture
    network = f"{size.layers} x {size.hidden} {size.cell_name}"
    return Found(str(path), network, horizon, reach, advice(reach, horizon))


def ids_of(model: Model, reads: Reads) -> Ids:
    """The text in symbols."""
    blocks = [np.zeros(0, model.vocabulary.dtype)]
    for codes in codes_for(model, reads):
        ids = model.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        blocks.append(ids)
    return np.concatenate(blocks)


def advice(reach: Reach, horizon: int) -> str:
    """What to do about the horizon. A window of so many steps carries a loss half as far back, in
    the mean, for some losses come early in it.
    """
    needed = min(steps for steps, cosine in reach.cosine.items() if cosine >= RIGHT)
    wanted = min(2 * needed, max(reach.cosine))
    if reach.explodes:
        return (
            "gradients do not shrink on their way back, so that any --bptt cuts through them: keep"
            " --clip, or try --cell gru"
        )
    why = f"{needed} {'step is' if needed == 1 else 'steps are'} enough for a cosine of {RIGHT}"
    if horizon < needed:
        return f"try --bptt {wanted}: {why}, and {horizon} have {reach.cosine[horizon]:.2f}"
    if horizon > LONG * wanted:
        return f"--bptt {wanted} would do: {why}"
    return f"--bptt {horizon} is long enough: {why}"


def described(found: Found) -> dict[str, Any]:
    """All of it for programs."""
    reach = found.reach
    return {
        "model": found.model,
        "horizon": found.horizon,
        "norms": reach.norms,
        "losses": reach.losses,
        "decay_per_step": reach.decay_per_step,
        "spectral_radius": reach.spectral_radius,
        "cut_off_share": reach.cut_off_share(found.horizon),
        "cosine": {str(steps): cosine for steps, cosine in reach.cosine.items()},
        "advice": found.advice,
    }
