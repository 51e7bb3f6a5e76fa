"""Show the contents of a model file.

It shows the network, the vocabulary, the corpus, the settings of the training, and the loss at
each check-up. It also checks whether the training can be resumed: this needs the unchanged corpus.
If the corpus has more than 64 MB, only its presence is checked.

# contents, quality, and whether the training can be resumed
charrnn info

# the loss at every check-up
charrnn info --json | jq -r '.history[] | [.step, .train, .held_out] | @tsv'

# the learning curve as a figure, and those of two runs in one
charrnn info --plot curve.svg
charrnn info --plot curves.pdf --beside lstm.npz
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options
from charrnn.cli.console import Console, Output
from charrnn.cli.errors import option_for
from charrnn.cli.files import FigureFile, names_of
from charrnn.cli.options import OUTPUT, CommandOptions, ModelFile, flag, needs
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.tables import Fact, Report, count
from charrnn.errors import CorpusError
from charrnn.settings.fields import setting, settings_of
from charrnn.settings.training import Fitted
from charrnn.system import model_at, path_of
from charrnn.text import Visible

if TYPE_CHECKING:
    from charrnn.model import Model
    from charrnn.model_file import CorpusRecord

MOST_ENTRIES = 60  # characters and ranges of a vocabulary that are shown
BLOCKS, LETTERS = "▁▂▃▄▅▆▇█", "_.-:=+*#"  # of a learning curve, from low to high
SHORTEST_RANGE = 3  # neighbours that are shown as a range
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}
COMPARED = 1 << 26  # bytes: a larger corpus is not compared with the one of the training


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    RULES = (needs("beside", "plot"), needs("force", "plot"))

    model: Path = options.model()
    plot: Path | None = options.plot("Plot the learning curve into this file.")
    beside: tuple[Path, ...] = setting(
        ModelFile(),
        "Also plot the learning curve of this model, to compare. Repeatable.",
        panel=OUTPUT,
        names=("--beside",),
        repeated=True,
    )
    force: bool = flag("Replace the file of --plot if it exists.")


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn import display
    from charrnn.runs import load

    models = options.model, *options.beside
    if file := FigureFile.of(options.plot, options.force, *models):
        loaded = dict(zip(names_of(models), map(load, models), strict=True))
        file.draw(partial(display.plot, loaded), console)
    model = load(options.model)
    curve = learning_curve(model.trained.history, console.out)
    report_on(options.model, model).show("info", console, as_json=options.as_json, below=curve)


def report_on(path: Path, model: Model) -> Report:
    config, corpus, run = model.config, model.corpus, model.trained.counters
    vocabulary, symbols = model.vocabulary, model.vocabulary.symbols
    size = os.path.getsize(model_at(path))
    parameters = model.parameters.flat.size
    layers = f"{count(config.layers, 'layer')} of {config.hidden:,} units"
    learned = f"{count(run['step'], 'step')}, {tables.epochs_in_words(run['epoch'])}"
    is_possible, why = resume_of(model)
    can_be, characters = "possible" if is_possible else "not possible", vocabulary.characters
    return Report(
        Fact("model", str(path), "model", f"{path}, {tables.bytes_in_words(size)}"),
        Fact("bytes", size),
        Fact(label="network", text=layers),
        Fact("parameters", parameters, text=f"{parameters:,} parameters"),
        Fact("hidden", config.hidden),
        Fact("layers", config.layers),
        Fact(label="counts", text=counts_in_words(model)),
        Fact("symbols", symbols, "vocabulary", f"{symbols:,} symbols: end, unknown, and"),
        Fact("vocabulary", list(characters), text=characters_in_words(characters)),
        Fact("novelty", vocabulary.novelty),
        *corpus_facts(model),
        Fact("settings", settings_json(config), "settings", settings_in_words(model)),
        Fact("corpus", corpus_json(corpus, symbols)),
        Fact("holds_corpus", model.trained.counted is not None),
        Fact("steps", run["step"], "trained", f"{learned}, {run['characters']:,} characters"),
        Fact("epochs", run["epoch"]),
        Fact("characters_seen", run["characters"]),
        *best_facts(model),
        Fact("history", model.trained.history),
        Fact("resume", {"is_possible": is_possible, "why": why}, "resume", f"{can_be}: {why}"),
    )


def corpus_facts(model: Model) -> Iterator[Fact]:
    corpus, are = model.corpus, model.corpus.examples_are
    yield Fact(label="corpus", text=", ".join(corpus.sources) or "texts passed from Python")
    if corpus.reading.column is not None:
        yield Fact(text=f"read with {option_for('column')} {corpus.reading.column}")
    if corpus.known:
        yield Fact(text=f"fine-tuned from a model with {len(corpus.known):,} characters")
    examples = count(corpus.examples, "example", are=are)
    yield Fact(text=f"{examples}, {corpus.characters:,} characters")
    files = f": {', '.join(corpus.valid)}" if corpus.valid else ""
    held_out = count(corpus.held_out_examples, "example", are=are)
    text = f"{held_out}, {corpus.held_out_characters:,} characters{files}"
    yield Fact(label="held out", text=text)


def counts_in_words(model: Model) -> str:
    counted = model.trained.counted
    if counted is None:
        return ""
    whole = model.corpus.characters + model.corpus.examples
    part = "all" if len(counted) >= whole else f"{len(counted) / whole:.0%}"
    size = tables.bytes_in_words(counted.nbytes)
    return f"the file contains {part} of the training text (--counts): {size}"


def settings_in_words(model: Model) -> str:
    from charrnn.plan import FOREVER

    options = []
    for name, value in asdict(model.config).items():
        option = option_for(name)
        is_off = value is None or (not value and value == settings_of(Fitted)[name].default)
        is_endless = name == "epochs" and value >= FOREVER
        if name not in ("hidden", "layers", "cores", "parts") and not is_off and not is_endless:
            options.append(option if value is True else f"{option} {value}")
    return " ".join(options)


def best_facts(model: Model) -> Iterator[Fact]:
    from charrnn.display import best_of
    from charrnn.score import Mean
    from charrnn.training.loop import checkup_size

    best, baselines = model.trained.best, model.corpus.baselines
    if best is None or not model.corpus.held_out_characters:
        yield Fact("best")
        yield Fact("baselines", in_order(baselines))
        return
    step, mean = best[0], Mean(best[1], 1)
    words = tables.of_held_out(mean.nats_per_character, step)
    yield Fact("best", {"step": step, **mean.loss()}, "best", words)
    held_out = model.corpus.held_out_characters + model.corpus.held_out_examples
    if held_out > checkup_size(model.config):
        yield Fact(text="on the part that check-ups score; charrnn eval scores all of it")
    yield Fact(text=tables.few_held_out(model.corpus))
    if model.trained.counted is not None:
        yield Fact(text="without the mixture that sample uses; charrnn eval scores the mixture")
    text = ""
    if baselines:
        name = best_of(baselines)
        text = f"{name}, the best baseline: {tables.of_bits(baselines[name])}"
    yield Fact("baselines", in_order(baselines), text=text)


def resume_of(model: Model) -> tuple[bool, str]:
    """Return True if the training can be resumed, and why or why not."""
    from charrnn import texts

    if model.trained.slim:
        return False, "the file has no training state (see charrnn slim)"
    try:
        texts.check_files_exist(model.corpus)
        if sum(os.path.getsize(path_of(name)) for name in model.corpus.names) > COMPARED:
            found = "the corpus is there; it was not compared"
        else:
            texts.rebuild_corpus(model.corpus, model.vocabulary)
            found = "the corpus is there, unchanged"
    except CorpusError as error:
        return False, error.what
    config, ended = model.config, model.trained.ended
    limits = {
        "epochs": count(config.epochs, "epoch"),
        "minutes": count(config.minutes or 0.0, "minute"),
        "patience": f"{count(config.patience or 0, 'check-up')} without a better one",
    }
    if ended in limits:
        found += f"; finished after {limits[ended]}: use a larger --{ended}"
    return True, found


def characters_in_words(characters: str) -> str:
    """Return a vocabulary, in code-point order, as a line of characters and ranges."""
    entries: list[str] = []
    left = len(characters)
    for first, last, size in ranges(characters):
        if len(entries) == MOST_ENTRIES:
            return f"{'  '.join(entries)}  and {left:,} more"
        entries.append(name_of(first) if size == 1 else f"{name_of(first)}-{name_of(last)}")
        left -= size
    return "  ".join(entries)


def ranges(characters: str) -> Iterator[tuple[str, str, int]]:
    """Yield first, last and size of ranges of letters or digits, and of single characters."""

    def series(numbered: tuple[int, str]) -> tuple[int, str]:
        """Return the same for neighbours in a range."""
        place, character = numbered
        kind = unicodedata.category(character)
        return (ord(character) - place, kind) if kind[0] in "LN" else (place, "")

    for _, numbered in groupby(enumerate(characters), series):
        run = [character for _, character in numbered]
        if len(run) < SHORTEST_RANGE:
            yield from ((character, character, 1) for character in run)
        else:
            yield run[0], run[-1], len(run)


def name_of(character: str) -> str:
    """Return the character if it is visible, else its name."""
    kind = unicodedata.category(character)
    if character in NAMES:
        return NAMES[character]
    if kind[0] in "LNPS":
        return character
    if kind[0] == "M":
        return f"\u25cc{character}"  # on a dotted circle in place of a letter
    name = unicodedata.name(character, "").lower().replace(" ", "-")
    return name or f"U+{ord(character):04X}"


def corpus_json(record: CorpusRecord, symbols: int) -> dict[str, Any]:
    """Return the corpus: first the documented keys, then all others of its record."""
    whole = asdict(record) | {"symbols": symbols}
    whole |= whole.pop("reading")
    for name in ("baselines", "known"):  # shown elsewhere, or only for the file
        del whole[name]
    first = ("examples", "characters", "symbols", "held_out_examples", "held_out_characters")
    return {name: whole[name] for name in (*first, "examples_are")} | whole


def settings_json(config: Fitted) -> dict[str, Any]:
    """Return the settings, with null for epochs without a limit."""
    from charrnn.plan import FOREVER

    settings = asdict(config) | ({"epochs": None} if config.epochs == FOREVER else {})
    del settings["cores"]  # which no figure depends on
    return settings


def in_order(losses: Mapping[str, float]) -> dict[str, float]:
    """Return the baselines in order of memory, the simplest first."""
    first = {"uniform": 0, "unigram": 1}
    names = sorted(losses, key=lambda name: (first.get(name, len(name) + 1), name))
    return {name: losses[name] for name in names}


def learning_curve(history: Sequence[Mapping[str, float]], output: Output) -> list[Visible]:
    """Return a line each for the losses on training and held-out text; [] for few check-ups."""
    from charrnn.display import training_loss

    if len(history) < 2:
        return []
    name, words = training_loss(history)
    curves = {f"training {words}".strip(): [row[name] for row in history]}
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
