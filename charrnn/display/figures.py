"""Figures by matplotlib, which comes as an extra: learning curves, the reach of gradients, lengths.

``plot`` draws into Axes that the caller has, or into new ones of pyplot's. A file is drawn without
pyplot: no window system is looked for, and the same run is the same bytes. Names of models are
shown as they are: no formulas, and no secrets that begin with ``_``.

What a learning curve shows, whatever it is drawn with: losses over steps, and a line to beat."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from charrnn.analysis.reach import Reach
from charrnn.errors import CharrnnError, MissingPackageError, SettingError
from charrnn.model_file.checkpoint import Trained
from charrnn.model_file.fields import CorpusRecord
from charrnn.text import visible_line

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


class HasTrained(Protocol):
    """A model, as far as it is looked at here."""

    @property
    def trained(self) -> Trained:
        """What its run has come to."""
        ...


class Curve(NamedTuple):
    """All of it, in nats per character."""

    steps: list[float]
    learning: list[float]
    held_out: list[float]  # none where nothing was held out
    best: tuple[float, float] | None  # the step of the lowest held-out loss, and that
    baseline: tuple[str, float] | None  # the best by counting


def curve_of(trained: Trained) -> Curve | None:
    """The curve of a run; None where nobody kept it, or there was no check-up."""
    longest = trained.longest
    if not longest.history:
        return None
    rows: list[Mapping[str, float]] = [*first_row(trained.corpus), *longest.history]
    held_out = [row["held_out"] for row in rows if "held_out" in row]
    if len(held_out) < len(rows):
        rows, held_out = [*longest.history], []
    best = None
    if held_out and longest.best is not None:
        step, nats = longest.best
        best = float(step), nats
    baselines = trained.corpus.baselines
    baseline = (best_of(baselines), min(baselines.values())) if baselines else None
    steps, learning = [row["step"] for row in rows], [row["train"] for row in rows]
    return Curve(steps, learning, held_out, best, baseline)


def curves_of(models: Mapping[str, HasTrained]) -> dict[str, Curve]:
    """The curves of several; CharrnnError where one has none, or is no model."""
    found = {}
    for name, model in models.items():
        if not isinstance(getattr(model, "trained", None), Trained):
            raise SettingError(
                f"a model cannot be {type(model).__name__}",
                "Give what charrnn.load or charrnn.fit has made.",
                "models",
            )
        curve = curve_of(model.trained)
        if curve is None:
            raise CharrnnError(
                f"there is no curve of {name or 'this model'}: nothing is known of how it learned",
                "A slim model has no history: take the one that it was made of."
                if model.trained.slim
                else "Train it until its first check-up.",
            )
        found[name] = curve
    return found


def share_a_corpus(models: Mapping[str, HasTrained]) -> bool:
    """Whether all have learned from the same, so that there is one line to beat."""
    return len({model.trained.corpus.fingerprint for model in models.values()}) == 1


def first_row(corpus: CorpusRecord) -> list[Mapping[str, float]]:
    """What a network loses before its first step, where that is known and it began from nothing."""
    begins = corpus.baselines.get("unigram")
    return (
        [] if begins is None or corpus.known else [{"step": 0, "train": begins, "held_out": begins}]
    )


def best_of(losses: Mapping[str, float]) -> str:
    """The name of the best of these baselines."""
    return min(losses, key=lambda name: losses[name])


# Told apart by who does not tell red from green: the colours of Okabe and Ito.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: Final = ("-", "--", "-.")  # when all colours have been used
GREY, FAINT = "0.5", "0.9"
SIZE: Final = (7.0, 4.2)  # inches
DOTS: Final = 160  # an inch
BARS: Final = 60  # of a histogram, at most
# No time of day in the file, and names of its parts that are the same each time.
METADATA: Final[Mapping[str, Mapping[str, Any]]] = {
    "svg": {"Date": None, "Creator": "charrnn"},
    "png": {"Software": "charrnn"},
    "pdf": {"CreationDate": None, "Creator": "charrnn"},
}
SETTINGS: Final[Any] = {"svg.hashsalt": "charrnn", "svg.fonttype": "none", "text.usetex": False}

Draw = Callable[["Axes"], object]


def plot(models: Mapping[str, HasTrained], ax: Axes | None = None) -> Axes:
    """The learning curves of models, by what they are to be called; the Axes that they are in."""
    if not isinstance(models, Mapping):
        raise SettingError(
            f"models cannot be {type(models).__name__}",
            "Give each by the name that it is to have: {'a': model}.",
            "models",
        )
    if not models:
        raise SettingError("there is no model to plot", "Give one by its name: {'a': model}.")
    curves = curves_of(models)
    ax = new_axes() if ax is None else ax
    legend = Legend()
    has_learning = len(curves) == 1 or any(not curve.held_out for curve in curves.values())
    for number, (name, curve) in enumerate(curves.items()):
        style = style_of(number)
        of = f"{name}, " if len(curves) > 1 else ""
        if has_learning:
            (line,) = ax.plot(curve.steps, curve.learning, **style | {"ls": ":", "lw": 1.2})
            legend.add(line, f"{of}learning")
        if curve.held_out:
            (line,) = ax.plot(curve.steps, curve.held_out, **style)
            legend.add(line, f"{of}held out")
        if curve.best is not None:
            ax.plot(*([part] for part in curve.best), "o", color=style["color"], ms=5)
    baseline = next(iter(curves.values())).baseline
    if baseline is not None and share_a_corpus(models):
        legend.add(ax.axhline(baseline[1], color=GREY, lw=1, ls="--"), baseline[0])
    ax.set_ylim(*heights(list(curves.values())))
    finish(ax, legend, "step", "nats per character")
    return ax


def plot_reach(reaches: Mapping[str, Reach], ax: Axes) -> Axes:
    """The norms of gradients against the steps that they were carried back; the Axes."""
    legend = Legend()
    for number, (name, reach) in enumerate(reaches.items()):
        back = [steps for steps, norm in enumerate(reach.norms) if norm > 0]
        (line,) = ax.plot(back, [reach.norms[steps] for steps in back], **style_of(number))
        legend.add(line, name)
    ax.set_yscale("log")
    finish(ax, legend if len(reaches) > 1 else Legend(), "steps back", "mean norm of the gradient")
    return ax


def plot_lengths(lengths: Mapping[str, Sequence[int]], ax: Axes) -> Axes:
    """How often texts have how many characters, by what they are; the Axes."""
    legend = Legend()
    longest = max((length for some in lengths.values() for length in some), default=0)
    width = longest // BARS + 1
    edges = [edge - 0.5 for edge in range(0, longest + width + 1, width)]
    for number, (name, some) in enumerate(lengths.items()):
        style = style_of(number)
        weights = [1 / len(some)] * len(some)
        ax.hist(some, edges, weights=weights, histtype="step", label=name, **style)
        legend.add(ax.patches[-1], name)
    finish(ax, legend, "characters", "share of the texts")
    return ax


def drawn(kind: str, draw: Draw) -> bytes:
    """A file of that kind, a key of METADATA, with one figure in it."""
    with needed():
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    file = io.BytesIO()
    with rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script without a font
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(file, format=kind, dpi=DOTS, metadata=METADATA[kind])
    return file.getvalue()


def heights(curves: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest loss to show. Training begins high up, which is left out."""
    shown = [nats for curve in curves for nats in curve.held_out or curve.learning]
    shown += [curve.learning[-1] for curve in curves]
    shown += [curve.baseline[1] for curve in curves if curve.baseline is not None]
    free = 0.05 * (max(shown) - min(shown)) or 0.05
    return max(0.0, min(shown) - free), max(shown) + free


class Legend:
    """What each line is called."""

    def __init__(self) -> None:
        self.lines: list[Artist] = []
        self.names: list[str] = []

    def add(self, line: Artist, name: str) -> None:
        """A line, and its name."""
        self.lines.append(line)
        self.names.append(visible_line(name))

    def put(self, ax: Axes) -> None:
        """Show it; matplotlib would leave out what begins with _, and take $x$ for a formula."""
        if not self.lines:
            return
        legend = ax.legend(self.lines, [f"line {n}" for n, _ in enumerate(self.lines)])
        legend.set_frame_on(False)
        for text, name in zip(legend.get_texts(), self.names, strict=True):
            text.set_usetex(False)
            text.set_parse_math(False)
            text.set_text(name)


def finish(ax: Axes, legend: Legend, x: str, y: str) -> None:
    """What all figures have."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.margins(x=0.01)
    ax.locator_params(axis="x", integer=True)
    ax.grid(visible=True, color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    legend.put(ax)


def style_of(number: int) -> dict[str, Any]:
    """How the line of the model of that number looks."""
    colour = COLOURS[number % len(COLOURS)]
    return {"color": colour, "lw": 1.8, "ls": DASHES[number // len(COLOURS) % len(DASHES)]}


def new_axes() -> Axes:
    """Those of a new figure of pyplot's, which notebooks show by themselves."""
    with needed():
        from matplotlib import pyplot as plt
    return plt.subplots(figsize=SIZE, layout="constrained")[1]


@contextmanager
def needed() -> Iterator[None]:
    """MissingPackageError where matplotlib is not there."""
    try:
        yield
    except ImportError:
        raise MissingPackageError("matplotlib", "plot") from None
