"""A run made ready: the corpus read, the plan shown, the state made or loaded.

Whatever can be known to fail is found out here, before any time is spent on training.

To go on as before: what may be wanted of a run that is in a file, and what contradicts it.

--epochs, --minutes and --patience may be raised. Whatever else is given has to be what it was, and
the corpus has to be the same, or it would be another run."""

from __future__ import annotations

import codecs
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn import system
from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.errors import option_for
from charrnn.cli.terminal.tables import Entry, epochs_in_words
from charrnn.cli.train import plan as words
from charrnn.cli.train.plan import PlanDisplay
from charrnn.cli.train.summary import in_order, plan_json, warnings_json
from charrnn.corpus.checks import Warned, warnings
from charrnn.corpus.corpus import Corpus, CorpusConfig
from charrnn.corpus.decoding import Reading
from charrnn.corpus.files import path_of, place_of
from charrnn.counts.baselines import Baseline
from charrnn.errors import CorpusError, ModelFileError, NewerModelError, ResumeError, SettingError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.fields import CorpusRecord, record_of
from charrnn.model_file.reader import LARGEST
from charrnn.network.parameters import LanguageModel
from charrnn.plan import (
    FOREVER,
    Plan,
    characters_per_second,
    check_memory,
    fitted,
    paced,
    plan,
    text_bytes,
)
from charrnn.scoring.baselines import by_counting
from charrnn.settings.fields import had_in_words
from charrnn.settings.training import Fitted, TrainConfig, of_member
from charrnn.training.members import all_ended, check_together, start_all, text_to_count
from charrnn.training.ranks import Ranks, check_can_be_shared
from charrnn.training.state import check_patience, sized_like, sizes_of

if TYPE_CHECKING:
    from charrnn.cli.train.options import Options


MAY_RISE = ("epochs", "minutes", "patience")


def read_again(run: Checkpoint, options: Options, ranks: Ranks) -> Corpus:
    """The corpus that the run learned from; ResumeError if it is another one by now."""
    record = run.corpus
    check_cutting(record, options)
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
    check_same(corpus, run, options)
    return replace(
        corpus,
        sources=options.sources or record.sources,
        valid=options.valid or record.valid,
    )


def check_cutting(record: CorpusRecord, options: Options) -> None:
    """Raise ResumeError where the corpus is to be read or cut in another way."""
    had: dict[str, Any] = {
        "examples": record.examples_are,
        "holdout": record.holdout,
        "encoding": record.encoding,
        "newlines": record.newlines,
        "normalize": record.normalize,
        "errors": record.errors,
    }
    wanted = {**options.cutting, **options.reading}
    if wanted.get("examples") == "auto":  # which is how it may have been found
        del wanted["examples"]
    for name, value in wanted.items():
        if name == "encoding" and codecs.lookup(value).name == codecs.lookup(had[name]).name:
            continue
        check_equal(name, had[name], value, options)


def check_same(corpus: Corpus, run: Checkpoint, options: Options) -> None:
    """Raise ResumeError unless this is the corpus that the run learned from."""
    now, then = corpus.fingerprint, run.corpus.fingerprint
    if not corpus.is_that_of(then, run.corpus.digest):
        raise ResumeError(
            f"{', '.join(corpus.sources)} is not what {options.model} learned from"
            f" ({', '.join(run.corpus.sources)}): SHA-256 {now[:12]}, and it was {then[:12]}",
            "Give it the same text again, or train anew into another file with -m.",
        )
    if corpus.vocabulary != run.vocabulary:
        raise ResumeError(
            f"this corpus is no longer cut as it was when {options.model} was begun",
            "Go on with the version of NumPy that began it, or train anew.",
        )


def settings(had: Fitted, options: Options, corpus: Corpus) -> Fitted:
    """The settings to go on with; ResumeError where others than those of the run were given."""
    learning = dict(options.learning)
    rising = {name: learning.pop(name) for name in MAY_RISE if name in learning}
    check_patience(rising.get("patience"), corpus)
    for name, value in rising.items():
        check_rise(name, getattr(had, name), value, options)
    fixed = fitted(TrainConfig(**{**asdict(had), **learning}), corpus)  # as small as it was made
    for name in learning:
        check_equal(name, getattr(had, name), getattr(fixed, name), options)
    return replace(had, **rising)


def check_equal(name: str, had: object, wanted: object, options: Options) -> None:
    """Raise ResumeError unless both are the same."""
    if had != wanted:
        typed = option_for(name) if wanted is True else f"{option_for(name)} {shown(wanted)}"
        if wanted is False:
            typed = option_for(name, denied=True)
        if had is True:
            had_it = f"was trained with {option_for(name)}"
        else:
            had_it = had_in_words(had if had is None or had is False else shown(had))
        raise ResumeError(
            f"{typed} contradicts {options.model}, which {had_it}",
            "Leave it out to go on, or train anew into another file with -m.",
        )


def check_rise(name: str, had: float | None, wanted: float, options: Options) -> None:
    """Raise ResumeError where a limit is lowered; none at all is the highest."""
    limit, option = math.inf if had is None or had == FOREVER else had, option_for(name)
    if wanted < limit:
        raise ResumeError(
            f"{option} {shown(wanted)} contradicts {options.model}, which has {shown(limit)}",
            f"{option} may be raised, not lowered.",
        )


def shown(value: object) -> str:
    """A value in a message."""
    if value == math.inf:
        return "no limit"
    return f"{value:g}" if isinstance(value, float) else str(value)


def named_anew(record: CorpusRecord, corpus: Corpus) -> CorpusRecord:
    """The record with the names that the corpus has now, if it is no longer where it was.

    The old names stay as long as they lead somewhere: the file of a run that was interrupted is
    that of one that was not, however its corpus was called meanwhile.
    """
    if all(os.path.exists(path_of(file)) for file in record.files):
        return record
    places = tuple(map(place_of, (*corpus.sources, *corpus.valid)))
    return replace(record, sources=corpus.sources, valid=corpus.valid, places=places)


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
    sizes = {} if model is None else sizes_of(model)
    config = TrainConfig(**{"workers": workers, **sizes, **options.learning})
    if options.mpi:
        check_can_be_shared(config)
    known = ""
    if model is not None:
        config = sized_like(config, model, options.learning)
        known = model.vocabulary.characters
    check_together(config)
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
    c = paced(c, config, corpus, rate)
    record = record_of(corpus, cutting, {})
    first, *others = start_all(corpus, c, model)
    counted = text_to_count(corpus, c)
    run = Checkpoint(corpus.vocabulary, c, record, first, others, counted)
    made = PreparedRun(options, corpus, run, replace(will_be, config=c), doubts, rate)
    check_history(made)
    display.show(time_in_words(made))
    found = noted(by_counting(corpus, corpus.held_out.ids), record)
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
    run = checkpoint.load(options.model)
    if options.mpi:
        check_can_be_shared(run.config)
    console.note_if_waiting((*(options.sources or run.corpus.sources), *options.valid))
    corpus = read_again(run, options, ranks)
    record = named_anew(run.corpus, corpus)
    run.corpus = replace(record, baselines=in_order(record.baselines))
    had = run.config
    c = settings(had, options, corpus)
    if options.mpi:
        c = replace(c, workers=ranks.count)
    run.config = c
    display = PlanDisplay(options, console)
    doubts = warnings(corpus)
    will_be = show_beginning(c, corpus, doubts, options, display)
    made = PreparedRun(options, corpus, run, will_be, doubts, 0.0)
    if not made.is_over:
        made = replace(made, characters_per_second=characters_per_second(c, corpus, ranks.count))
    so_far = f"at step {run.longest.step:,}, after {epochs_in_words(run.longest.epoch)}"
    display.show([("resumes", so_far)])
    display.show(words.others_in_words(had, c))
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
