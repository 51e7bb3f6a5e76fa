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
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from charrnn.cli import options
from charrnn.cli.console import Console, Entry, Output, check_output, count, entries, write_output
from charrnn.cli.options import OUTPUT, CommandOptions, File, flag, option_for
from charrnn.errors import CorpusError
from charrnn.settings import setting
from charrnn.system import model_at
from charrnn.text import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.model import Model

MOST = 60  # characters of a vocabulary that are shown
BLOCKS, LETTERS = "▁▂▃▄▅▆▇█", "_.-:=+*#"  # of a learning curve, from low to high
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}
IN_NETWORK = ("cell", "hidden", "layers", "parts")  # settings that have a line of their own


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
    from charrnn.model import load

    model = load(options.model)
    if options.plot is not None:
        from charrnn.plots import figure

        check_output(options.plot, "--plot", options.model, force=options.force)
        write_output(options.plot, figure(options.plot.suffix[1:].lower(), model))
        console.note(f"figure saved to {options.plot}")
    facts = facts_of(options.model, model)
    if options.as_json:
        console.json("info", facts)
        return
    console.out.write_lines(entries(in_words(facts), console.out))
    console.out.write_lines(learning_curve(facts["history"], console.out))


def facts_of(path: Path, model: Model) -> dict[str, Any]:
    """Return all facts, as JSON has them."""
    from charrnn.plan import FOREVER
    from charrnn.score import Mean

    config, trained, corpus = model.config, model.trained, asdict(model.corpus)
    corpus |= corpus.pop("reading") | {"symbols": model.vocabulary.symbols}
    baselines, _ = corpus.pop("baselines"), corpus.pop("known")
    settings = asdict(config) | ({"epochs": None} if config.epochs == FOREVER else {})
    del settings["cores"]  # which no result depends on
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
        "settings": settings,
        "corpus": corpus,
        "holds_corpus": trained.counted is not None,
        "steps": trained.counters.step,
        "epochs": trained.counters.epoch,
        "characters_seen": trained.counters.characters,
        "best": best,
        "baselines": baselines,
        "history": trained.history,
        "resume": resume_of(model),
    }


def resume_of(model: Model) -> dict[str, Any]:
    """Return whether the training can be resumed, and why."""
    from charrnn.texts import rebuild_corpus

    if model.trained.slim:
        return {"is_possible": False, "why": "the file has no training state (charrnn export)"}
    try:
        rebuild_corpus(model.corpus, model.vocabulary)
    except CorpusError as error:
        return {"is_possible": False, "why": error.what}
    why, ended = "the corpus is there, unchanged", model.trained.ended
    if ended in ("epochs", "minutes", "patience"):
        why += f"; it ended by --{ended}: give a larger one"
    return {"is_possible": True, "why": why}


def in_words(facts: dict[str, Any]) -> Iterator[Entry]:
    """Yield what people read."""
    settings, corpus, best = facts["settings"], facts["corpus"], facts["best"]
    yield "model", f"{facts['model']}, {decimal(facts['bytes'])}"
    network = f"{facts['layers']} x {facts['hidden']:,} {settings['cell']}"
    yield "network", f"{network}, {facts['parameters']:,} parameters"
    yield "vocabulary", f"{facts['symbols']:,} symbols: end, unknown, and"
    shown, rest = facts["vocabulary"][:MOST], len(facts["vocabulary"]) - MOST
    names = "  ".join(NAMES.get(symbol) or visible_line(symbol) for symbol in shown)
    yield "", names + (f"  and {rest:,} more" if rest > 0 else "")
    yield "corpus", ", ".join(corpus["sources"]) or "texts passed from Python"
    size = f"{count(corpus['examples'], 'example', are=corpus['examples_are'])}, "
    size += f"{corpus['characters']:,} characters"
    yield "", f"{size}; {corpus['held_out_examples']:,} more are held out"
    if facts["holds_corpus"]:
        yield "counts", "the file holds the training text (--counts)"
    typed = [
        f"{option_for(name)} {value}".removesuffix(" True")
        for name, value in settings.items()
        if name not in IN_NETWORK and value not in (None, False)
    ]
    yield "settings", " ".join(typed)
    yield "trained", f"{count(facts['steps'], 'step')}, {count(facts['epochs'], 'epoch')}"
    if best is not None:
        loss = in_both_units(best["nats_per_character"])
        yield "best", f"{loss} per held-out character at step {best['step']:,}"
        if facts["baselines"]:
            nats, name = min((nats, name) for name, nats in facts["baselines"].items())
            yield "", f"{name}, the best baseline: {in_both_units(nats)}"
    can = "possible" if facts["resume"]["is_possible"] else "not possible"
    yield "resume", f"{can}: {facts['resume']['why']}"


def in_both_units(nats: float) -> str:
    return f"{nats:.3f} nats or {nats / math.log(2):.3f} bits"


def learning_curve(history: list[dict[str, float]], output: Output) -> Iterator[Visible]:
    """Yield a line each for the losses on training and held-out text, if there are two."""
    levels = LETTERS if output.is_plain else BLOCKS
    room = max(10, min(50, output.width - 30))
    for name, key in (("training", "train"), ("held-out", "held_out")):
        losses = [row[key] for row in history if row.get(key) is not None]
        if len(losses) < 2:
            continue
        low, high = min(losses), max(losses[1:])  # not the high start
        size = min(len(losses), room)
        points = [losses[i * len(losses) // size] for i in range(size)]
        heights = [(min(loss, high) - low) / ((high - low) or 1) for loss in points]
        picture = "".join(levels[min(7, int(8 * height))] for height in heights)
        yield Visible(f"{name}  {losses[0]:.3f} {picture} {losses[-1]:.3f}")
