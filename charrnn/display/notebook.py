"""A model as a notebook shows it, and the progress bar of Python.

The model is a table with a small learning curve. The bar appears in terminals and notebooks alone:

    |#########            |  43% 00:12<00:16, 1.713 nats held out
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from charrnn.display.figures import Curve, curve_of
from charrnn.model_file.checkpoint import Checkpoint, Trained
from charrnn.scoring.score import Mean, table
from charrnn.training.checkup import Checkup
from charrnn.training.loop import Event
from charrnn.training.members import share_done

WIDTH, HEIGHT = 480, 160  # of the curve
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 8, 22  # margins
LEARNING: Final = 'stroke="#56B4E9" stroke-dasharray="2 2"'
HELD_OUT: Final = 'stroke="#0072B2" stroke-width="2"'
BASELINE: Final = 'stroke="#999999" stroke-dasharray="6 3"'


def model_card(trained: Trained) -> str:
    """Return a table of the model and its learning curve as HTML."""
    model, corpus = trained.model, trained.corpus
    size = model.architecture
    several = len(trained.networks)
    layers = f"{size.layers} × {size.hidden} {size.cell_name} units"
    networks = f"{several} of {layers}" if several > 1 else layers
    rows = [
        ("network", f"{networks}, {several * size.parameter_count:,} parameters"),
        ("vocabulary", f"{size.symbols:,} symbols"),
        ("trained on", f"{corpus.examples:,} {corpus.examples_are}"),
        ("trained for", f"{trained.longest.run['step']:,} steps"),
    ]
    if trained.counted is not None:
        rows.append(("counts", "the model holds its training text"))
    curve = curve_of(trained)
    if trained.best is not None and corpus.held_out_characters:
        rows.append(("held out", nats_and_bits(trained.best[1])))
    if curve is not None and curve.baseline is not None:
        name, nats = curve.baseline
        rows.append((name, nats_and_bits(nats)))
    picture = "" if curve is None or len(curve.steps) < 2 else svg(curve)
    return f"<div>{table(rows)}{picture}</div>"


def nats_and_bits(nats: float) -> str:
    return f"{nats:.3f} nats, {Mean(nats, 1).bits_per_character:.3f} bits per character"


def svg(curve: Curve) -> str:
    """Return the curve as SVG; the high start of training is cut off."""
    low, high = min(curve.shown), max(curve.shown)
    first, last = curve.steps[0], curve.steps[-1]
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(step: float) -> float:
        return LEFT + (right - LEFT) * (step - first) / (last - first)

    def y(nats: float) -> float:
        return TOP + (bottom - TOP) * (high - min(nats, high)) / ((high - low) or 1)

    def line(values: list[float], style: str) -> str:
        points = list(zip(curve.steps, values, strict=True))
        points = points[:: -(-len(points) // 500)]
        places = " ".join(f"{x(step):.1f},{y(nats):.1f}" for step, nats in points)
        return f'<polyline fill="none" {style} points="{places}"/>'

    def text(x: float, y: float, words: str, anchor: str = "start") -> str:
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        return f'<text {place} font-size="11" fill="currentColor">{escape(words)}</text>'

    parts = [line(curve.learning, LEARNING)]
    if curve.baseline is not None:
        parts.append(f'<path d="M{LEFT} {y(curve.baseline[1]):.1f}H{right}" {BASELINE}/>')
    name, values = "loss in training", curve.learning
    if curve.held_out:
        parts.append(line(curve.held_out, HELD_OUT))
        name, values = "held-out loss", curve.held_out
    parts += [
        text(LEFT - 4, TOP + 8, f"{high:.2f}", "end"),
        text(LEFT - 4, bottom, f"{low:.2f}", "end"),
        text(LEFT, HEIGHT - 4, f"{first:,.0f}"),
        text(right, HEIGHT - 4, f"{last:,.0f} steps", "end"),
    ]
    about = f"{name} from {values[0]:.2f} to {min(values):.2f} nats per character"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" role="img" aria-label="{escape(about)}">{"".join(parts)}</svg>'
    )


def show_progress(run: Checkpoint, events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events while a bar shows how far the run is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about packages that a notebook lacks
        from tqdm.auto import tqdm

    symbols = run.corpus.characters + run.corpus.examples
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    in_notebook = shell is not None and "IPKernelApp" in shell.config
    disable = False if in_notebook else None  # None: disabled unless stderr is a terminal
    layout = "{percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}"
    with tqdm(total=1.0, bar_format=layout, disable=disable) as bar:
        for event in events:
            if isinstance(event, Checkup):
                words = f"{event.train_nats_per_character:.3f} nats in training"
                if event.score is not None:
                    words = f"{event.score.nats_per_character:.3f} nats held out"
                bar.set_postfix_str(words, refresh=False)
            bar.update(share_done(run.states, run.config, symbols) - bar.n)
            yield event
