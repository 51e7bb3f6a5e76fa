"""The plan of a run in words and as JSON: what is learned from, by what, for how long, and against
what.

The words go to stderr. What takes a moment to find out, how fast this machine is and what counting
alone can do, is said as soon as it is known.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from charrnn.cli import layout
from charrnn.cli.console import Talk
from charrnn.cli.layout import TOGETHER, Fact
from charrnn.cli.numbers import bytes_in_words, clock, count, counted
from charrnn.cli.training.arguments import Asked
from charrnn.corpus.corpus import Corpus
from charrnn.corpus.warnings import Warned, warnings
from charrnn.model_file.schema import CorpusRecord
from charrnn.plan import Plan
from charrnn.presets import FITTED, FOREVER, preset
from charrnn.settings import Fitted

CHOSEN = (*(name for name in FITTED if name != "lr"), "bptt", "batch", "lr", "epochs")
SHRINKING = ("bptt", "batch")


def tell(facts: Iterable[Fact], talk: Talk) -> None:
    """Say these facts."""
    if not talk.quiet:
        layout.say(facts, sys.stderr)


def corpus_facts(corpus: Corpus, asked: Asked) -> Iterator[Fact]:
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
    for found in [] if asked.resume else warnings(corpus):
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


def network_facts(plan: Plan, asked: Asked, symbols: int) -> list[Fact]:
    """What learns, what it takes, and which of its sizes were chosen for it."""
    c = plan.config
    layers = count(c.layers, "layer")
    facts = [
        ("network", f"{layers} of {c.hidden:,} units, {plan.parameters:,} parameters"),
        ("memory", f"about {bytes_in_words(plan.memory_bytes)}"),
    ]
    if asked.resume:
        return facts
    taken = [option(name, getattr(c, name)) for name in CHOSEN if is_chosen(name, c, asked)]
    if taken:
        facts.append(("chosen", f"{' '.join(taken)}, which suits {symbols:,} symbols"))
    shrunk = [
        f"{option(name, wanted)} to {got}" for name, wanted, got in shrinking(c, asked, symbols)
    ]
    if shrunk:
        facts.append(("shrunk", f"{', '.join(shrunk)}: the corpus fills no more"))
    return facts


def is_chosen(name: str, config: Fitted, asked: Asked) -> bool:
    """Whether that setting was left to us."""
    return name not in asked.learning and getattr(config, name) != FOREVER


def shrinking(config: Fitted, asked: Asked, symbols: int) -> Iterable[tuple[str, int, int]]:
    """The settings that are smaller than what was wanted, with both values."""
    usual = preset(symbols)
    for name in SHRINKING:
        wanted, got = asked.learning.get(name, getattr(usual, name)), getattr(config, name)
        if wanted > got:
            yield name, wanted, got


def option(name: str, value: object) -> str:
    """How to type a setting."""
    shown = f"{value:g}" if isinstance(value, float) else value
    return f"--{name.replace('_', '-')}{TOGETHER}{shown}"


def time_facts(plan: Plan, rate: float, left: float) -> list[Fact]:
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


def as_json(
    plan: Plan, facts: CorpusRecord, symbols: int, rate: float, left: float, model: str
) -> dict[str, Any]:
    """The plan for programs."""
    timed = plan.config.minutes
    ends = [left] if plan.steps is not None else []
    ends += [60 * timed] if timed is not None else []
    return {
        "model": model,
        "corpus": corpus_json(facts, symbols),
        "parameters": plan.parameters,
        "memory_bytes": plan.memory_bytes,
        "steps_per_epoch": plan.steps_per_epoch,
        "steps": plan.steps,
        "seconds": min(ends),
        "characters_per_second": rate,
        "settings": settings_json(plan.config),
        "baselines": dict(facts.baselines),
    }


def corpus_json(facts: CorpusRecord, symbols: int) -> dict[str, Any]:
    """The corpus for programs."""
    return {
        "examples": facts.examples,
        "characters": facts.characters,
        "symbols": symbols,
        "held_out_examples": facts.held_out_examples,
        "held_out_characters": facts.held_out_characters,
        "examples_are": facts.examples_are,
    }


def settings_json(config: Fitted) -> dict[str, Any]:
    """The settings for programs; null where there is no limit."""
    return {
        name: None if name == "epochs" and value == FOREVER else value
        for name, value in asdict(config).items()
    }
