"""Prepare a training run: read the corpus, show the plan, and begin or resume the run.

Errors that can be known before training are raised here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from charrnn import system
from charrnn.cli.console import Console
from charrnn.cli.errors import typed
from charrnn.cli.terminal.tables import epochs_in_words
from charrnn.cli.train import plan as words
from charrnn.cli.train.options import Options
from charrnn.cli.train.plan import PlanDisplay
from charrnn.cli.train.summary import corpus_json, in_order, settings_json
from charrnn.corpus import Corpus, Warned, read_files, warnings
from charrnn.counts import Baseline
from charrnn.errors import CorpusError, ModelFileError, OtherVersionError, ResumeError, SettingError
from charrnn.model_file import LARGEST, Checkpoint, Trained, load_trained, room_needed
from charrnn.plan import Plan, characters_per_second, check_memory, fit_settings, plan, text_bytes
from charrnn.runs import begin, compute_baselines, configure, reopen
from charrnn.saving import check_writable
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.training import Fitted
from charrnn.system import OURS

CHECKUP = 210  # bytes in the history of a model file, at most
MOST_CHECKUPS = LARGEST // CHECKUP


@dataclass(frozen=True)
class PreparedRun:
    options: Options
    corpus: Corpus
    checkpoint: Checkpoint
    plan: Plan
    warnings: list[Warned]  # about the corpus
    characters_per_second: float = 0.0  # in a short trial
    best_baseline: Baseline | None = None

    @property
    def symbols(self) -> int:
        """The characters of an epoch, ends included."""
        return len(self.corpus.train.ids)

    @property
    def seconds_left(self) -> float:
        if self.is_over:
            return 0.0
        left = self.checkpoint.config.epochs * self.symbols - self.checkpoint.state.characters
        return left / max(self.characters_per_second, 1e-9)

    @property
    def minutes_left(self) -> float | None:
        """The rest of --minutes, or None without that limit."""
        c = self.checkpoint.config
        if c.minutes is None:
            return None
        return 0.0 if self.is_over else max(0.0, c.minutes - self.checkpoint.state.minutes)

    @property
    def is_over(self) -> bool:
        return self.checkpoint.ended is not None

    @property
    def steps(self) -> int:
        """The steps of the whole run; an estimate if the clock ends it."""
        c, steps = self.checkpoint.config, self.plan.steps
        if c.minutes is not None:
            timed = int(self.characters_per_second * 60 * c.minutes / (c.batch * c.bptt))
            steps = timed if steps is None else min(steps, timed)
        return steps or 0

    def as_json(self) -> dict[str, Any]:
        plan, record = self.plan, self.checkpoint.corpus
        symbols, minutes = self.checkpoint.vocabulary.symbols, self.minutes_left
        ends = [self.seconds_left] if plan.steps is not None else []
        ends += [60 * minutes] if minutes is not None else []
        return {
            "model": str(self.options.model),
            "corpus": corpus_json(record, symbols),
            "parameters": plan.parameters,
            "hidden": plan.config.hidden,
            "layers": plan.config.layers,
            "symbols": symbols,
            "memory_bytes": plan.memory_bytes,
            "steps_per_epoch": plan.steps_per_epoch,
            "steps": plan.steps,
            "seconds": min(ends),
            "characters_per_second": self.characters_per_second,
            "settings": settings_json(plan.config),
            "baselines": in_order(record.baselines),
            "warnings": [asdict(doubt) for doubt in self.warnings],
        }


def prepare_run(options: Options, console: Console) -> PreparedRun:
    """Return the run and show its plan. Raise SaveError if the disk is too small for the file."""
    display = PlanDisplay(options, console)
    if options.resume:
        ready = resume_run(options, console, display)
    else:
        ready = begin_run(options, console, display)
    run, corpus = ready.checkpoint, ready.corpus
    checkups = ready.steps // run.config.check_every + 1
    if not ready.is_over:
        hint = "Train for a shorter time." if options.resume else ""
        check_checkups(run.config, checkups, hint)
        rate = ready.characters_per_second
        left = ready.seconds_left, ready.minutes_left
        display.show(words.time_in_words(ready.plan, rate, *left))
        display.show(words.without_effect(ready.plan, options))
    baselines = compute_baselines(corpus, run.corpus)
    if options.resume:
        sizes = len(corpus.train.ids), len(corpus.held_out.ids)
        known = run.corpus.baselines.items()
        baselines = (Baseline(name, nats, *sizes) for name, nats in known)
    best = display.show_baselines(baselines, corpus, both=run.config.counts)
    if not options.dry_run:
        room = room_needed(options.model, run) + CHECKUP * checkups
        check_writable(options.model, room)
    return replace(ready, best_baseline=best)


def begin_run(options: Options, console: Console, display: PlanDisplay) -> PreparedRun:
    start = model_to_start_from(options.start_from, console)
    model = None if start is None else start.model
    config = configure(options.learning, model)
    known = "" if model is None else model.vocabulary.characters
    reading = Reading(**options.reading)
    cutting = CorpusConfig(reading=reading, known=known, **options.cutting)
    console.note_if_waiting((*options.sources, *options.valid))
    corpus = read_files(options.sources, cutting, options.valid)
    c = fit_settings(config, corpus, model)
    doubts = warnings(corpus)
    planned = show_plan(c, corpus, doubts, options, display)
    display.show(words.start_in_words(options, start, corpus))
    rate = characters_per_second(c, corpus)
    run = begin(corpus, cutting, config, model, rate)
    return PreparedRun(options, corpus, run, replace(planned, config=run.config), doubts, rate)


def resume_run(options: Options, console: Console, display: PlanDisplay) -> PreparedRun:
    given = {**options.learning, **options.cutting, **options.reading}
    hint = "Leave it out to resume, or train into another file with -m."
    read = partial(read_again, options=options, console=console)
    corpus, run = reopen(options.model, read, given, show=typed, hint=hint)
    run.corpus = replace(run.corpus, baselines=in_order(run.corpus.baselines))
    c, doubts = run.config, warnings(corpus)
    planned = show_plan(c, corpus, doubts, options, display)
    ready = PreparedRun(options, corpus, run, planned, doubts)
    if not ready.is_over:
        ready = replace(ready, characters_per_second=characters_per_second(c, corpus))
    so_far = f"at step {run.state.step:,}, after {epochs_in_words(run.state.epoch)}"
    display.show([("resumed", so_far)])
    return ready


def read_again(run: Checkpoint, options: Options, console: Console) -> Corpus:
    """Return the corpus of a run that is resumed, under the names that the user gave it."""
    record = run.corpus
    named, held_out = options.sources or record.sources, options.valid or record.valid
    console.note_if_waiting((*named, *held_out))
    sources = options.sources or record.sources
    valid = options.valid or record.valid
    options.check_metrics(*sources, *valid)
    if not sources:
        hint = "Resume it in Python: charrnn.resume(path, texts)."
        raise ResumeError(f"{options.model} was trained on texts from Python", hint)
    try:
        corpus = read_files(sources, record.config, valid)
    except CorpusError as error:
        if options.sources:
            raise
        line = options.line("train", "CORPUS", "--resume")
        raise CorpusError(error.what, f"Name its new place: {line}") from error
    return replace(corpus, sources=named, valid=held_out)


def check_checkups(config: Fitted, checkups: int, hint: str = "") -> None:
    """Raise SettingError if there are too many check-ups for the history of a model file."""
    if config.patience is None and checkups > MOST_CHECKUPS:
        fewer = -(-checkups * config.check_every // (MOST_CHECKUPS - 1))
        what = f"{checkups:,} check-ups are too many; a model file holds {MOST_CHECKUPS:,}"
        raise SettingError(what, hint or f"Try --check-every {fewer} or more.")


def model_to_start_from(path: Path | None, console: Console) -> Trained | None:
    if path is None:
        return None
    try:
        trained = load_trained(path)
    except OtherVersionError:
        raise
    except ModelFileError as error:
        hint = f"Name with --from a file that charrnn train wrote, or {OURS}."
        raise ModelFileError(error.what, hint, "start from") from error
    if trained.counted is not None:
        console.note(f"the counts of {path} are not used; add --counts to store new ones")
    return trained


def show_plan(
    config: Fitted, corpus: Corpus, doubts: list[Warned], options: Options, display: PlanDisplay
) -> Plan:
    """Show the corpus and the network. Raise CorpusError if they need too much memory."""
    display.show(words.corpus_in_words(corpus, doubts))
    planned = plan(config, corpus)
    display.show(words.network_in_words(planned, options, corpus))
    hint = "Try a smaller [batch] or [bptt]." if options.start_from is not None else ""
    hint = "Resume it on a machine with more memory." if options.resume else hint
    check_memory(planned.memory_bytes, system.available(), text_bytes(corpus), hint)
    return planned
