"""It shows the network, the vocabulary, the corpus, the settings of the training, and the curve of
the loss. It also says whether the file has the state of the training; to resume that needs the
unchanged corpus, too.

# contents, quality, and whether the training can be resumed
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'

# the learning curve as a figure
charrnn info --plot curve.svg
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.filesize import decimal

import charrnn
from charrnn.cli.console import Console, Output, entries, option_for, save
from charrnn.cli.shared_options import CommandOptions, force_option, model_option
from charrnn.errors import in_words
from charrnn.settings.training import AUTOMATIC
from charrnn.settings.values import File, setting
from charrnn.system.packaged import model_at
from charrnn.system.visible import Visible, count, visible_line

SHOWN_SYMBOLS = 60  # characters of a vocabulary that are shown
CURVE_BLOCKS, CURVE_LETTERS = "▁▂▃▄▅▆▇█", "_.-:=+*#"  # of a learning curve, from low to high
Row = tuple[str, str, dict[str, Any]]  # a name and words for people, and facts for JSON
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}
IN_NETWORK = ("cell", "hidden", "layers", "shards")  # settings that have a line of their own


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    model: Path = model_option()
    plot: Path | None = setting(
        File("FILE", ".svg", ".png", ".pdf"),
        "Plot the learning curve| into this file; needs matplotlib.",
    )
    force: bool = force_option("the file of --plot")


def run(options: Options, console: Console) -> None:
    model = charrnn.load(options.model)
    if options.plot is not None:
        from charrnn.notebook import figure

        picture = figure(options.plot.suffix[1:].lower(), model)
        save(options.plot, picture, "--plot", options.model, force=options.force)
        console.note(f"figure saved to {options.plot}")
    rows = [*contents(options.model, model), *training(model)]
    if options.as_json:
        console.json("info", {name: value for *_, facts in rows for name, value in facts.items()})
        return
    console.out.write_lines(entries([row[:2] for row in rows if row[1]], console.out))
    console.out.write_lines(learning_curve(model.trained.history, console.out))


def contents(path: Path, model: charrnn.Model) -> Iterator[Row]:
    """Yield rows about the file, the network, the vocabulary and the corpus."""
    from charrnn.prediction.losses import losses_of_baselines

    c, vocabulary, corpus = model.config, model.vocabulary, model.corpus
    size, parameters = os.path.getsize(model_at(path)), model.parameters.flat.size
    yield "model", f"{path}, {decimal(size)}", {"model": str(path), "bytes": size}
    network = f"{c.layers} x {c.hidden:,} {c.cell}, {parameters:,} parameters"
    yield "network", network, {"parameters": parameters, "hidden": c.hidden, "layers": c.layers}
    symbols, characters = vocabulary.symbols, list(vocabulary.characters)
    yield "vocabulary", f"{symbols:,} symbols: end, unknown, and", {"symbols": symbols}
    names = [NAMES.get(symbol) or visible_line(symbol) for symbol in characters[:SHOWN_SYMBOLS]]
    if len(characters) > SHOWN_SYMBOLS:
        names.append(f"and {len(characters) - SHOWN_SYMBOLS:,} more")
    yield "", "  ".join(names), {"vocabulary": characters, "novelty": vocabulary.novelty}
    labels = [f"{label} {number:,}" for label, number in vocabulary.labels.items()]
    yield "labels", ", ".join(labels), {}
    facts = asdict(corpus) | {"symbols": symbols, "labels": vocabulary.labels}
    for elsewhere in ("baselines", "known", "files", "reading", "holdout"):
        del facts[elsewhere]
    yield "corpus", ", ".join(corpus.sources) or "texts passed from Python", {"corpus": facts}
    examples = count(corpus.examples, corpus.examples_are.removesuffix("s"))
    texts = f"{examples}, {count(corpus.characters, 'character')}"
    more = f"{corpus.held_out_examples:,} more {'is' if corpus.held_out_examples == 1 else 'are'}"
    yield "", f"{texts}; {more} held out", {"baselines": losses_of_baselines(corpus.baselines)}


def training(model: charrnn.Model) -> Iterator[Row]:
    """Yield rows about the settings, the losses, and whether the training can be resumed."""
    from charrnn.prediction.losses import Mean, in_bits
    from charrnn.training.automatic_settings import settings_to_show

    trained, counters, best = model.trained, model.trained.counters, model.trained.best
    words = "" if trained.counted is None else "the file holds the training text (--counts)"
    yield "counts", words, {"holds_corpus": bool(words)}
    settings = settings_to_show(model.config)
    typed = [
        in_words(option_for(name), value)
        for name, value in settings.items()
        if name not in IN_NETWORK and value is not None and value is not False
    ]
    reading = asdict(model.corpus.reading) | {"holdout": model.corpus.holdout}
    yield "settings", " ".join(typed), {"settings": settings | reading}
    steps, epochs, seen = counters.step, counters.epoch, counters.characters
    words = f"{count(steps, 'step')}, {count(epochs, 'epoch')}"
    yield "trained", words, {"steps": steps, "epochs": epochs, "characters_seen": seen}
    if best is None or not model.corpus.held_out_characters:
        yield "best", "", {"best": None}
    else:
        step, nats = best
        words = f"{nats:.3f} nats or {in_bits(nats)} bits per held-out character at step {step:,}"
        yield "best", words, {"best": {"step": step, **Mean(nats, 1).loss()}}
        if model.corpus.baselines:
            nats = min(model.corpus.baselines.values())
            yield "", f"counting: {nats:.3f} nats or {in_bits(nats)} bits", {}
    why = "the file has the training state"
    if trained.ended not in (None, "interrupted"):
        is_auto = trained.ended == "patience" and model.config.patience == AUTOMATIC
        why += f"; it ended by --{trained.ended}: give a larger {'--epochs' if is_auto else 'one'}"
    if trained.slim:
        why = f"the file has no training state{'' if trained.exact else ' (charrnn export)'}"
    words = f"{'not ' if trained.slim else ''}possible: {why}"
    facts = {"is_possible": not trained.slim, "why": why}
    yield "resume", words, {"history": trained.history, "resume": facts}


def learning_curve(history: list[dict[str, float]], output: Output) -> Iterator[Visible]:
    """Yield a line each for the losses on training and held-out text, if there are two."""
    levels = CURVE_LETTERS if output.is_dumb else CURVE_BLOCKS
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
