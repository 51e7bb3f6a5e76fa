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

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import (
    Console,
    Entry,
    Output,
    bytes_in_words,
    check_output,
    count,
    entries,
    write_output,
)
from charrnn.cli.errors import option_for
from charrnn.cli.options import OUTPUT, CommandOptions, File, flag
from charrnn.errors import CorpusError, SettingError
from charrnn.settings import setting
from charrnn.system import model_at
from charrnn.text import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.model import Model

MOST = 60  # characters of a vocabulary that are shown
APART = ("baselines", "known")  # not part of the corpus in JSON
BLOCKS, LETTERS = "▁▂▃▄▅▆▇█", "_.-:=+*#"  # of a learning curve, from low to high
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    model: Path = options.model()
    plot: Path | None = setting(
        File("FILE", ".svg", ".png", ".pdf"),
        "Plot the learning curve into this file; needs matplotlib.",
        panel=OUTPUT,
        names=("--plot",),
    )
    force: bool = flag("Replace the file of --plot if it exists.")


def run(options: Options, console: Console) -> None:
    from charrnn.runs import load

    if options.force and options.plot is None:
        raise SettingError("--force needs --plot FILE", "Add --plot FILE.")
    model = load(options.model)
    if options.plot is not None:
        from charrnn.plots import figure

        check_output(options.plot, "--plot", options.model, force=options.force)
        write_output(options.plot, figure(options.plot.suffix[1:].lower(), model))
        console.note(f"figure saved to {options.plot}")
    is_possible, why = resume_of(model)
    if options.as_json:
        facts = facts_of(options.model, model)
        console.json("info", facts | {"resume": {"is_possible": is_possible, "why": why}})
        return
    can = "possible" if is_possible else "not possible"
    rows = [*in_words(options.model, model), ("resume", f"{can}: {why}")]
    console.out.write_lines(entries(rows, console.out))
    console.out.write_lines(learning_curve(model.trained.history, console.out))


def facts_of(path: Path, model: Model) -> dict[str, Any]:
    """Return what JSON has."""
    from charrnn.score import Mean

    config, trained, corpus = model.config, model.trained, asdict(model.corpus)
    corpus |= corpus.pop("reading")
    best = None
    if trained.best is not None and model.corpus.held_out_characters:
        best = {"step": trained.best[0], **Mean(trained.best[1], 1).loss()}
    return {
        "model": str(path),
        "bytes": os.path.getsize(model_at(path)),
        "parameters": model.parameters.flat.size,
        "hidden": config.hidden,
        "layers": config.layers,
        "symbols": model.vocabulary.symbols,
        "vocabulary": list(model.vocabulary.characters),
        "novelty": model.vocabulary.novelty,
        "settings": settings_of(model),
        "corpus": {name: value for name, value in corpus.items() if name not in APART}
        | {"symbols": model.vocabulary.symbols},
        "holds_corpus": trained.counted is not None,
        "steps": trained.counters["step"],
        "epochs": trained.counters["epoch"],
        "characters_seen": trained.counters["characters"],
        "best": best,
        "baselines": corpus["baselines"],
        "history": trained.history,
    }


def in_words(path: Path, model: Model) -> Iterator[Entry]:
    """Yield what people read."""
    config, trained, corpus = model.config, model.trained, model.corpus
    yield "model", f"{path}, {bytes_in_words(os.path.getsize(model_at(path)))}"
    network = f"{config.layers} x {config.hidden:,} {config.cell}"
    yield "network", f"{network}, {model.parameters.flat.size:,} parameters"
    characters = model.vocabulary.characters
    yield "vocabulary", f"{len(characters) + 2:,} symbols: end, unknown, and"
    names = "  ".join(NAMES.get(symbol) or visible_line(symbol) for symbol in characters[:MOST])
    yield "", names + (f"  and {len(characters) - MOST:,} more" if len(characters) > MOST else "")
    yield "corpus", ", ".join(corpus.sources) or "texts passed from Python"
    examples = count(corpus.examples, "example", are=corpus.examples_are)
    held_out = f"{corpus.held_out_examples:,} more are held out"
    yield "", f"{examples}, {corpus.characters:,} characters; {held_out}"
    if trained.counted is not None:
        yield "counts", "the file holds the training text (--counts)"
    typed = [
        f"{option_for(name)} {value}".removesuffix(" True")
        for name, value in settings_of(model).items()
        if name not in ("cell", "hidden", "layers", "parts") and value not in (None, False)
    ]
    yield "settings", " ".join(typed)
    epochs = count(trained.counters["epoch"], "epoch")
    yield "trained", f"{count(trained.counters['step'], 'step')}, {epochs}"
    if trained.best is not None and corpus.held_out_characters:
        step, nats = trained.best
        yield "best", f"{of_bits(nats)} per held-out character at step {step:,}"
        if corpus.baselines:
            name = min(corpus.baselines, key=lambda name: corpus.baselines[name])
            yield "", f"{name}, the best baseline: {of_bits(corpus.baselines[name])}"


def of_bits(nats: float) -> str:
    return f"{nats:.3f} nats or {nats / math.log(2):.3f} bits"


def settings_of(model: Model) -> dict[str, Any]:
    """Return the settings of training, with null for epochs without a limit."""
    from charrnn.plan import FOREVER

    settings = asdict(model.config) | ({"epochs": None} if model.config.epochs == FOREVER else {})
    del settings["cores"]  # which no result depends on
    return settings


def resume_of(model: Model) -> tuple[bool, str]:
    """Return True if the training can be resumed, and why or why not."""
    from charrnn import texts

    if model.trained.slim:
        return False, "the file has no training state (see charrnn export)"
    try:
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
