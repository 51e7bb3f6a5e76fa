"""Figures by matplotlib, an extra, and what a notebook shows: a coloured text, a progress bar.

Files are drawn without pyplot, so they need no window system; the same run gives the same bytes.
"""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from charrnn.analysis import Reach
from charrnn.errors import CharrnnError, MissingPackageError, SettingError
from charrnn.model_file import Checkpoint, CorpusRecord, Trained
from charrnn.score import BITS, Mean, band_of
from charrnn.text import clusters, visible_in_html, visible_line
from charrnn.training.loop import LOSSES, Checkup, Event
from charrnn.training.state import progress

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


class HasTrained(Protocol):
    @property
    def trained(self) -> Trained: ...


class Curve(NamedTuple):
    """A learning curve: losses over steps in nats per character, and a baseline."""

    steps: list[float]
    learning: list[float]
    held_out: list[float]  # empty if nothing was held out
    best: tuple[float, float] | None  # the step of the lowest held-out loss, and the loss
    baseline: tuple[str, float] | None  # the best n-gram model
    learning_name: str = "training"

    @property
    def shown(self) -> list[float]:
        """The losses that a picture shows, without the high start of training."""
        baseline = [] if self.baseline is None else [self.baseline[1]]
        return [*(self.held_out or self.learning), self.learning[-1], *baseline]


def curve_of(trained: Trained) -> Curve | None:
    """Return the curve of a run; None without a history of check-ups."""
    return make_curve(trained.history, trained.corpus, trained.best)


def make_curve(
    history: Sequence[Mapping[str, float]],
    corpus: CorpusRecord,
    lowest: tuple[int, float] | None = None,
) -> Curve | None:
    """Return the curve of these check-ups, from the unigram loss at step 0 on; None for none.

    ``lowest`` is the step and the loss of the best check-up.
    """
    if not history:
        return None
    nats = corpus.baselines.get("unigram")
    rows = [*history]
    if nats is not None and not corpus.known:  # known: the run started from a model
        rows.insert(0, {"step": 0, "held_out": nats, **dict.fromkeys(LOSSES, nats)})
    held_out = [row["held_out"] for row in rows if "held_out" in row]
    if len(held_out) < len(rows):
        rows, held_out = [*history], []
    best = (float(lowest[0]), lowest[1]) if held_out and lowest is not None else None
    baselines = corpus.baselines
    baseline = (best_of(baselines), min(baselines.values())) if baselines else None
    name, words = training_loss(history)
    steps, learning = [row["step"] for row in rows], [row[name] for row in rows]
    return Curve(steps, learning, held_out, best, baseline, f"training{words and ' '}{words}")


def training_loss(history: Sequence[Mapping[str, float]]) -> tuple[str, str]:
    """Return the name of the training loss that all rows have, and words for how it differs."""
    is_clean = all(LOSSES[0] in row for row in history)
    return (LOSSES[0], "") if is_clean else (LOSSES[1], "with dropout")


def curves_of(models: Mapping[str, HasTrained]) -> dict[str, Curve]:
    """Return the curves of models; raise CharrnnError if one has none or is no model."""
    curves = {}
    for name, model in models.items():
        if not isinstance(getattr(model, "trained", None), Trained):
            what = f"a model cannot be {type(model).__name__}"
            raise SettingError(what, "Give models of charrnn.load or charrnn.fit.", "models")
        curve = curve_of(model.trained)
        if curve is None:
            hint = "Train it until its first check-up."
            if model.trained.slim:
                hint = "A slim model has no history: use the model it was made from."
            raise CharrnnError(f"{name or 'this model'} has no learning curve", hint)
        curves[name] = curve
    return curves


def best_of(losses: Mapping[str, float]) -> str:
    return min(losses, key=lambda name: losses[name])


# The colours of Okabe and Ito, which colour-blind people can distinguish.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SIZE: Final = (7.0, 4.2)  # inches
# Without times and random names, the same figure gives the same bytes.
METADATA: Final[Mapping[str, Mapping[str, Any]]] = {
    "svg": {"Date": None, "Creator": "charrnn"},
    "png": {"Software": "charrnn"},
    "pdf": {"CreationDate": None, "Creator": "charrnn"},
}
SETTINGS: Final[Any] = {"svg.hashsalt": "charrnn", "svg.fonttype": "none", "text.usetex": False}


def plot(models: Mapping[str, HasTrained], ax: Axes | None = None) -> Axes:
    """Draw the learning curves of models by name, and return the Axes; needs matplotlib.

    models: The models by the names that the legend gives them: {"tanh": model, "lstm": other}.
    ax: The Axes of matplotlib to draw into, or None: new ones.
    """
    hint = "Give models by their names: {'a': model}."
    if not isinstance(models, Mapping):
        raise SettingError(f"models cannot be {type(models).__name__}", hint, "models")
    if not models:
        raise SettingError("no model was given to plot", hint)
    curves = curves_of(models)
    if ax is None:
        with matplotlib_needed():
            from matplotlib import pyplot as plt
        ax = plt.subplots(figsize=SIZE, layout="constrained")[1]  # which notebooks show at once
    legend: dict[str, Artist] = {}
    has_learning = len(curves) == 1 or any(not curve.held_out for curve in curves.values())
    for number, (name, curve) in enumerate(curves.items()):
        style = style_of(number)
        of = f"{name}, " if len(curves) > 1 else ""
        if has_learning:
            (line,) = ax.plot(curve.steps, curve.learning, **style | {"ls": ":", "lw": 1.2})
            legend[f"{of}{curve.learning_name}"] = line
        if curve.held_out:
            (line,) = ax.plot(curve.steps, curve.held_out, **style)
            legend[f"{of}held out"] = line
        if curve.best is not None:
            ax.plot(*([part] for part in curve.best), "o", color=style["color"], ms=5)
    baseline = next(iter(curves.values())).baseline
    corpora = {model.trained.corpus.fingerprint for model in models.values()}
    if baseline is not None and len(corpora) == 1:
        legend[baseline[0]] = ax.axhline(baseline[1], color="0.5", lw=1, ls="--")
    ax.set_ylim(heights([*curves.values()]))  # not the high start of training
    finish(ax, legend, "step", "nats per character")
    return ax


def plot_reach(reaches: Mapping[str, Reach], ax: Axes) -> Axes:
    legend: dict[str, Artist] = {}
    for number, (name, reach) in enumerate(reaches.items()):
        back = [steps for steps, norm in enumerate(reach.norms) if norm > 0]
        (legend[name],) = ax.plot(back, [reach.norms[k] for k in back], **style_of(number))
    ax.set_yscale("log")
    finish(ax, legend if len(reaches) > 1 else {}, "steps back", "mean norm of the gradient")
    return ax


def plot_lengths(lengths: Mapping[str, Sequence[int]], ax: Axes) -> Axes:
    legend: dict[str, Artist] = {}
    longest = max((length for some in lengths.values() for length in some), default=0)
    width = longest // 60 + 1  # at most 60 bars
    edges = [edge - 0.5 for edge in range(0, longest + width + 1, width)]
    for number, (name, some) in enumerate(lengths.items()):
        style = style_of(number)
        weights = [1 / len(some)] * len(some)
        ax.hist(some, edges, weights=weights, histtype="step", label=name, **style)
        legend[name] = ax.patches[-1]
    finish(ax, legend, "characters", "share of the texts")
    return ax


def render(kind: str, draw: Callable[[Axes], object]) -> bytes:
    """Return a file of that kind, a key of METADATA, with one figure."""
    with matplotlib_needed():
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    file = io.BytesIO()
    with rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script without a font
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(file, format=kind, dpi=160, metadata=METADATA[kind])
    return file.getvalue()


def heights(curves: Sequence[Curve]) -> tuple[float, float]:
    shown = [nats for curve in curves for nats in curve.shown]
    free = 0.05 * (max(shown) - min(shown)) or 0.05
    return max(0.0, min(shown) - free), max(shown) + free


def finish(ax: Axes, lines: Mapping[str, Artist], x: str, y: str) -> None:
    """Add labels, grid, and a legend with the names of the lines."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.margins(x=0.01)
    ax.locator_params(axis="x", integer=True)
    ax.grid(visible=True, color="0.9", lw=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if not lines:
        return
    legend = ax.legend(list(lines.values()), [f"line {n}" for n in range(len(lines))])
    legend.set_frame_on(False)
    for text, name in zip(legend.get_texts(), lines, strict=True):
        text.set_usetex(False)
        text.set_parse_math(False)
        text.set_text(visible_line(name))  # also one with $ or a leading _


def style_of(number: int) -> dict[str, Any]:
    again, place = divmod(number, len(COLOURS))
    return {"color": COLOURS[place], "lw": 1.8, "ls": ("-", "--", "-.")[again % 3]}


@contextmanager
def matplotlib_needed() -> Iterator[None]:
    """Raise MissingPackageError if matplotlib is not installed."""
    try:
        yield
    except ImportError:
        raise MissingPackageError("matplotlib", "matplotlib") from None


LONGEST: Final = 20_000  # characters shown in a notebook, whose file stores them
INK: Final = "#23262b"  # in a notebook


def heat_map(text: str, nats: Sequence[float]) -> str:
    """Return the coloured text and its sums for a notebook; the last of the nats is END's."""
    from charrnn.export.html import LIGHT

    shown = clusters(text[:LONGEST], nats[: min(len(text), LONGEST)])
    shown = [(cluster.replace("\n", "↵\n"), cost) for cluster, cost in shown]
    rest = f" The first {LONGEST:,} are shown."
    if len(text) <= LONGEST:
        shown, rest = [*shown, ("■\n", nats[-1])], ""
    parts = []
    for band, group in groupby(shown, lambda cluster: band_of(cluster[1])):
        run = list(group)
        words = escape(visible_in_html("".join(cluster for cluster, _ in run)), quote=False)
        if band:
            ink, ground = LIGHT[band - 1].replace("var(--ink)", INK).split()
            bits = " ".join(f"{cost * BITS:.1f}" for _, cost in run)
            style = f"color:{ink};background-color:{ground}"
            words = f'<span style="{style}" title="{bits}">{words}</span>'
        parts.append(words)
    mean = Mean(math.fsum(nats), len(nats))
    bits, each = f"{mean.nats * BITS:,.1f}", f"{mean.bits_per_character:.2f}"
    sums = f"{len(text):,} characters and the end: {bits} bits, {each} for each.{rest}"
    style = "white-space:pre-wrap;overflow-wrap:anywhere"
    return f'<pre style="{style}">{"".join(parts)}</pre><p>{sums}</p>'


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
            bar.update(progress(run.state, run.config, symbols) - bar.n)
            yield event
