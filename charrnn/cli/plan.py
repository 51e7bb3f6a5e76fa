"""The plan of a run in words and as JSON: what is learned from, by what, for how long, and against
what.

The words go to stderr. What takes a moment to find out, how fast this machine is and what counting
alone can do, is said as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from charrnn.cli.console import Console
from charrnn.cli.curve import best_of
from charrnn.cli.hints import option_for
from charrnn.cli.numbers import bytes_in_words, clock, count, counted, of_bits
from charrnn.cli.table import TOGETHER, Entry, GrowingEntry, entries
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.warnings import Warned, warnings
from charrnn.model_file.schema import CorpusRecord
from charrnn.plan import Plan
from charrnn.presets import FITTED, FOREVER, preset
from charrnn.scoring.markov import Baseline
from charrnn.settings import Fitted

if TYPE_CHECKING:
    from charrnn.cli.train import Options

CHOSEN = (*(name for name in FITTED if name != "lr"), "bptt", "batch", "lr", "epochs")
SHRINKING = ("bptt", "batch")


def show(what: Iterable[Entry], console: Console) -> None:
    """Show a part of the plan, on stderr."""
    if not console.quiet:
        console.err.write_lines(entries(what, console.err))


def corpus_in_words(corpus: Corpus, options: Options) -> Iterator[Entry]:
    """What is learned from, what is held out, and what is doubtful about it."""
    train, held_out, are = corpus.train, corpus.held_out, corpus.examples_are
    names = ", ".join("standard input" if name == "-" else name for name in corpus.sources)
    what = count(len(train), "example", are=are)
    held = f"{count(len(held_out), 'example', are=are)}, {held_out.characters:,} characters"
    kept = ", ".join(corpus.valid) if corpus.valid else "to see how well it learns (--holdout)"
    yield "corpus", names
    yield "", f"{what}, {train.characters:,} characters, {corpus.vocabulary.symbols:,} symbols"
    for said in how_cut(corpus):
        yield "", said
    none = "nothing: the loss is that of training"
    yield "held out", f"{held}: {kept}" if len(held_out) else none
    for found in [] if options.resume else warnings(corpus):
        yield "warning", doubt(found)


def doubt(found: Warned) -> str:
    """What is doubtful, and what to do about it."""
    match found.kind:
        case "much held out":
            share = f"{100 * found.count / found.of:.0f}% of the characters"
            return f"{share} are held out; see --holdout and --examples"
        case "few examples":
            return f"{count(found.count, 'example')} to learn from is too few; see --examples"
        case "repeated":
            some = f"{found.count:,} of {found.of:,} held-out examples"
            stand = "stands" if found.count == 1 else "stand"
            return f"{some} also {stand} in the training part: the loss looks better than it is"


def how_cut(corpus: Corpus) -> Iterator[str]:
    """What was found to be an example, and what else could have been."""
    for kind in ("lines", "paragraphs"):
        decided = zip(corpus.sources, corpus.cuts, strict=False)
        found = [(name, cut) for name, cut in decided if cut.are == kind and cut.lines]
        if not found:
            continue
        lines, blank_lines, paragraphs = (
            sum(getattr(cut, name) for _, cut in found)
            for name in ("lines", "blank_lines", "paragraphs")
        )
        where = f" in {', '.join(name for name, _ in found)}"
        where = where if corpus.examples_are == "mixed" else ""
        if kind == "paragraphs":
            other = f"(--examples lines would make {lines:,} of it)"
            yield f"a paragraph each{where}, for blank lines part them {other}"
        elif paragraphs > len(found):
            left = f"{count(blank_lines, 'blank line')} {'is' if blank_lines == 1 else 'are'}"
            other = f"(--examples paragraphs would make {paragraphs:,} of it)"
            yield f"a line each{where}; {left} left out {other}"
        else:
            yield f"a line each{where}, for no blank line parts them (--examples)"


def network_in_words(plan: Plan, options: Options, symbols: int) -> list[Entry]:
    """What learns, what it takes, and which of its sizes were chosen for it."""
    c = plan.config
    layers = count(c.layers, "layer")
    rows = [
        ("network", f"{layers} of {c.hidden:,} units, {plan.parameters:,} parameters"),
        ("memory", f"about {bytes_in_words(plan.memory_bytes)}"),
    ]
    if options.resume:
        return rows
    taken = [option(name, getattr(c, name)) for name in CHOSEN if is_chosen(name, c, options)]
    if taken:
        rows.append(("chosen", f"{' '.join(taken)}, which suits {symbols:,} symbols"))
    shrunk = [
        f"{option(name, wanted)} to {got}" for name, wanted, got in shrinking(c, options, symbols)
    ]
    if shrunk:
        rows.append(("shrunk", f"{', '.join(shrunk)}: the corpus fills no more"))
    return rows


def is_chosen(name: str, config: Fitted, options: Options) -> bool:
    """Whether that setting was left to us."""
    return name not in options.learning and getattr(config, name) != FOREVER


def shrinking(config: Fitted, options: Options, symbols: int) -> Iterable[tuple[str, int, int]]:
    """The settings that are smaller than what was wanted, with both values."""
    usual = preset(symbols)
    for name in SHRINKING:
        wanted, got = options.learning.get(name, getattr(usual, name)), getattr(config, name)
        if wanted > got:
            yield name, wanted, got


def option(name: str, value: object) -> str:
    """How to type a setting."""
    shown = f"{value:g}" if isinstance(value, float) else value
    return f"{option_for(name)}{TOGETHER}{shown}"


def time_in_words(plan: Plan, rate: float, left: float) -> list[Entry]:
    """The steps there will be, and how long they will take at so many characters a second."""
    c = plan.config
    steps = f"{plan.steps_per_epoch:,} an epoch, of {c.batch} x {c.bptt} characters each"
    if plan.steps is not None:
        steps += f"; about {plan.steps:,} in {count(c.epochs, 'epoch')}"
    ends = [clock(left)] if plan.steps is not None else []
    ends += [f"{c.minutes:g} minutes (--minutes)"] if c.minutes is not None else []
    speed = f"{counted(rate)} characters a second with {count(c.workers, 'thread')}"
    return [
        ("steps", steps),
        ("time", f"about {' or at most '.join(ends)}, at {speed}"),
    ]


class BaselinesDisplay:
    """What there is to beat: the held-out loss of models that only count, each as it is found."""

    def __init__(self, corpus: Corpus, console: Console) -> None:
        self._corpus = corpus
        self._console = console
        is_shown = not console.quiet and len(corpus.held_out)
        self._entry = GrowingEntry("to beat", console.err) if is_shown else None
        self._found: list[Baseline] = []

    def add(self, one: Baseline) -> None:
        """Show one more."""
        self._found.append(one)
        if self._entry is not None:
            self._entry.add(f"{one.name} {one.nats_per_character:.3f}")

    def close(self) -> None:
        """Show which was the best."""
        if self._entry is None:
            return
        self._entry.close()
        if self._found:
            losses = {one.name: one.nats_per_character for one in self._found}
            part = part_in_words(self._found[-1], self._corpus)
            show([("", best_in_words(losses)), *([("", part)] if part else [])], self._console)


def best_in_words(losses: Mapping[str, float]) -> str:
    """Which is the best, and how good it is."""
    name = best_of(losses)
    return f"the best by counting: {name}, {of_bits(losses[name])} per held-out character"


def part_in_words(one: Baseline, corpus: Corpus) -> str:
    """Which part of a large corpus was counted and scored; nothing where it was all."""
    whole, held_out = len(corpus.train.ids), len(corpus.held_out.ids)
    if one.train_symbols >= whole and one.held_out_symbols >= held_out:
        return ""
    return (
        f"counted on {one.train_symbols / whole:.1%} of what is learned from, scored on"
        f" {one.held_out_symbols / held_out:.1%} of what is held out: evenly spaced pieces"
    )


def as_json(
    plan: Plan, record: CorpusRecord, symbols: int, rate: float, left: float, model: str
) -> dict[str, Any]:
    """The plan for programs."""
    timed = plan.config.minutes
    ends = [left] if plan.steps is not None else []
    ends += [60 * timed] if timed is not None else []
    return {
        "model": model,
        "corpus": corpus_json(record, symbols),
        "parameters": plan.parameters,
        "memory_bytes": plan.memory_bytes,
        "steps_per_epoch": plan.steps_per_epoch,
        "steps": plan.steps,
        "seconds": min(ends),
        "characters_per_second": rate,
        "settings": settings_json(plan.config),
        "baselines": dict(record.baselines),
    }


def corpus_json(record: CorpusRecord, symbols: int) -> dict[str, Any]:
    """The corpus for programs."""
    return {
        "examples": record.examples,
        "characters": record.characters,
        "symbols": symbols,
        "held_out_examples": record.held_out_examples,
        "held_out_characters": record.held_out_characters,
        "examples_are": record.examples_are,
    }


def settings_json(config: Fitted) -> dict[str, Any]:
    """The settings for programs; null where there is no limit."""
    return {
        name: None if name == "epochs" and value == FOREVER else value
        for name, value in asdict(config).items()
    }
