"""A run made ready: the corpus read, the plan shown, the state made or loaded.

Whatever can be known to fail is found out here, before any time is spent on training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charrnn import system
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.errors import typed
from charrnn.cli.terminal.tables import Entry, epochs_in_words
from charrnn.cli.train import plan as words
from charrnn.cli.train.options import Options
from charrnn.cli.train.plan import PlanDisplay
from charrnn.cli.train.summary import in_order, plan_json, warnings_json
from charrnn.corpus.checks import Warned, warnings
from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.counts.baselines import Baseline
from charrnn.errors import CorpusError, ModelFileError, NewerModelError, ResumeError, SettingError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import CorpusRecord, record_of
from charrnn.model_file.reader import LARGEST
from charrnn.network.parameters import LanguageModel
from charrnn.plan import (
    Plan,
    characters_per_second,
    check_memory,
    fitted,
    plan,
    text_bytes,
)
from charrnn.runs import begin, configure, reopen
from charrnn.scoring.baselines import counting_baselines
from charrnn.settings.corpus import Reading
from charrnn.settings.training import Fitted, of_member
from charrnn.training.members import all_ended
from charrnn.training.ranks import Ranks, check_can_be_shared


def read_again(run: Checkpoint, options: Options, ranks: Ranks) -> Corpus:
    """Return the corpus that the run learned from, under the names that the user gave it."""
    record = run.corpus
    sources = options.sources or record.source_files
    valid = options.valid or record.valid_files
    options.check_metrics(*sources, *valid)
    if not sources:
        raise ResumeError(
            f"{options.model} learned from texts that Python gave it",
            "Go on from Python, with charrnn.resume.",
        )
    try:
        corpus = ranks.load(sources, record.config, valid)
    except CorpusError as error:
        if options.sources:
            raise
        raise CorpusError(
            error.what, f"Say where it is now: {options.line('train', 'CORPUS', '--resume')}"
        ) from error
    return replace(
        corpus,
        sources=options.sources or record.sources,
        valid=options.valid or record.valid,
    )


CHECKUP = 160  # bytes of history: more than it has, by as much as the largest vocabulary takes
MOST = LARGEST // CHECKUP  # check-ups in the history of a model file


@dataclass(frozen=True)
class PreparedRun:
    """A run that may begin."""

    options: Options
    corpus: Corpus
    checkpoint: Checkpoint
    plan: Plan
    warnings: list[Warned]  # what is doubtful about the corpus
    characters_per_second: float = 0.0  # as far as a trial tells

    @property
    def symbols(self) -> int:
        """How many targets an epoch has."""
        return len(self.corpus.train.ids)

    @property
    def seconds_left(self) -> float:
        """What the epochs that are left will take."""
        if self.is_over:
            return 0.0
        read = min(state.characters for state in self.checkpoint.states)
        left = self.checkpoint.config.epochs * self.symbols - read
        return left / max(self.characters_per_second, 1e-9)

    @property
    def minutes_left(self) -> float | None:
        """What is left of the minutes, where the clock may end the run."""
        c = self.checkpoint.config
        own = of_member(c, 0).minutes
        if c.minutes is None or own is None:
            return None
        used = min(state.minutes for state in self.checkpoint.states) / own
        return 0.0 if self.is_over else c.minutes * max(0.0, 1 - used)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return all_ended(self.checkpoint.states, self.checkpoint.config) is not None

    @property
    def steps(self) -> int:
        """How many there will be by the end; where the clock ends the run, about as many."""
        c, steps = self.checkpoint.config, self.plan.steps
        if c.minutes is not None:
            timed = int(self.characters_per_second * 60 * c.minutes / (c.batch * c.moves_on))
            steps = timed if steps is None else min(steps, timed)
        return steps or 0

    @property
    def checkups(self) -> int:
        """How many there will be by the end."""
        return self.steps // self.checkpoint.config.check_every + 1

    def as_json(self) -> dict[str, Any]:
        """The plan for programs."""
        planned = plan_json(
            self.plan,
            self.checkpoint.corpus,
            self.checkpoint.vocabulary.symbols,
            self.characters_per_second,
            self.seconds_left,
            self.minutes_left,
        )
        model = {"model": str(self.options.model)}
        return model | planned | {"warnings": warnings_json(self.warnings)}


def prepared(options: Options, workers: int, console: Console, ranks: Ranks) -> PreparedRun:
    """The run, its plan shown; a file that is too large for the disk is refused."""
    if options.resume:
        run = resumed_run(options, console, ranks)
    else:
        run = new_run(options, workers, console, ranks)
    thread_count.note_if_refused(console)
    if not options.dry_run:
        container.check_writable(options.model, room_needed(run))
    return run


def room_needed(run: PreparedRun) -> int:
    """The bytes that the file will have once its history is as long as it gets."""
    return checkpoint.room_needed(run.options.model, run.checkpoint) + CHECKUP * run.checkups


def check_history(run: PreparedRun) -> None:
    """Raise SettingError where a run, by its end, has more history than a model file holds."""
    shorter = "Go on for less long." if run.options.resume else ""
    check_checkups(run.checkpoint.config, run.checkups, shorter)


def check_checkups(config: Fitted, checkups: int, hint: str = "") -> None:
    """The same for so many check-ups. Patience ends a run long before."""
    if config.patience is None and checkups > MOST:
        fewer = -(-checkups * config.check_every // (MOST - 1))
        raise SettingError(
            f"{checkups:,} check-ups are more than the {MOST:,} that a model file can hold",
            hint or f"Try --check-every {fewer} or more.",
        )


def new_run(options: Options, workers: int, console: Console, ranks: Ranks) -> PreparedRun:
    """A new run."""
    model = model_to_start_from(options.start_from, console)
    config = configure({"workers": workers, **options.learning}, model)
    if options.mpi:
        check_can_be_shared(config)
    known = "" if model is None else model.vocabulary.characters
    reading = Reading(**options.reading)
    cutting = CorpusConfig(reading=reading, seed=config.seed, known=known, **options.cutting)
    console.note_if_waiting((*options.sources, *options.valid))
    corpus = ranks.load(options.sources, cutting, options.valid)
    c = fitted(config, corpus)
    display = PlanDisplay(options, console)
    doubts = warnings(corpus)
    will_be = show_beginning(c, corpus, doubts, options, display)
    if model is not None:
        display.show(words.start_in_words(options.start_from, model, corpus))
    rate = characters_per_second(c, corpus, ranks.count)
    record = record_of(corpus, cutting, {})
    run = begin(corpus, record, config, model, rate)
    made = PreparedRun(options, corpus, run, replace(will_be, config=run.config), doubts, rate)
    check_history(made)
    display.show(time_in_words(made))
    found = noted(counting_baselines(corpus, corpus.held_out.ids), record)
    display.show_baselines(found, corpus, both=c.counts)
    display.show(words.WORDS)
    return made


def model_to_start_from(path: Path | None, console: Console) -> LanguageModel | None:
    """The model whose parameters are taken over, if one was named."""
    if path is None:
        return None
    try:
        trained = checkpoint.load_trained(path)
    except NewerModelError:
        raise
    except ModelFileError as error:
        hint = "Name with --from a file that charrnn train wrote."
        raise ModelFileError(error.what, hint, "start from") from error
    if trained.others_learned:
        console.note(f"the first of the networks of {path} is started from")
    if trained.counted is not None:
        console.note(f"what {path} counts is not taken over: see --counts")
    return trained.model


def noted(found: Iterator[Baseline], record: CorpusRecord) -> Iterator[Baseline]:
    """The same, each written into the record as it is found."""
    for one in found:
        record.baselines[one.name] = one.nats_per_character
        yield one


def resumed_run(options: Options, console: Console, ranks: Ranks) -> PreparedRun:
    """The run in the model file."""

    def read(run: Checkpoint) -> Corpus:
        if options.mpi:
            check_can_be_shared(run.config)
        console.note_if_waiting((*(options.sources or run.corpus.sources), *options.valid))
        return read_again(run, options, ranks)

    given = {**options.learning, **options.cutting, **options.reading}
    hint = "Leave it out to go on, or train anew into another file with -m."
    corpus, run = reopen(options.model, read, given, show=typed, hint=hint)
    had = run.config
    run.corpus = replace(run.corpus, baselines=in_order(run.corpus.baselines))
    if options.mpi:
        run.config = replace(run.config, workers=ranks.count)
    c = run.config
    display = PlanDisplay(options, console)
    doubts = warnings(corpus)
    will_be = show_beginning(c, corpus, doubts, options, display)
    made = PreparedRun(options, corpus, run, will_be, doubts, 0.0)
    if not made.is_over:
        made = replace(made, characters_per_second=characters_per_second(c, corpus, ranks.count))
    so_far = f"at step {run.longest.step:,}, after {epochs_in_words(run.longest.epoch)}"
    display.show([("resumes", so_far)])
    display.show(words.ranks_changed_in_words(had, c))
    if not made.is_over:
        check_history(made)
        display.show(time_in_words(made))
    found = remembered(run.corpus.baselines, corpus)
    display.show_baselines(found, corpus, both=c.counts)
    display.show(words.WORDS)
    return made


def show_beginning(
    config: Fitted, corpus: Corpus, doubts: list[Warned], options: Options, display: PlanDisplay
) -> Plan:
    """Show what is to learn and from what: the plan. CorpusError where memory will not do."""
    display.show(words.corpus_in_words(corpus, doubts))
    will_be = plan(config, corpus, config.workers if options.mpi else 1)
    display.show(words.network_in_words(will_be, options, len(corpus.train.ids)))
    check_memory(will_be.memory_bytes, system.available(), text_bytes(corpus))
    return will_be


def time_in_words(run: PreparedRun) -> list[Entry]:
    """How long it will take."""
    entries = words.time_in_words(
        run.plan,
        run.characters_per_second,
        run.seconds_left,
        run.minutes_left,
        "rank" if run.options.mpi else "thread",
    )
    return entries + (words.ranks_in_words(run.plan, run.steps) if run.options.mpi else [])


def remembered(losses: Mapping[str, float], corpus: Corpus) -> list[Baseline]:
    """What was found when the run began."""
    sizes = len(corpus.train.ids), len(corpus.held_out.ids)
    return [Baseline(name, nats, "none", *sizes) for name, nats in losses.items()]
