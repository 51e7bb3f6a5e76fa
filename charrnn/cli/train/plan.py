"""The plan of a training run in words: corpus, network, time, and the baselines to beat."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from charrnn.cli.console import Console
from charrnn.cli.errors import option_for
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.tables import Entry, bits, bytes_in_words, clock, count, counted, entries
from charrnn.cli.train.options import Options
from charrnn.cli.train.summary import line_with
from charrnn.corpus import Corpus, Warned
from charrnn.counts import Baseline
from charrnn.display import best_of
from charrnn.model_file import Trained
from charrnn.plan import FITTED, FOREVER, Plan, rule_of
from charrnn.settings.training import Fitted
from charrnn.system import path_of
from charrnn.text import script_of
from charrnn.vocabulary import UNKNOWN

CHOSEN = (*(name for name in FITTED if name != "lr"), "bptt", "batch", "lr", "epochs")
OF_MODEL = {"hidden", "layers", "cell", "ends", "clock", "teacher_forcing", "init_radius"}
FEW_LINES, LONG_LINE = 300, 40  # lines and characters of a list that gains from a general model
USUAL_GAIN = 0.05  # nats that counts add to a network, as measured on names, dinosaurs and plays


def corpus_in_words(corpus: Corpus, doubts: Iterable[Warned]) -> Iterator[Entry]:
    train, held_out, are = corpus.train, corpus.held_out, corpus.examples_are
    names = ", ".join("standard input" if name == "-" else name for name in corpus.sources)
    examples = count(len(train), "example", are=are)
    yield "corpus", names
    symbols = f"{corpus.vocabulary.symbols:,} symbols"
    yield "", f"{examples}, {count(train.characters, 'character')}, {symbols}"
    yield "", f"each {are.removesuffix('s')} is one example (see --examples)"
    if len(held_out):
        kept = (
            f": {', '.join(corpus.valid)}" if corpus.valid else " (--holdout), to measure the loss"
        )
        examples = count(len(held_out), "example", are=are)
        yield "held out", f"{examples}, {count(held_out.characters, 'character')}{kept}"
    else:
        yield "held out", "nothing, so only the training loss is known"
    for doubt in doubts:
        yield "warning", doubt_in_words(doubt, names)


def doubt_in_words(doubt: Warned, source: str) -> str:
    match doubt.kind:
        case "few examples":
            return f"only {count(doubt.count, 'example')} to train on; see --examples"
        case "repeated":
            some = f"{doubt.count:,} of {doubt.of:,} held-out examples"
            occur = "occurs" if doubt.count == 1 else "occur"
            return f"{some} also {occur} in the training text: the held-out loss is too optimistic"
    if doubt.kind == "untidy":
        return f"of {doubt.of:,} lines, {doubt.what}: add --tidy"
    some = f"{doubt.count:,} of {doubt.of:,} lines"
    what = shlex.quote(doubt.what)
    column, strip = option("column", what), option("strip", what)
    match doubt.kind:
        case "header":
            return f"the first line may be a heading, {what}: {column} reads the lines below it"
        case "same ending":
            return f"{some} end in {doubt.what}: {strip} removes it"
        case "numbered":
            return f"{some} begin with a number or a bullet: {strip} removes it"
    if "scripts" in doubt.kind:
        share = f"{100 * doubt.count / doubt.of:.0f}% of the examples are not all"
        advice = "train on one script, if samples shall come in one"
        if source == "given-names":
            advice = "given-names-latin has Latin names alone"
        return f"{doubt.kind}; {share} {doubt.what.title()}: {advice}"
    return f"{some} have a {doubt.kind.split()[0]} inside: {column} reads one column of the table"


def start_in_words(options: Options, start: Trained | None, corpus: Corpus) -> Iterator[Entry]:
    """Yield the parameters taken from the model of --from, and the new characters.

    Without --from, yield the line that starts a short list from a general model.
    """
    if start is None:
        size = len(corpus.train)
        is_short = size <= FEW_LINES and corpus.train.characters < LONG_LINE * size
        scripts = {*map(script_of, corpus.vocabulary.characters)} - {""}
        is_fixed = not OF_MODEL.isdisjoint(options.learning)
        if is_short and scripts == {"latin"} and not is_fixed:
            line = line_with("--from latin", options, options.sources, options.valid)
            yield "start", "a general model lowers the loss of a short list:"
            yield "", line
        return
    path, model = options.start_from, start.model
    known = set(model.vocabulary.characters)
    new = "".join(c for c in corpus.vocabulary.characters if c not in known)
    reused = f"{path}: all {count(len(model.parameters.flat), 'parameter')} reused"
    added = f"{count(len(new), 'new character')}: {new}" if new else "no new characters"
    yield "from", reused
    yield "", added
    learned = {os.path.realpath(path_of(name)) for name in start.corpus.sources}
    again = [name for name in corpus.sources if os.path.realpath(path_of(name)) in learned]
    if again and not corpus.valid and len(corpus.held_out):
        may = f"{path} has learned from {', '.join(again)}, and may know what is held out now"
        yield "warning", f"{may}: the loss may be too optimistic. Hold out other texts with --valid"


def network_in_words(plan: Plan, options: Options, corpus: Corpus) -> list[Entry]:
    c = plan.config
    layers = count(c.layers, "layer")
    network, parameters = f"{layers} of {c.hidden:,} units", f"{plan.parameters:,} parameters"
    rows = [
        ("network", f"{network}, {parameters}"),
        ("memory", f"about {bytes_in_words(plan.memory_bytes)}"),
    ]
    if options.resume:
        return rows
    symbols = len(corpus.train.ids)
    chosen = [option(name, getattr(c, name)) for name in CHOSEN if is_chosen(name, c, options)]
    if chosen:
        time = "" if c.minutes is None else f" and {count(c.minutes, 'minute')}"
        size = f"{symbols:,} characters (ends included)"
        rows.append(("chosen", f"for {size}{time}: {' '.join(chosen)}"))
    usual = rule_of(c.cell).nearest(symbols)
    for name in ("bptt", "batch"):  # shrink with the corpus
        wanted, got = options.learning.get(name, getattr(usual, name)), getattr(c, name)
        if wanted > got:
            reduced = f"{option_for(name)} from {wanted} to {got}"
            rows.append(("reduced", f"{reduced}: the corpus is too small for more"))
    return rows


def without_effect(plan: Plan, options: Options) -> Iterator[Entry]:
    """Yield the typed options that a run of so few steps does not come to use."""
    steps, typed = plan.steps, options.learning
    if steps is None:
        return
    if typed.get("warmup", 0) > steps:
        why = f"the learning rate ends below {option('lr', plan.config.lr)}"
        yield "note", f"{option('warmup', typed['warmup'])} is longer than the run: {why}"
    if typed.get("check_every", 0) > steps:
        every = option("check_every", typed["check_every"])
        yield "note", f"{every} is longer than the run: the loss is measured only at its end"


def is_chosen(name: str, config: Fitted, options: Options) -> bool:
    is_of_model = options.start_from is not None and name in ("hidden", "layers")
    return not (name in options.learning or is_of_model) and getattr(config, name) != FOREVER


def option(name: str, value: object) -> str:
    shown = f"{value:g}" if isinstance(value, float) else value
    return f"{option_for(name)} {shown}"


def time_in_words(plan: Plan, rate: float, seconds: float, minutes: float | None) -> list[Entry]:
    """Return the steps and the time left, of all epochs and of --minutes. ``rate`` is in characters
    per second.
    """
    c = plan.config
    steps = f"{plan.steps_per_epoch:,} per epoch, of {c.batch} x {c.bptt} characters each"
    if plan.steps is not None:
        steps += f"; about {plan.steps:,} in {count(c.epochs, 'epoch')}"
    ends = [clock(seconds)] if plan.steps is not None else []
    if c.minutes is not None and minutes is not None:
        left = f"{clock(60 * minutes)} of " if minutes < c.minutes else ""
        ends.append(f"{left}{count(c.minutes, 'minute')} (--minutes)")
    speed = f"{counted(rate)} characters a second with {count(plan.cores, 'core')}"
    return [("steps", steps), ("time", f"about {' or at most '.join(ends)}, at {speed}")]


def best_in_words(losses: Mapping[str, float]) -> str:
    name = best_of(losses)
    return f"{name} {losses[name]:.3f} nats ({bits(losses[name]):.3f} bits), the best baseline"


def part_in_words(baseline: Baseline, corpus: Corpus) -> str:
    """Return which part of a large corpus was counted and scored, or "" if all of it was."""
    whole, held_out = len(corpus.train.ids), len(corpus.held_out.ids)
    counted, scored = baseline.train_symbols / whole, baseline.held_out_symbols / max(1, held_out)
    return tables.pieces_in_words(counted, scored, "the held-out text")


class PlanDisplay:
    """Shows parts of the plan as they become known: on stderr, or on stdout for a dry run."""

    def __init__(self, options: Options, console: Console) -> None:
        self._is_shown = not console.quiet
        self._output = console.out if options.dry_run and not options.as_json else console.err

    def show(self, part: Iterable[Entry]) -> None:
        if self._is_shown:
            self._output.write_lines(entries(part, self._output))

    def show_baselines(
        self, baselines: Iterable[Baseline], corpus: Corpus, *, both: bool = False
    ) -> Baseline | None:
        """Show the simplest baseline at once and then the best; return the best, if any.

        With ``both``, show a loss to hope for when the network is mixed with counts.
        """
        losses: dict[str, float] = {}
        best = last = None
        for last in baselines:
            if best is None or last.nats_per_character < best.nats_per_character:
                best = last
            losses[last.name] = last.nats_per_character
            if len(losses) == 1:
                unseen = int(np.count_nonzero(corpus.held_out.ids == UNKNOWN))
                more = f", with {count(unseen, 'unseen character')}" if unseen else ""
                simplest = f"{last.name} {last.nats_per_character:.3f} nats"
                self.show([("to beat", f"{simplest} (random guessing{more})")])
        if last is None:
            return None
        part = part_in_words(last, corpus)
        text = best_in_words(losses) if best_of(losses) != next(iter(losses)) else ""
        usual = "what texts of this size come to: charrnn guide expect"
        self.show([("", line) for line in (text, part, usual) if line])
        if both:
            hoped = min(losses.values()) - USUAL_GAIN
            condition = "if the network alone is as good as the counts"
            self.show([("both", f"likely about {hoped:.2f} nats, {condition}")])
        return best
