"""The result of a training run: curve, table, JSON summary, and the commands to type next."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from charrnn.cli.console import Console
from charrnn.cli.errors import typed
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.curve import learning_curve
from charrnn.cli.terminal.progress import Pace
from charrnn.cli.terminal.tables import Entry, Fact, Report, clock, count, counted, of_bits
from charrnn.cli.train.options import Options
from charrnn.corpus import Warned
from charrnn.display import best_of, training_loss
from charrnn.model_file import Checkpoint, CorpusRecord
from charrnn.plan import FOREVER
from charrnn.predictor import MIXABLE_HEADS
from charrnn.score import Difference, Mean, Score, json_of
from charrnn.settings.training import Ending, Fitted
from charrnn.system import path_of
from charrnn.text import Visible


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
    settings = asdict(config) | ({"epochs": None} if config.epochs == FOREVER else {})
    del settings["cores"]  # which no figure depends on
    return settings


def in_order(losses: Mapping[str, float]) -> dict[str, float]:
    """Return the baselines in order of memory, the simplest first."""
    first = {"uniform": 0, "unigram": 1}
    names = sorted(losses, key=lambda name: (first.get(name, len(name) + 1), name))
    return {name: losses[name] for name in names}


def typed_again(sources: Sequence[str], valid: Sequence[str]) -> list[str]:
    """Return the texts to type to resume a run, or nothing if all can be read again."""
    return texts_again(sources, valid) if "-" in (*sources, *valid) else []


def texts_again(sources: Sequence[str], valid: Sequence[str]) -> list[str]:
    """Return the words of a command that name these texts."""
    is_fed = (*sources, *valid).count("-") == 1  # it is read once
    return [
        *(placeholder(name, "CORPUS", is_fed) for name in sources),
        *(part for name in valid for part in ("--valid", placeholder(name, "FILE", is_fed))),
    ]


def can_be_read_again(record: CorpusRecord) -> bool:
    """Return True if the corpus is in existing files, not from a pipe or from Python."""
    return bool(record.names) and all(os.path.isfile(path_of(file)) for file in record.names)


def fed(line: str, again: Sequence[str], sources: Sequence[str]) -> str:
    """Return the command, with a file as standard input if it reads that."""
    return f"{line} < {'CORPUS' if '-' in sources else 'FILE'}" if "-" in again else line


def placeholder(name: str, word: str, is_fed: bool = True) -> str:
    """Return the name to type again, or the word for a pipe of the shell."""
    if name == "-":
        return name if is_fed else word
    return f"./{name}" if name.startswith("-") else name


EARLY = 0.75  # of the steps: after an earlier best check-up the network mostly overfits


@dataclass(frozen=True)
class Outcome:
    """The end of a run, and the pace of the part that has just ended."""

    run: Checkpoint
    stopped: Ending
    pace: Pace
    is_new: bool  # whether anything was learned
    warnings: list[Warned]  # about the corpus
    # exact losses on all held-out text, if there was time: of the network and of mixtures
    scores: Mapping[str, Score] = field(default_factory=dict)
    # of those losses from the best baseline, and of "counts": of the mixture from the counts alone
    differences: Mapping[str, Difference] = field(default_factory=dict)

    @property
    def best(self) -> Mean | None:
        best = self.run.state.best
        if best is None or not self.run.corpus.held_out_characters:
            return None
        exact = self.scores.get("network")
        return Mean(best.nats_per_character, 1) if exact is None else exact.overall

    @property
    def best_step(self) -> int | None:
        """The step of the best check-up."""
        return None if self.run.state.best is None else self.run.state.best.step

    def difference(self, label: str, nats: float) -> Difference | None:
        """Return how a loss that is shown differs from that of the best baseline, if any."""
        baselines = self.run.corpus.baselines
        if not baselines:
            return None
        part = {"best": "network"}.get(label, label)
        return self.differences.get(part, Difference(nats - min(baselines.values()), math.nan))

    @property
    def remedy(self) -> str:
        """Return an option that is known to lower the loss, if counting is ahead or near."""
        label, mean = next(reversed({"best": self.best, **self.mixtures}.items()))
        apart = None if mean is None else self.difference(label, mean.nats_per_character)
        c = self.run.config
        if apart is None or (apart.nats_per_character < 0 and not apart.may_be_chance):
            return ""
        if not c.counts and c.ends in MIXABLE_HEADS:
            return "--counts"
        return "--cell lstm" if c.cell == "tanh" else ""

    @property
    def mixtures(self) -> Mapping[str, Mean]:
        """The loss of network and counts mixed, which sample and eval use."""
        return {"both": self.scores["both"].overall} if "both" in self.scores else {}


def show(outcome: Outcome, options: Options, console: Console) -> None:
    run = outcome.run
    curve = learning_curve(run.state.history, run.corpus, console.err)
    console.say(*curve, *([Visible("")] if curve else []))
    if options.as_json or not console.quiet:
        report_on(outcome, options).show("train", console, as_json=options.as_json)


def report_on(outcome: Outcome, options: Options) -> Report:
    run, pace, best = outcome.run, outcome.pace, outcome.best
    c, state, symbols = run.config, run.state, run.vocabulary.symbols
    steps = f"{count(state.step, 'step')}, {tables.epochs_in_words(state.epoch)}"
    speed = f"{counted(pace.average)} characters a second"
    none = dict.fromkeys(("nats_per_character", "bits_per_character", "perplexity"))
    figures: dict[str, object] = {"step": outcome.best_step, **(best.loss() if best else none)}
    if best and (apart := outcome.difference("best", best.nats_per_character)):
        figures |= {"baseline": best_of(run.corpus.baselines), **apart.as_json()}
    paired = {**outcome.differences, "counts": None}  # whose difference is of the mixture
    parts = {
        name: {**score.overall.loss(), **json_of(paired.get(name))}
        for name, score in outcome.scores.items()
    }
    return Report(
        Fact("model", str(options.model), "model", str(options.model)),
        Fact("corpus", corpus_json(run.corpus, symbols)),
        Fact("parameters", len(state.parameters.flat)),
        Fact("hidden", c.hidden),
        Fact("layers", c.layers),
        Fact("epochs", state.epoch),
        Fact("steps", state.step),
        Fact("characters_seen", state.characters),
        Fact("seconds", pace.seconds),
        Fact("characters_per_second", pace.average),
        Fact("best", figures),
        *(Fact(label=label, text=text) for label, text in losses_in_words(outcome)),
        *([Fact("parts", parts)] if outcome.mixtures else []),
        Fact("baselines", in_order(run.corpus.baselines)),
        Fact(label="trained", text=f"{steps}, {state.characters:,} characters"),
        *([Fact(label="time", text=f"{clock(pace.seconds)}, {speed}")] * outcome.is_new),
        Fact("stopped", outcome.stopped, "stopped", end_in_words(outcome)),
        Fact("warnings", [asdict(doubt) for doubt in outcome.warnings]),
    )


def losses_in_words(outcome: Outcome) -> Iterator[Entry]:
    """Yield the losses, each with a comparison with the best baseline."""
    run, best, baselines = outcome.run, outcome.best, outcome.run.corpus.baselines
    if best is None:
        if history := run.state.history:
            name, words = training_loss(history)
            yield "training", f"{of_bits(history[-1][name])} per character{words and ', '}{words}"
        return
    for label, mean in {"best": best, **outcome.mixtures}.items():
        nats = mean.nats_per_character
        if label == "best":
            yield label, tables.of_held_out(nats, outcome.best_step)
            if doubt := tables.few_held_out(run.corpus):
                yield "", doubt
        else:
            yield label, f"{of_bits(nats)} per held-out character"
        if (difference := outcome.difference(label, nats)) is not None:
            yield "", difference.compared(f"{best_of(baselines)}, the best baseline")
    from_counts = outcome.differences.get("counts")
    if from_counts is not None and from_counts.nats_per_character > 0:
        worse = f"mixed, {from_counts.in_words('the counts alone')}"
        yield "", f"{worse}: add --use counts to sample and eval, or train for longer"


def end_in_words(outcome: Outcome) -> str:
    c = outcome.run.config
    match outcome.stopped:
        case "epochs":
            return f"after all {c.epochs:,} epochs" if c.epochs > 1 else "after 1 epoch"
        case "minutes":
            return f"after {count(c.minutes or 0.0, 'minute')}"
        case "patience":
            return f"after {count(c.patience or 0, 'check-up')} without a lower loss"
    return "interrupted"


def say_what_next(outcome: Outcome, options: Options, console: Console) -> None:
    run, state = outcome.run, outcome.run.state
    if outcome.stopped == "interrupted":
        again = resume_line(run, options)
        console.note(f"saved at step {state.step:,}; to resume: {again}")
        return
    lines = {options.line("sample", "-n", "10"): "draw ten samples"}
    if run.corpus.held_out_characters and can_be_read_again(run.corpus):
        lines[options.line("eval")] = "score the held-out text"
    is_alone = not run.corpus.known and not options.resume  # its settings are all in the options
    if outcome.remedy and is_alone:
        line = line_with(outcome.remedy, options, run.corpus.sources, run.corpus.valid)
        lines[line] = "beat counting"
    best = outcome.best_step
    overfits = outcome.best is not None and best is not None and best <= EARLY * state.step
    if not overfits:
        limit = outcome.stopped
        twice = 2 * getattr(run.config, limit)
        more = f"{twice:g}" if limit == "minutes" else str(twice)
        lines[resume_line(run, options, f"--{limit}", more)] = "train for longer"
    console.note("next:")
    longest = max(map(len, lines))
    for line, about in lines.items():
        explained = f"  {line:<{longest}}  # {about}"
        console.note(explained if len(explained) <= console.err.width else f"  {line}")
    if overfits and best is not None:
        early = f"the best check-up was at step {best:,} of {state.step:,}"
        remedies = "more --dropout, a smaller --hidden, or more text."
        if run.corpus.known:  # the model that it started from has its own sizes
            remedies = "more --dropout, or more text."
        console.note(f"overfitting: {early}, and more training will not help. Try {remedies}")


def line_with(remedy: str, options: Options, sources: Sequence[str], valid: Sequence[str]) -> str:
    """Return the command that trains the same again, with one more option, into another file."""
    texts = texts_again(sources, valid)
    given = {**options.reading, **options.cutting, **options.learning}
    name, *_, value = (word.strip("-") for word in 2 * remedy.split())
    words = [typed(*each).split(" ", 1) for each in given.items() if each[0] != name]
    another = replace(options, model=options.model.with_stem(f"{options.model.stem}-{value}"))
    line = another.line("train", *texts, *itertools.chain(*words), *remedy.split())
    return fed(line, texts, sources)


def resume_line(run: Checkpoint, options: Options, *more: str) -> str:
    sources = run.corpus.sources
    again = typed_again(sources, run.corpus.valid)
    if not again and not can_be_read_again(run.corpus):
        again = ["CORPUS"]
    file = options.metrics
    metrics = ["--metrics", placeholder(str(file), "FILE")] if file is not None else []
    return fed(options.line("train", *again, "--resume", *more, *metrics), again, sources)
