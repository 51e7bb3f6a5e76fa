"""What a run came to: the picture, the table, the summary for programs, and what to type next.

A run for programs: one name for one thing, in a plan, in a summary and in what a file holds.

The texts of a run as they are typed to go on with it; some are gone once they were read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from charrnn.cli.console import Console
from charrnn.cli.terminal.curve import best_of, learning_curve
from charrnn.cli.terminal.progress import Pace
from charrnn.cli.terminal.tables import (
    Entry,
    clock,
    count,
    counted,
    entries,
    epochs_in_words,
    of_bits,
    of_held_out,
)
from charrnn.corpus.checks import Warned
from charrnn.corpus.files import is_stream, path_of
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import CorpusRecord
from charrnn.plan import FOREVER, Plan, parameters
from charrnn.scoring.score import Mean, Score
from charrnn.settings.training import Ending, Fitted
from charrnn.text import Visible
from charrnn.training.members import best_of_all
from charrnn.training.state import Best

if TYPE_CHECKING:
    from charrnn.cli.train.options import Options


def plan_json(
    plan: Plan, record: CorpusRecord, symbols: int, rate: float, left: float, timed: float | None
) -> dict[str, Any]:
    """The plan, at so many characters a second, with so many seconds left of its epochs, and so
    many minutes where the clock may end it.
    """
    ends = [left] if plan.steps is not None else []
    ends += [60 * timed] if timed is not None else []
    return {
        "corpus": corpus_json(record, symbols),
        "parameters": plan.parameters,
        "hidden": plan.config.hidden,
        "layers": plan.config.layers,
        "symbols": symbols,
        "memory_bytes": plan.memory_bytes,
        "steps_per_epoch": plan.steps_per_epoch,
        "steps": plan.steps,
        "seconds": min(ends),
        "characters_per_second": rate,
        "settings": settings_json(plan.config),
        "baselines": in_order(record.baselines),
    }


def corpus_json(record: CorpusRecord, symbols: int) -> dict[str, Any]:
    """The corpus: what most programs ask for first, and then all that is remembered of it."""
    promised = {
        "examples": record.examples,
        "characters": record.characters,
        "symbols": symbols,
        "held_out_examples": record.held_out_examples,
        "held_out_characters": record.held_out_characters,
        "examples_are": record.examples_are,
    }
    rest = asdict(record)
    for name in ("baselines", "places", "known"):  # beside the corpus; for the file alone
        del rest[name]
    return promised | rest


def settings_json(config: Fitted) -> dict[str, Any]:
    """The settings; null where there is no limit."""
    return {
        name: None if name == "epochs" and value == FOREVER else value
        for name, value in asdict(config).items()
    }


def warnings_json(found: Iterable[Warned]) -> list[dict[str, Any]]:
    """What is doubtful about the corpus."""
    return [asdict(one) for one in found]


def in_order(losses: Mapping[str, float]) -> dict[str, float]:
    """Baselines from the simplest to the longest memory; a file has them in the order of names."""
    first = ("uniform", "unigram")

    def place(name: str) -> tuple[int, str]:
        return (first.index(name), "") if name in first else (len(name) + 1, name)

    return {name: losses[name] for name in sorted(losses, key=place)}


def typed_again(sources: Sequence[str], valid: Sequence[str]) -> list[str]:
    """What to type for them; nothing where all can be read again."""
    if not any(is_stream(name) for name in (*sources, *valid)):
        return []
    return [
        *(anew(name, "CORPUS") for name in sources),
        *(part for name in valid for part in ("--valid", anew(name, "FILE"))),
    ]


def can_be_read_again(record: CorpusRecord) -> bool:
    """Whether the corpus is in files that are there: no pipe, nor texts of Python."""
    return bool(record.files) and all(os.path.isfile(path_of(file)) for file in record.files)


def fed(line: str, again: Sequence[str], sources: Sequence[str]) -> str:
    """The line, with a file as standard input if that is among what is typed again."""
    return f"{line} < {'CORPUS' if '-' in sources else 'FILE'}" if "-" in again else line


def anew(name: str, place: str) -> str:
    """The name to type once more, or what stands for another."""
    return place if is_stream(name) and name != "-" else name


EARLY = 0.75  # of the steps: a best check-up before that was followed by too much learning by heart
REMEDIES = "more --dropout, a smaller --hidden, or more text."


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what this part of it took."""

    run: Checkpoint
    stopped: Ending
    pace: Pace
    is_new: bool  # whether there was anything left to do
    warnings: list[Warned]  # what is doubtful about the corpus
    # of all that is held out, exact, if there was time for it: of the network, and what is mixed
    scores: Mapping[str, Score] = field(default_factory=dict)

    @property
    def best(self) -> Mean | None:
        """The best held-out loss, if there is one."""
        best = best_of_all(self.run.states)
        if best is None or not self.run.corpus.held_out_characters:
            return None
        exact = self.scores.get("network" if len(self.run.states) == 1 else "alone")
        return Mean(best[1], 1) if exact is None else exact.overall

    @property
    def best_step(self) -> int | None:
        """When that was; of several networks, by when each had its own."""
        best = best_of_all(self.run.states)
        return None if best is None else best[0]

    @property
    def mixtures(self) -> Mapping[str, Mean]:
        """What is asked from now on, where that is more than a network alone."""
        several = {"together": "network"} if len(self.run.states) > 1 else {}
        named = {**several, "both": "both"}
        return {name: self.scores[p].overall for name, p in named.items() if p in self.scores}


def show(outcome: Outcome, options: Options, console: Console) -> None:
    """Show what the run came to."""
    run = outcome.run
    curve = learning_curve(run.longest.history, run.corpus, console.err)
    console.say(*curve, *([Visible("")] if curve else []))
    if options.as_json:
        console.json("train", summary(outcome, options))
    elif not console.quiet:
        console.out.write_lines(entries(in_words(outcome, options), console.out))


def in_words(outcome: Outcome, options: Options) -> list[Entry]:
    """The short table."""
    run, pace, state = outcome.run, outcome.pace, outcome.run.longest
    found = [("model", str(options.model))]
    if outcome.best is not None:
        nats, step = outcome.best.nats_per_character, outcome.best_step
        found.append(("best", of_held_out(nats, step, len(run.states))))
        if run.corpus.baselines:
            found.append(("", compared(run.corpus.baselines, nats)))
        for name, mean in outcome.mixtures.items():
            nats = mean.nats_per_character
            found.append((name, f"{of_bits(nats)} per held-out character"))
            if run.corpus.baselines:
                found.append(("", compared(run.corpus.baselines, nats)))
    elif state.history:
        found.append(("training", f"{of_bits(state.history[-1]['train'])} per character"))
    took = f"{clock(pace.seconds)}, {counted(pace.average)} characters a second"
    steps = f"{count(state.step, 'step')}, {epochs_in_words(state.epoch)}"
    return [
        *found,
        ("learned", f"{steps}, {state.characters:,} characters"),
        *([("time", took)] if outcome.is_new else []),
        ("stopped", stopped(outcome)),
    ]


def compared(baselines: Mapping[str, float], nats: float) -> str:
    """How that compares with counting."""
    name = best_of(baselines)
    which = "below" if nats < baselines[name] else "above"
    return f"{abs(nats - baselines[name]):.3f} nats {which} {name}, the best by counting"


def stopped(outcome: Outcome) -> str:
    """Why it ended."""
    c = outcome.run.config
    match outcome.stopped:
        case "epochs":
            return f"all {c.epochs:,} epochs are done" if c.epochs > 1 else "the epoch is done"
        case "minutes":
            return f"after {count(c.minutes or 0.0, 'minute')}"
        case "patience":
            return f"after {count(c.patience or 0, 'check-up')} without a better one"
    return "interrupted"


def summary(outcome: Outcome, options: Options) -> dict[str, Any]:
    """The summary for programs."""
    run, best = outcome.run, outcome.best
    state, size = run.longest, run.vocabulary.symbols
    return {
        "model": str(options.model),
        "corpus": corpus_json(run.corpus, size),
        "parameters": parameters(run.config, size),
        "hidden": run.config.hidden,
        "layers": run.config.layers,
        "epochs": state.epoch,
        "steps": state.step,
        "characters_seen": state.characters,
        "seconds": outcome.pace.seconds,
        "characters_per_second": outcome.pace.average,
        "best": {
            "step": outcome.best_step,
            "nats_per_character": best and best.nats_per_character,
            "bits_per_character": best and best.bits_per_character,
            "perplexity": best and best.perplexity,
        },
        **({"parts": parts_json(outcome)} if outcome.mixtures else {}),
        "baselines": in_order(run.corpus.baselines),
        "stopped": outcome.stopped,
        "warnings": warnings_json(outcome.warnings),
    }


def parts_json(outcome: Outcome) -> dict[str, Any]:
    """What the network, counts and both make of what is held out."""
    means = {name: score.overall for name, score in outcome.scores.items() if name != "alone"}
    return {
        name: {**mean.per_character(), "perplexity": mean.perplexity}
        for name, mean in means.items()
    }


def say_what_next(outcome: Outcome, options: Options, console: Console) -> None:
    """Lines to type next."""
    run = outcome.run
    if outcome.stopped == "interrupted":
        console.note(f"saved at step {run.longest.step:,}; to go on: {go_on(run, options)}")
        return
    if not outcome.is_new:
        console.note("there was nothing left to do")
    lines = {options.line("sample", "-n", "10"): "make up ten more"}
    if run.corpus.held_out_characters and can_be_read_again(run.corpus):
        lines[options.line("eval")] = "how likely is what was held out?"
    if not (was_early := best_was_early(outcome)):
        lines[go_on(run, options, *twice(outcome))] = "learn for longer"
    console.note("next:")
    longest = max(map(len, lines))
    for line, what in lines.items():
        explained = f"  {line:<{longest}}  # {what}"
        console.note(explained if len(explained) <= console.err.width else f"  {line}")
    if was_early:
        best = f"the best was at step {was_early.step:,} of {run.longest.step:,}"
        console.note(f"{best}: to learn for longer will not help. What may help: {REMEDIES}")


def best_was_early(outcome: Outcome) -> Best | None:
    """The best check-up, if the run went on for long after it in vain."""
    state = outcome.run.longest
    best = state.best
    if outcome.best is None or best is None or best.step > EARLY * state.step:
        return None
    return best


def twice(outcome: Outcome) -> list[str]:
    """The option that lets a run which is over go on, as far again."""
    limit = outcome.stopped
    value = 2 * getattr(outcome.run.config, limit)
    return [f"--{limit}", f"{value:g}" if limit == "minutes" else str(value)]


def go_on(run: Checkpoint, options: Options, *more: str) -> str:
    """What to type to go on with the run."""
    sources = run.corpus.sources
    again = typed_again(sources, run.corpus.valid)
    if not again and not can_be_read_again(run.corpus):
        again = ["CORPUS"]
    file = options.metrics
    metrics = ["--metrics", anew(str(file), "FILE")] if file is not None else []
    return fed(options.line("train", *again, "--resume", *more, *metrics), again, sources)
