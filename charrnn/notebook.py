"""What a notebook shows: learning curves by matplotlib, an extra; coloured text; a progress bar."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

from charrnn.errors import CharrnnError, SettingError
from charrnn.files.model_contents import Checkpoint, Trained
from charrnn.prediction.losses import BITS
from charrnn.system.visible import count, visible
from charrnn.training.state import share_done

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from charrnn.training.loop import Event

NOTEBOOK_LIMIT: Final = 20_000  # characters shown in a notebook, whose file stores them
INK: Final = "#23262b"  # in a notebook
# The colours of Okabe and Ito, which colour-blind people can distinguish.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
NOT_INSTALLED: Final = "matplotlib is not installed", "pip install matplotlib"
INCHES: Final = (7.0, 4.2)  # of a figure


class HasTrained(Protocol):
    @property
    def trained(self) -> Trained: ...


def plot(*models: HasTrained, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the learning curves of models, and return the Axes; needs matplotlib.

    models: The models to compare.
    names: A name of each for the legend; default: the cell and the size.
    ax: The Axes to draw into; by default new ones.
    """
    if not models or not all(hasattr(model, "trained") for model in models):
        raise SettingError("no model was given to plot", "Give one or more: plot(model, other).")
    if any(getattr(model, "mixed", ()) or not model.trained.history for model in models):
        hint = "Train it until its first check-up; a slim model has none, nor has a mixture."
        raise CharrnnError("a model has no learning curve", hint)
    given = [] if names is None else [names] if isinstance(names, str) and names else list(names)
    names = given or names_of(models)
    if len(names) != len(models):
        what = f"models and names differ in number: {len(models):,} and {len(names):,}"
        raise SettingError(what, "Give a name for each model.", "names")
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise CharrnnError(*NOT_INSTALLED) from None
        ax = plt.subplots(figsize=INCHES, layout="constrained")[1]  # which notebooks show at once
    shown: list[float] = []
    for number, (model, name) in enumerate(zip(models, names, strict=True)):
        lead = f"{name}, " if given or len(models) > 1 else ""
        colour = COLOURS[number % len(COLOURS)]
        shown += draw_curves(model.trained, colour, lead, ax, len(models) == 1)
    baselines = models[0].trained.corpus.baselines
    if baselines and len({model.trained.corpus.fingerprint for model in models}) == 1:
        best = min(baselines, key=lambda name: baselines[name])
        ax.axhline(baselines[best], color="0.5", lw=1, ls="--", label=best)
        shown.append(baselines[best])
    margin = 0.05 * (max(shown) - min(shown)) or 0.05
    ax.set_ylim(max(0.0, min(shown) - margin), max(shown) + margin)
    ax.set(xlabel="step", ylabel="nats per character")
    ax.margins(x=0.01)
    ax.grid(visible=True, color="0.9", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def draw_curves(trained: Trained, colour: str, lead: str, ax: Axes, alone: bool) -> list[float]:
    """Draw the losses of a model. Return those that have to be visible: not the high start.

    A ``lead`` begins the names of curves. A model that is alone has a curve of training, too.
    """
    steps = [row["step"] for row in trained.history]
    learning = [row["train"] for row in trained.history]
    held_out = [row["held_out"] for row in trained.history if "held_out" in row]
    is_known = len(held_out) == len(steps)
    if alone or not is_known:
        ax.plot(steps, learning, ":", color=colour, lw=1.2, label=f"{lead}training")
    if not is_known:
        return learning
    ax.plot(steps, held_out, color=colour, lw=1.8, label=f"{lead}held out")
    if trained.best is not None:
        ax.plot(*([part] for part in trained.best), "o", color=colour, ms=5)
    return [learning[-1], *held_out] if alone else held_out


def names_of(models: Sequence[HasTrained]) -> list[str]:
    """Return cell and size of each model, with a number where several are the same."""
    sizes = [model.trained.model.architecture for model in models]
    names = [f"{size.layers} x {size.hidden} {size.cell_name}" for size in sizes]
    if len(set(names)) == len(names):
        return names
    return [f"{number}: {name}" for number, name in enumerate(names, 1)]


def figure(kind: str, model: HasTrained) -> bytes:
    """Return a file of that kind, such as svg, with the learning curve; without pyplot."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise CharrnnError(*NOT_INSTALLED) from None
    file = io.BytesIO()
    with rc_context({"svg.fonttype": "none"}):
        drawn = Figure(figsize=INCHES, layout="constrained")
        plot(model, ax=drawn.add_subplot())
        drawn.savefig(file, format=kind, dpi=160)
    return file.getvalue()


@dataclass(frozen=True, repr=False)
class Surprisal:
    """The loss of each character of a text in nats, and of its END."""

    text: str
    nats: list[float]
    ranks: list[int]  # 1: the likeliest symbol

    def __repr__(self) -> str:
        size = count(len(self.text), "character")
        return f"<charrnn.Surprisal: {size}, {sum(self.nats):.1f} nats>"

    def _repr_html_(self) -> str:
        """Return the coloured text and its sums for a notebook."""
        from charrnn.export.html import LIGHT, band_of

        beginning = zip(self.text[:NOTEBOOK_LIMIT], self.nats, strict=False)
        shown = [(character.replace("\n", "↵\n"), cost) for character, cost in beginning]
        cut = f" The first {NOTEBOOK_LIMIT:,} are shown."
        if len(self.text) <= NOTEBOOK_LIMIT:
            shown, cut = [*shown, ("■\n", self.nats[-1])], ""
        parts = []
        for band, group in groupby(shown, lambda pair: band_of(pair[1])):
            run = list(group)
            words = escape(visible("".join(character for character, _ in run)), quote=False)
            if band:
                ink, ground = LIGHT[band - 1].replace("var(--ink)", INK).split()
                bits = " ".join(f"{cost * BITS:.1f}" for _, cost in run)
                style = f"color:{ink};background-color:{ground}"
                words = f'<span style="{style}" title="{bits}">{words}</span>'
            parts.append(words)
        size = count(len(self.text), "character")
        total = math.fsum(self.nats) * BITS
        sums = f"{size} and the end: {total:,.1f} bits, {total / len(self.nats):.3f} for each.{cut}"
        style = "white-space:pre-wrap;overflow-wrap:anywhere"
        return f'<pre style="{style}">{"".join(parts)}</pre><p>{sums}</p>'


def show_progress(run: Checkpoint, events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events while a bar shows how far the run is."""
    from charrnn.training.loop import Checkup  # it loads what only a training needs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about packages that a notebook lacks
        from tqdm.auto import tqdm

    length = run.corpus.characters + run.corpus.examples
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
            bar.update(share_done(run.state, run.config, length) - bar.n)
            yield event
