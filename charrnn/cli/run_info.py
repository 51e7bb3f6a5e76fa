"""What ``charrnn info`` shows: a model file from all sides."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from charrnn.cli.console import Console
from charrnn.cli.errors import option_for
from charrnn.cli.files import FigureFile, names_of
from charrnn.cli.terminal.curve import best_of, learning_curve
from charrnn.cli.terminal.tables import (
    TOGETHER,
    Entry,
    bytes_in_words,
    count,
    entries,
    epochs_in_words,
    of_bits,
    of_held_out,
)
from charrnn.cli.train.summary import corpus_json, in_order, settings_json
from charrnn.corpus.files import path_of
from charrnn.counts.ngrams import packed_size
from charrnn.display import figures
from charrnn.errors import CorpusError
from charrnn.model import Model
from charrnn.plan import FOREVER
from charrnn.runs import load
from charrnn.scoring import texts
from charrnn.scoring.score import Mean
from charrnn.settings.fields import settings_of
from charrnn.settings.training import Fitted
from charrnn.training.loop import most_looked_at

LONGEST = 60  # entries, before "and so many more"
IN_A_ROW = 3  # neighbours that make a range
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}
COMPARED = 1 << 26  # bytes of a corpus that are read to see whether it is the same


@dataclass(frozen=True)
class Resume:
    """Whether the run can go on, and how that is known."""

    is_possible: bool
    why: str


def show(path: Path, console: Console, *, as_json: bool) -> None:
    """Show it on stdout."""
    model = load(path)
    resume = resume_of(model)
    if as_json:
        console.json("info", described(path, model, resume))
        return
    console.out.write_lines(entries(in_words(path, model, resume), console.out))
    curve = learning_curve(model.trained.longest.history, model.corpus, console.out)
    console.out.write_lines(curve)


def plot(models: Sequence[Path], file: FigureFile, console: Console) -> None:
    """Draw their learning curves into a file."""
    file.check(*(os.path.join(os.curdir, path) for path in models))
    found = dict(zip(names_of(models), map(load, models), strict=True))
    file.write(partial(figures.plot, found), console)


def resume_of(model: Model) -> Resume:
    """Look for the corpus, and compare it unless that would take long."""
    if model.trained.slim:
        return Resume(False, "the file is slim, and holds no run")
    try:
        texts.check_there(model.corpus)
        sources = map(path_of, model.corpus.files)
        if sum(os.path.getsize(source) for source in sources) > COMPARED:
            found = "the corpus is there; it was not compared"
        else:
            texts.rebuilt(model.corpus, model.vocabulary)
            found = "the corpus is there, unchanged"
    except CorpusError as error:
        return Resume(False, error.what)
    return Resume(True, found + beyond(model))


def beyond(model: Model) -> str:
    """What has to be raised before a run that is over goes on."""
    c, over = model.config, model.trained.ended
    match over:
        case "epochs":
            reached = count(c.epochs, "epoch")
        case "minutes":
            reached = count(c.minutes or 0.0, "minute")
        case "patience":
            reached = f"{count(c.patience or 0, 'check-up')} without a better one"
        case _:
            return ""
    return f"; after {reached} only with --{over} N"


def in_words(path: Path, model: Model, resume: Resume) -> list[Entry]:
    """All of it in words."""
    c, corpus, trained = model.config, model.corpus, model.trained
    size, are = model.vocabulary.symbols, corpus.examples_are
    names = ", ".join(corpus.sources) or "texts that Python gave it"
    before = f"{len(corpus.known):,}"
    held = f"{count(corpus.held_out_examples, 'example', are=are)}"
    kept = f": {', '.join(corpus.valid)}" if corpus.valid else ""
    networks = f"{c.members} of " if c.members > 1 else ""
    longest = trained.longest.run
    learned = f"{count(longest['step'], 'step')}, {epochs_in_words(longest['epoch'])}"
    return [
        ("model", f"{path}, {bytes_in_words(path.stat().st_size)}"),
        ("network", f"{networks}{count(c.layers, 'layer')} of {c.hidden:,} units"),
        ("", f"{c.members * model.parameters.flat.size:,} parameters"),
        *counts_in_words(model),
        ("vocabulary", f"{size:,} symbols: the end, the unknown, and"),
        ("", characters_in_words(model.vocabulary.characters)),
        ("corpus", names),
        *([("", f"begun from a model of {before} characters")] if corpus.known else []),
        ("", f"{count(corpus.examples, 'example', are=are)}, {corpus.characters:,} characters"),
        ("held out", f"{held}, {corpus.held_out_characters:,} characters{kept}"),
        ("learning", settings_in_words(model)),
        ("learned", f"{learned}, {longest['characters']:,} characters"),
        *best_in_words(model),
        ("resume", f"{'possible' if resume.is_possible else 'not possible'}: {resume.why}"),
    ]


def counts_in_words(model: Model) -> list[Entry]:
    """That the file holds its corpus, where it does."""
    counted = model.trained.counted
    if counted is None:
        return []
    whole = model.corpus.characters + model.corpus.examples
    part = "" if len(counted) >= whole else f", {len(counted) / whole:.0%} of it"
    size = bytes_in_words(packed_size(len(counted), model.vocabulary.symbols))
    return [("counts", f"the file holds the text that it learned from{part}, to count: {size}")]


def settings_in_words(model: Model) -> str:
    """How it learns, as it would be typed."""
    shown = []
    for name, value in asdict(model.config).items():
        option = option_for(name)
        says_nothing = value is None or (not value and value == settings_of(Fitted)[name].default)
        if name in ("hidden", "layers", "workers") or says_nothing:
            continue
        if name == "epochs" and value >= FOREVER:
            continue
        shown.append(option if value is True else f"{option}{TOGETHER}{value}")
    return " ".join(shown)


def best_in_words(model: Model) -> list[Entry]:
    """The best check-up, beside what counting comes to."""
    best, baselines = best_of_run(model), model.corpus.baselines
    if best is None:
        return []
    step, networks = step_of_best(model), model.config.members
    rows = [("best", of_held_out(best.nats_per_character, step, networks))]
    held_out = model.corpus.held_out_characters + model.corpus.held_out_examples
    if held_out > most_looked_at(model.config):
        rows.append(("", "of the part that check-ups look at; of all of it: charrnn eval"))
    if baselines:
        name = best_of(baselines)
        rows.append(("", f"{name}, the best by counting: {of_bits(baselines[name])}"))
    return rows


def best_of_run(model: Model) -> Mean | None:
    """The best held-out loss, if anything was held out."""
    best = model.trained.best
    return Mean(best[1], 1) if best is not None and model.corpus.held_out_characters else None


def step_of_best(model: Model) -> int | None:
    """When that was."""
    return None if model.trained.best is None else model.trained.best[0]


def described(path: Path, model: Model, resume: Resume) -> dict[str, Any]:
    """All of it for programs."""
    trained, vocabulary = model.trained, model.vocabulary
    longest = trained.longest.run
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "parameters": model.config.members * model.parameters.flat.size,
        "hidden": model.config.hidden,
        "layers": model.config.layers,
        "symbols": vocabulary.symbols,
        "vocabulary": list(vocabulary.characters),
        "novelty": vocabulary.novelty,
        "settings": settings_json(model.config),
        "corpus": corpus_json(model.corpus, vocabulary.symbols),
        "holds_corpus": model.trained.counted is not None,
        "steps": longest["step"],
        "epochs": longest["epoch"],
        "characters_seen": longest["characters"],
        "best": best_described(model),
        "baselines": in_order(model.corpus.baselines),
        "history": trained.longest.history,
        "resume": asdict(resume),
    }


def best_described(model: Model) -> dict[str, Any] | None:
    """The best check-up for programs."""
    best = best_of_run(model)
    if best is None:
        return None
    figures = {**best.per_character(), "perplexity": best.perplexity}
    return {"step": step_of_best(model), **figures}


def characters_in_words(characters: str) -> str:
    """The characters, which come in code-point order, in a line."""
    entries: list[str] = []
    left = len(characters)
    for first, last, size in ranges(characters):
        if len(entries) == LONGEST:
            return f"{'  '.join(entries)}  and {left:,} more"
        entries.append(named(first) if size == 1 else f"{named(first)}-{named(last)}")
        left -= size
    return "  ".join(entries)


def ranges(characters: str) -> Iterator[tuple[str, str, int]]:
    """First, last, and how many: single ones, and at least IN_A_ROW letters or digits in a row."""
    start = 0
    while start < len(characters):
        stop = start + 1
        while stop < len(characters) and _follow(characters[stop - 1], characters[stop]):
            stop += 1
        if stop - start < IN_A_ROW:
            stop = start + 1
        yield characters[start], characters[stop - 1], stop - start
        start = stop


def _follow(one: str, other: str) -> bool:
    """Whether they are neighbours of one kind, so that everybody knows what is between."""
    kinds = unicodedata.category(one), unicodedata.category(other)
    return ord(other) == ord(one) + 1 and kinds[0] == kinds[1] and kinds[0][0] in "LN"


def named(character: str) -> str:
    """The character if it can be seen by itself, or what it is called."""
    kind = unicodedata.category(character)
    if character in NAMES:
        return NAMES[character]
    if kind[0] in "LNPS":
        return character
    if kind[0] == "M":
        return f"\u25cc{character}"  # on a circle, where a letter would stand
    name = unicodedata.name(character, "").lower().replace(" ", "-")
    return name or f"U+{ord(character):04X}"
