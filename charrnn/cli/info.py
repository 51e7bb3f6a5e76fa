"""Show the contents of a model file.

It shows the network, the vocabulary, the corpus, the settings of the training, and the loss at
each check-up. It also checks whether the training can be resumed: this needs the unchanged corpus.

# contents, quality, and whether the training can be resumed
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'

# the learning curve as a figure
charrnn info --plot curve.svg
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli import options
from charrnn.cli.console import Console, Output
from charrnn.cli.errors import option_for
from charrnn.cli.files import OutputFile
from charrnn.cli.options import OUTPUT, CommandOptions, NewFile, flag, needs
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.tables import Fact, Report, count
from charrnn.errors import CorpusError
from charrnn.settings.fields import setting, settings_of
from charrnn.settings.training import Fitted
from charrnn.system import model_at
from charrnn.text import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.model import Model

MOST = 60  # characters of a vocabulary that are shown
BLOCKS, LETTERS = "▁▂▃▄▅▆▇█", "_.-:=+*#"  # of a learning curve, from low to high
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    RULES = (needs("force", "plot"),)

    model: Path = options.model()
    plot: Path | None = setting(
        NewFile("FILE", "a file name that ends in .svg, .png or .pdf", (".svg", ".png", ".pdf")),
        "Plot the learning curve into this file; needs matplotlib.",
        panel=OUTPUT,
        names=("--plot",),
    )
    force: bool = flag("Replace the file of --plot if it exists.")


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn.runs import load

    model = load(options.model)
    if options.plot is not None:
        from charrnn.plots import figure

        file = OutputFile(options.plot, "--plot", force=options.force)
        file.check(options.model)
        content = figure(options.plot.suffix[1:].lower(), model)
        file.write(len(content), [content])
        console.note(f"figure saved to {options.plot}")
    report = report_on(options.model, model)
    curve = learning_curve(model.trained.history, console.out)
    report.show("info", console, as_json=options.as_json, below=curve)


def report_on(path: Path, model: Model) -> Report:
    """Return the facts of a model for people and for JSON."""
    from charrnn.plan import FOREVER
    from charrnn.score import Mean

    config, corpus, counters = model.config, model.corpus, model.trained.counters
    symbols, characters = model.vocabulary.symbols, model.vocabulary.characters
    size, parameters = os.path.getsize(model_at(path)), model.parameters.flat.size
    names = "  ".join(NAMES.get(symbol) or visible_line(symbol) for symbol in characters[:MOST])
    more = f"  and {len(characters) - MOST:,} more" if len(characters) > MOST else ""
    network = f"{config.layers} x {config.hidden:,} {config.cell}, {parameters:,} parameters"
    settings = asdict(config) | ({"epochs": None} if config.epochs == FOREVER else {})
    del settings["cores"]  # which no result depends on
    typed = [
        f"{option_for(name)} {value}".removesuffix(" True")
        for name, value in settings.items()
        if name not in ("cell", "hidden", "layers", "parts")
        and value is not None
        and (value or value != settings_of(Fitted)[name].default)
    ]
    record = asdict(corpus) | {"symbols": symbols}
    record |= record.pop("reading")
    baselines = record.pop("baselines")
    del record["known"]
    read = f"{count(corpus.examples, 'example', are=corpus.examples_are)}, "
    read += f"{corpus.characters:,} characters; {corpus.held_out_examples:,} more are held out"
    steps = f"{count(counters['step'], 'step')}, {count(counters['epoch'], 'epoch')}"
    best, words, beaten = {}, "", ""
    if model.trained.best is not None and corpus.held_out_characters:
        step, nats = model.trained.best
        best = {"step": step, **Mean(nats, 1).loss()}
        words = f"{tables.of_bits(nats)} per held-out character at step {step:,}"
        if baselines:
            name = min(baselines, key=lambda name: baselines[name])
            beaten = f"{name}, the best baseline: {tables.of_bits(baselines[name])}"
    is_possible, why = resume_of(model)
    counts = "" if model.trained.counted is None else "the file holds the training text (--counts)"
    return Report(
        Fact("model", str(path), "model", f"{path}, {tables.bytes_in_words(size)}"),
        Fact("bytes", size),
        Fact("parameters", parameters, "network", network),
        Fact("hidden", config.hidden),
        Fact("layers", config.layers),
        Fact("holds_corpus", model.trained.counted is not None, "counts", counts),
        Fact("symbols", symbols, "vocabulary", f"{symbols:,} symbols: end, unknown, and"),
        Fact("vocabulary", list(characters), text=names + more),
        Fact("novelty", model.vocabulary.novelty),
        Fact("corpus", record, "corpus", ", ".join(corpus.sources) or "texts passed from Python"),
        Fact(text=read),
        Fact("settings", settings, "settings", " ".join(typed)),
        Fact("steps", counters["step"], "trained", steps),
        Fact("epochs", counters["epoch"]),
        Fact("characters_seen", counters["characters"]),
        Fact("best", best or None, "best", words),
        Fact("baselines", baselines, text=beaten),
        Fact("history", model.trained.history),
        Fact(
            *("resume", {"is_possible": is_possible, "why": why}, "resume"),
            f"{'possible' if is_possible else 'not possible'}: {why}",
        ),
    )


def resume_of(model: Model) -> tuple[bool, str]:
    """Return True if the training can be resumed, and why or why not."""
    from charrnn import texts

    if model.trained.slim:
        return False, "the file has no training state (see charrnn export)"
    try:
        texts.check_files_exist(model.corpus)
        texts.rebuild_corpus(model.corpus, model.vocabulary)
    except CorpusError as error:
        return False, error.what
    why, ended = "the corpus is there, unchanged", model.trained.ended
    if ended in ("epochs", "minutes", "patience"):
        why += f"; it ended by --{ended}: give a larger one"
    return True, why


def learning_curve(history: Sequence[Mapping[str, float]], output: Output) -> list[Visible]:
    """Return a line each for the losses on training and held-out text; [] for few check-ups."""
    if len(history) < 2:
        return []
    curves = {"training with dropout": [row["train_while_hidden"] for row in history]}
    if all("train" in row for row in history):
        curves = {"training": [row["train"] for row in history]}
    if all("held_out" in row for row in history):
        curves["held-out"] = [row["held_out"] for row in history]
    levels = LETTERS if output.is_plain else BLOCKS
    width = max(len(label) for label in curves)
    room = max(10, min(50, output.width - width - 20))
    lines = []
    for label, losses in curves.items():
        low, high = min(losses), max(losses[1:])  # not the high start
        step = max(1.0, len(losses) / room)
        points = [losses[int(place * step)] for place in range(min(len(losses), room))]
        heights = [(min(loss, high) - low) / ((high - low) or 1) for loss in points]
        picture = "".join(levels[min(7, int(8 * height))] for height in heights)
        lines.append(Visible(f"{label:{width}}  {losses[0]:.3f} {picture} {losses[-1]:.3f}"))
    return lines
