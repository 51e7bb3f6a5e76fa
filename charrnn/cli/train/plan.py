"""The plan of a run in words: what is learned from, by what, for how long, and against what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from charrnn.cli.console import Console
from charrnn.cli.errors import option_for
from charrnn.cli.terminal.curve import best_of
from charrnn.cli.terminal.tables import (
    TOGETHER,
    Entry,
    bits,
    bytes_in_words,
    clock,
    count,
    counted,
    entries,
    pieces_in_words,
)
from charrnn.corpus.checks import Warned
from charrnn.corpus.corpus import Corpus
from charrnn.counts.baselines import Baseline
from charrnn.network.parameters import LanguageModel
from charrnn.plan import FEWEST_STEPS, FITTED, FOREVER, Plan, for_longer, preset
from charrnn.settings.training import Fitted

if TYPE_CHECKING:
    from charrnn.cli.train.options import Options

WORDS: Final = [
    (
        "words",
        "Loss is surprise per character, less is better: 1 nat is 1.44 bits; perplexity 5 is as if"
        " among 5 letters. gap: held-out minus train, measured alike (below 0: what is held out is"
        " easier). * is the best so far. markov-6 counts what followed the last 6 characters.",
    )
]
CHOSEN = (*(name for name in FITTED if name != "lr"), "bptt", "batch", "lr", "epochs")
SHRINKING = ("bptt", "batch")
USUAL_GAIN = 0.05  # nats, as it was with names, dinosaurs and plays


def corpus_in_words(corpus: Corpus, doubts: Iterable[Warned]) -> Iterator[Entry]:
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
    for found in doubts:
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


def start_in_words(path: Path | None, model: LanguageModel, corpus: Corpus) -> list[Entry]:
    """What is kept of the model that a run starts from, and what is new."""
    had = set(model.vocabulary.characters)
    new = "".join(one for one in corpus.vocabulary.characters if one not in had)
    kept = f"{path}: all of its {count(len(model.parameters.flat), 'parameter')} are kept"
    fresh = f"{count(len(new), 'character')} it does not know: {new}" if new else "nothing is new"
    return [("from", kept), ("", fresh)]


def network_in_words(plan: Plan, options: Options, symbols: int) -> list[Entry]:
    """What learns, what it takes, and which of its sizes were chosen for it."""
    c = plan.config
    layers = count(c.layers, "layer")
    networks = f"{c.members} of " if c.members > 1 else ""
    rows = [
        ("network", f"{networks}{layers} of {c.hidden:,} units, {plan.parameters:,} parameters"),
        ("memory", f"about {bytes_in_words(plan.memory_bytes)}"),
    ]
    if options.resume:
        return rows
    taken = [option(name, getattr(c, name)) for name in CHOSEN if is_chosen(name, c, options)]
    if taken:
        time = "" if c.minutes is None else f" and {count(c.minutes, 'minute')}"
        rows.append(("chosen", f"{' '.join(taken)}, which suits {symbols:,} symbols{time}"))
    shrunk = [
        f"{option(name, wanted)} to {got}" for name, wanted, got in shrinking(c, options, symbols)
    ]
    if shrunk:
        rows.append(("shrunk", f"{', '.join(shrunk)}: the corpus fills no more"))
    rows += longer_in_words(c, options, symbols)
    return rows


def longer_in_words(config: Fitted, options: Options, symbols: int) -> Iterator[Entry]:
    """What would be chosen if there were more time; nothing where sizes were given."""
    longer = for_longer(config, symbols)
    if longer is not None and all(is_chosen(name, config, options) for name in FITTED):
        usual = preset(symbols, config.cell, config.minutes_each)
        sizes = " ".join(
            option(name, getattr(longer, name))
            for name in FITTED
            if getattr(longer, name) != getattr(usual, name)
        )
        minutes = option("minutes", longer.minutes * config.members)
        yield "longer", f"{minutes} or more would choose {sizes}"


def is_chosen(name: str, config: Fitted, options: Options) -> bool:
    """Whether that setting was left to us."""
    is_of_model = options.start_from is not None and name in ("hidden", "layers")
    is_given = name in options.learning or is_of_model
    return not is_given and getattr(config, name) != FOREVER


def shrinking(config: Fitted, options: Options, symbols: int) -> Iterable[tuple[str, int, int]]:
    """The settings that are smaller than what was wanted, with both values."""
    usual = preset(symbols, config.cell, config.minutes_each)
    for name in SHRINKING:
        wanted, got = options.learning.get(name, getattr(usual, name)), getattr(config, name)
        if wanted > got:
            yield name, wanted, got


def option(name: str, value: object) -> str:
    """How to type a setting."""
    shown = f"{value:g}" if isinstance(value, float) else value
    return f"{option_for(name)}{TOGETHER}{shown}"


def time_in_words(
    plan: Plan, rate: float, left: float, timed: float | None, worker: str
) -> list[Entry]:
    """The steps there will be, and how long they will take at so many characters a second: so many
    seconds for the epochs, unless the clock ends them after so many minutes.
    """
    c = plan.config
    steps = f"{plan.steps_per_epoch:,} an epoch, of {c.batch} x {c.moves_on} characters each"
    if plan.steps is not None:
        steps += f"; about {plan.steps:,} in {count(c.epochs, 'epoch')}"
    ends = [clock(left)] if plan.steps is not None else []
    if c.minutes is not None and timed is not None:
        goes_on = f"{clock(60 * timed)} of " if timed < c.minutes else ""
        ends += [f"{goes_on}{count(c.minutes, 'minute')} (--minutes)"]
    speed = f"{counted(rate)} characters a second with {count(c.workers, worker)}"
    return [
        ("steps", steps),
        ("time", f"about {' or at most '.join(ends)}, at {speed}"),
    ]


def ranks_in_words(plan: Plan, steps: int) -> list[Entry]:
    """What each rank has to do, and whether fewer would be enough, or better."""
    c, busy = plan.config, plan.busy_ranks
    rows = [("ranks", f"{c.workers:,}, of {-(-c.batch // busy):,} lanes and one thread each")]
    if busy < c.workers:
        rows.append(
            (
                "",
                f"{busy:,} of them would do, and have all the work: to share out the steps of so"
                " small a network further would cost more than it brings",
            )
        )
    enough = f"{FEWEST_STEPS:,}"
    if 0 < steps < FEWEST_STEPS and busy > 1:
        suit = max(1, busy * steps // FEWEST_STEPS)
        rows.append(
            (
                "",
                f"{steps:,} steps are few to learn in, and {enough} or more would learn more of"
                f" this text: no more than {count(suit, 'rank')} of so many lanes, such as"
                f" {option('batch', max(1, c.batch * suit // busy))}",
            )
        )
    return rows


def others_in_words(had: Fitted, config: Fitted) -> list[Entry]:
    """What becomes of the bytes where others go on than have begun."""
    if had.workers == config.workers:
        return []
    then, now = f"{had.workers:,}", f"{config.workers:,}"
    return [("", f"it was shared out to {then}, and is to {now} now: the last digits will differ")]


def simplest_in_words(one: Baseline) -> str:
    """What there is to beat at least."""
    return f"{one.name} {one.nats_per_character:.3f}, where each symbol is as likely as the next"


def best_in_words(losses: Mapping[str, float]) -> str:
    """Which is the best, and how good it is."""
    name = best_of(losses)
    return f"{name} {losses[name]:.3f} ({bits(losses[name]):.3f} bits), the best by counting"


def both_in_words(losses: Mapping[str, float]) -> str:
    """What the network and counts may come to together; what they will, nobody knows before."""
    hoped = min(losses.values()) - USUAL_GAIN
    return (
        f"about {hoped:.2f}, if the network comes to what counting does: mixed half and half,"
        f" they are some {USUAL_GAIN} nats better than the better of them"
    )


def part_in_words(one: Baseline, corpus: Corpus) -> str:
    """Which part of a large corpus was counted and scored; nothing where it was all."""
    whole, held_out = len(corpus.train.ids), len(corpus.held_out.ids)
    learned, scored = one.train_symbols / whole, one.held_out_symbols / max(1, held_out)
    return pieces_in_words(learned, scored, "what is held out")


class PlanDisplay:
    """Where the plan goes while it is made, a part at a time: to stderr, but for a dry run, whose
    result it is. What takes a moment to find out is shown as soon as it is known.
    """

    def __init__(self, options: Options, console: Console) -> None:
        self._is_shown = not console.quiet
        is_result = options.dry_run and not options.as_json
        self._output = console.out if is_result else console.err

    def show(self, what: Iterable[Entry]) -> None:
        """Show a part of it."""
        if self._is_shown:
            self._output.write_lines(entries(what, self._output))

    def show_baselines(
        self, found: Iterable[Baseline], corpus: Corpus, *, both: bool = False
    ) -> None:
        """Show what there is to beat: the simplest as soon as it is there, in the end the best; and
        what may be hoped for where the network is mixed with counts.
        """
        losses: dict[str, float] = {}
        last = None
        for last in found:
            if not losses:
                self.show([("to beat", simplest_in_words(last))])
            losses[last.name] = last.nats_per_character
        if last is not None:
            part = part_in_words(last, corpus)
            lines = [best_in_words(losses), *([part] if part else [])]
            self.show([("", line) for line in lines])
            if both:
                self.show([("both", both_in_words(losses))])
