"""A model in a cell of a notebook: what it is, and its learning curve as a small picture.

Styles stand in the elements themselves, for a notebook may be dark or light and has its own sheet;
where it has none, and leaves out all styles, there is still a table. Whatever a model or a corpus
is called is escaped.

A bar for a run that is watched from Python, in a terminal or in a notebook.

    |#########            |  43% 00:12<00:16, 1.713 nats held out

A notebook with ipywidgets gets its widget, one without a plain bar, and no warning for it. Where
stderr is neither a terminal nor a notebook's, nothing is drawn."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from charrnn.display.figures import Curve, curve_of
from charrnn.model_file.checkpoint import Checkpoint, Trained
from charrnn.scoring.score import Mean, table
from charrnn.training.loop import Checkup, Event
from charrnn.training.members import share_done

WIDTH, HEIGHT = 480, 160  # of the picture
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 8, 22  # what is around the lines
LEARNING: Final = 'stroke="#56B4E9" stroke-dasharray="2 2"'
HELD_OUT: Final = 'stroke="#0072B2" stroke-width="2"'
BASELINE: Final = 'stroke="#999999" stroke-dasharray="6 3"'
MOST: Final = 500  # points of a line


def model_card(trained: Trained) -> str:
    """The table and the picture."""
    model, corpus = trained.model, trained.corpus
    size = model.architecture
    several = len(trained.networks)
    layers = f"{size.layers} × {size.hidden} {size.cell_name} units"
    networks = f"{several} of {layers}" if several > 1 else layers
    rows = [
        ("network", f"{networks}, {several * size.parameter_count:,} parameters"),
        ("vocabulary", f"{size.symbols:,} symbols"),
        ("learned from", f"{corpus.examples:,} {corpus.examples_are}"),
        ("learned", f"{trained.longest.run['step']:,} steps"),
    ]
    if trained.counted is not None:
        rows.append(("counts", "it holds the text that it learned from"))
    curve = curve_of(trained)
    if trained.best is not None and corpus.held_out_characters:
        rows.append(("held out", of_nats(trained.best[1])))
    if curve is not None and curve.baseline is not None:
        name, nats = curve.baseline
        rows.append((name, of_nats(nats)))
    picture = "" if curve is None or len(curve.steps) < 2 else svg(curve)
    return f"<div>{table(rows)}{picture}</div>"


def of_nats(nats: float) -> str:
    """The loss in both units."""
    bits = Mean(nats, 1).bits_per_character
    return f"{nats:.3f} nats, {bits:.3f} bits per character"


def svg(curve: Curve) -> str:
    """The picture; training begins high up, which is cut off."""
    shown = [*(curve.held_out or curve.learning), curve.learning[-1]]
    shown += [curve.baseline[1]] if curve.baseline is not None else []
    low, high = min(shown), max(shown)
    first, last = curve.steps[0], curve.steps[-1]
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(step: float) -> float:
        return LEFT + (right - LEFT) * (step - first) / (last - first)

    def y(nats: float) -> float:
        return TOP + (bottom - TOP) * (high - min(nats, high)) / ((high - low) or 1)

    def line(values: list[float], style: str) -> str:
        points = list(zip(curve.steps, values, strict=True))
        points = points[:: -(-len(points) // MOST)]
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


FORMAT = "{percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}"


def watched(run: Checkpoint, events: Iterable[Event]) -> Iterator[Event]:
    """The same events; a bar moves meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a notebook does not have
        from tqdm.auto import tqdm

    symbols = run.corpus.characters + run.corpus.examples
    # With None a bar is silent off a terminal, and stderr of a notebook is none.
    silent = False if in_a_notebook() else None
    with tqdm(total=1.0, bar_format=FORMAT, disable=silent) as bar:
        for event in events:
            if isinstance(event, Checkup):
                words = f"{event.train_nats_per_character:.3f} nats in training"
                if event.score is not None:
                    words = f"{event.score.nats_per_character:.3f} nats held out"
                bar.set_postfix_str(words, refresh=False)
            bar.update(share_done(run.states, run.config, symbols) - bar.n)
            yield event


def in_a_notebook() -> bool:
    """Whether cells are what runs here, and not lines in a terminal."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
