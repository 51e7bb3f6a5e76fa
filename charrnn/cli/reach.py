"""Measure how far back in time gradients reach.

The loss at a step depends on the state k steps earlier. If gradients vanish, the dependence
shrinks with k; if they explode, it grows. The table shows the mean norm of the gradient against
k, its decay per step and the spectral radius of the recurrent weights. It also shows the share of
the gradient norms that --bptt cuts off. The cosine compares the truncated gradient with the full
one, for a --bptt of 1, 2, 4, ... steps, up to 200 or the longest example.

With --json, each model is a JSON object on one line.

# is --bptt long enough?
charrnn reach

# does an LSTM reach further?
charrnn train verses --cell lstm -m lstm.npz
charrnn train verses -m tanh.npz
charrnn reach -m lstm.npz -m tanh.npz --plot reach.svg

# the norms, for another program
charrnn reach --json | jq -r '.norms[]'
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from charrnn.cli import options
from charrnn.cli.console import BLUE, BOLD, CYAN, GREEN, RED, YELLOW, Console, Output
from charrnn.cli.files import FigureFile, codes_for, names_of
from charrnn.cli.options import TEXT_OR_HELD_OUT, TextOptions, flag, needs
from charrnn.cli.terminal.curve import Canvas, Line
from charrnn.cli.terminal.tables import Column, Fact, Report, Table, entries, fitted
from charrnn.errors import CorpusError, SettingError
from charrnn.text import Visible

if TYPE_CHECKING:
    from charrnn.analysis import Reach
    from charrnn.model import Model
    from charrnn.vocabulary import Ids

LABELS: Final = 22  # columns of the row labels
COLUMN: Final = 16  # columns of the figures of a model
HEIGHT: Final = 8  # lines of the picture
AXIS: Final = 7  # columns left of the picture
LEAST: Final = 1e-12  # smaller norms are drawn as this one
STYLES: Final = ((GREEN, "*", 0), (YELLOW, ".", 1), (BLUE, "o", 2), (RED, "+", 3))
GOOD_COSINE: Final = 0.99  # the truncated gradient points where the whole one does
MUCH_LONGER: Final = 2  # times a sufficient --bptt: a shorter one is advised


@dataclass(frozen=True, kw_only=True)
class Options(TextOptions):
    RULES = (*TEXT_OR_HELD_OUT, needs("force", "plot"))

    models: tuple[Path, ...] = options.models()
    plot: Path | None = options.plot("Plot the norms into this file.")
    force: bool = flag("Replace the file of --plot if it exists.")

    def check(self) -> None:
        if "-" in self.sources and len(self.models) > 1:
            what = "standard input can be read only once, and there are several models"
            raise SettingError(what, "Name a file as the text, or add --held-out.")


class Measured(NamedTuple):
    """The reach of one model, with its report."""

    reach: Reach
    report: Report
    advice: str


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn.display import plot_reach

    console.note_if_waiting(options.sources)
    file = FigureFile.of(options.plot, options.force, *options.models, *options.sources)
    models = [measure(path, options, console) for path in options.models]
    if file is not None:
        named = dict(zip(names_of(options.models), [one.reach for one in models], strict=True))
        file.draw(partial(plot_reach, named), console)
    if not options.as_json:
        console.out.write_lines(in_words(options.models, models, console.out))
        return
    for one in models:
        one.report.show("reach", console, as_json=True)


def measure(path: Path, options: Options, console: Console) -> Measured:
    """Return how far the gradients of this model reach on the text."""
    from charrnn.analysis import reach_of
    from charrnn.runs import load

    model = load(path)
    ids = ids_of(model, options)
    if not len(ids):
        raise CorpusError("the text has no examples", "Name a text that is not empty.")
    bptt = model.config.bptt
    reach = reach_of(model.language_model, ids, (bptt,))
    size = model.parameters.architecture
    network = f"{size.layers} x {size.hidden} {size.cell_name}"
    advised, cut_off = advice(reach, bptt), reach.cut_off_share(bptt)
    decay, radius, slope = reach.decay_per_step, reach.spectral_radius, reach.mean_slope
    report = Report(
        Fact("model", str(path)),
        Fact(label="network", text=network),
        Fact("horizon", bptt, "horizon (--bptt)", str(bptt)),
        Fact("norms", reach.norms),
        Fact("losses", reach.losses),
        Fact("decay_per_step", decay, "decay per step", three_digits(decay)),
        Fact("spectral_radius", radius, "spectral radius of W", three_digits(radius)),
        Fact("mean_slope", slope, "mean slope 1 - h^2", three_digits(slope)),
        Fact("cut_off_share", cut_off, "cut off by --bptt", f"{cut_off:.1%}"),
        Fact("cosine", {str(steps): cosine for steps, cosine in reach.cosine.items()}),
        Fact("advice", advised),
    )
    return Measured(reach, report, advised)


def ids_of(model: Model, options: Options) -> Ids:
    import numpy as np

    from charrnn.reading import END_CODE
    from charrnn.vocabulary import END

    blocks = [np.zeros(0, model.vocabulary.dtype)]
    for codes in codes_for(model, options):
        ids = model.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        blocks.append(ids)
    return np.concatenate(blocks)


def advice(reach: Reach, bptt: int) -> str:
    """Return what to do about --bptt.

    On average a window of N steps carries a loss only N/2 steps back, so the advised value is
    twice the horizon that is needed.
    """
    needed = min(steps for steps, cosine in reach.cosine.items() if cosine >= GOOD_COSINE)
    advised = min(2 * needed, max(reach.cosine))
    if reach.explodes:
        return (
            "gradients do not shrink on their way back, so every --bptt cuts off a large part:"
            " keep --clip, or try --cell gru"
        )
    steps = "1 step gives" if needed == 1 else f"{needed} steps give"
    why = f"{steps} a cosine of {GOOD_COSINE}"
    if bptt < needed:
        return f"try --bptt {advised}: {why}, and {bptt} reach {reach.cosine[bptt]:.2f}"
    if bptt > MUCH_LONGER * advised:
        return f"--bptt {advised} is enough: {why}"
    return f"--bptt {bptt} is long enough: {why}"


def why(reach: Reach) -> str:
    """Return why gradients shrink although the spectral radius is above 1; "" if not so."""
    decay, slope = reach.decay_per_step, reach.mean_slope
    if slope is None or decay is None or decay >= 1 or reach.spectral_radius <= 1:
        return ""
    return (
        f"gradients shrink although the spectral radius is above 1: at each step the slope 1 - h^2"
        f" multiplies W, and many units are saturated, so it is only {slope:.2g} on average"
    )


def in_words(
    paths: Sequence[Path], models: Sequence[Measured], output: Output
) -> Iterator[Visible]:
    """Yield the tables, with as many models in each as fit, the picture and the advice."""
    names: list[str] = []  # the ends of the paths, all different
    for path in paths:
        name = fitted(str(path), LABELS + 1)
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    column = max(COLUMN, 2 + max(map(len, names)))
    beside = max(1, (output.width - LABELS) // column)
    for first in range(0, len(models), beside):
        some = slice(first, first + beside)
        yield from table_of(models[some], names[some], column, output)
    yield from picture(models, names, output)
    for name, one in zip(names, models, strict=True):
        text = f"{name}: " * (len(models) > 1)
        yield from entries([("advice", text + one.advice)], output)
        if reason := why(one.reach):
            yield from entries([("why", text + reason)], output)


def table_of(
    models: Sequence[Measured], names: Sequence[str], width: int, output: Output
) -> Iterator[Visible]:
    """Yield a table with a column for each of these models."""
    columns = [Column(name, width) for name in names]
    table = Table([Column("", LABELS, is_left=True), *columns], output.width, output)
    reaches = [one.reach for one in models]
    norms = [dict(enumerate(reach.norms)) for reach in reaches]

    def row(label: str, cells: Sequence[str]) -> Visible:
        return table.row({"": label, **dict(zip(names, cells, strict=True))})

    def rows(title: str, first: int, values: Sequence[Mapping[int, float]]) -> Iterator[Visible]:
        yield Visible("")
        yield output.paint(Visible(title), CYAN)
        last = max(map(max, values))
        for steps in sorted({first, *(1 << k for k in range(last.bit_length())), last}):
            shown = [three_digits(of[steps]) if steps in of else "" for of in values]
            yield row(f"{steps:>5}", shown)

    yield table.head()
    for facts in zip(*(one.report for one in models), strict=True):
        if facts[0].text:
            yield row(facts[0].label, [fact.text for fact in facts])
    yield from rows("norm, by steps back", 0, norms)
    yield from rows("cosine, by --bptt", 1, [reach.cosine for reach in reaches])
    yield Visible("")


def three_digits(value: float | None) -> str:
    """Return a number of any size with three digits; "-" for none."""
    return "-" if value is None else f"{value:#.3g}".rstrip(".")


def picture(models: Sequence[Measured], names: Sequence[str], output: Output) -> Iterator[Visible]:
    """Yield a plot of the norms, in powers of ten, against the steps back."""
    wide, plain = output.width - AXIS - 2, output.is_plain
    farthest = max(len(one.reach.norms) for one in models) - 1
    norms = [norm for one in models for norm in one.reach.norms if norm > LEAST]
    if farthest < 2 or wide < 10 or not norms:
        return
    high, low = math.ceil(math.log10(max(norms))), math.floor(math.log10(min(norms)))
    low = min(low, high - 1)
    canvas = Canvas(wide, HEIGHT, plain=plain)
    legend = []
    for number, (name, one) in enumerate(zip(names, models, strict=True)):
        line = Line(*STYLES[number % len(STYLES)])
        logs = [math.log10(max(norm, LEAST)) for norm in one.reach.norms]
        points = [(k / farthest, (high - log) / (high - low)) for k, log in enumerate(logs)]
        canvas.draw(points, line)
        sample = Visible(line.mark * 2 if plain else "⠤⠤" if not line.dash else "⠄⠄")
        legend.append(f"{output.paint(sample, line.style)} {name}")
    labels = {0: f"1e{high}", HEIGHT - 1: f"1e{low}"}
    yield output.paint(Visible("norm"), BOLD)
    yield from canvas.framed(labels, AXIS, "0", f"{farthest} steps back", output.paint)
    if len(models) > 1:
        for entry in legend:
            yield Visible(" " * (AXIS + 1) + entry)
    yield Visible("")
