"""A run made ready: the model file held, the corpus read, the plan told, the state made or loaded.

Whatever can be known to fail is found out here, before any time is spent on training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from charrnn.cli import memory, resuming
from charrnn.cli import plan as plan_view
from charrnn.cli.baselines import in_order, remembered, tell_baselines
from charrnn.cli.console import Talk
from charrnn.corpus.corpus import Corpus, CorpusConfig, load
from charrnn.corpus.reading import Reading
from charrnn.errors import ModelExistsError, ResumeError, SettingError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint, record_of
from charrnn.model_file.json_text import LARGEST
from charrnn.model_file.lock import locked
from charrnn.plan import Plan, characters_per_second, check_memory, plan
from charrnn.presets import fitted, paced
from charrnn.scoring.baselines import by_counting
from charrnn.settings import Fitted, TrainConfig
from charrnn.training.loop import ended, start

if TYPE_CHECKING:
    from charrnn.cli.train import Options

SMALLEST = 1 << 12  # bytes: no model has fewer
CHECKUP = 160  # bytes of history: more than it has, by as much as the largest vocabulary takes
MOST = LARGEST // CHECKUP  # check-ups in the history of a model file


@dataclass(frozen=True)
class Opened:
    """A run that may begin."""

    asked: Options
    corpus: Corpus
    checkpoint: Checkpoint
    plan: Plan
    characters_per_second: float  # as far as a trial tells

    @property
    def symbols(self) -> int:
        """How many targets an epoch has."""
        return len(self.corpus.train.ids)

    @property
    def seconds_left(self) -> float:
        """What the epochs that are left will take."""
        state, config = self.checkpoint.state, self.checkpoint.config
        left = config.epochs * self.symbols - state.characters
        return left / max(self.characters_per_second, 1e-9)

    @property
    def checkups(self) -> int:
        """How many there will be by the end; where the clock ends the run, about as many."""
        c, steps = self.checkpoint.config, self.plan.steps
        if c.minutes is not None:
            timed = int(self.characters_per_second * 60 * c.minutes / (c.batch * c.bptt))
            steps = timed if steps is None else min(steps, timed)
        return (steps or 0) // c.check_every + 1

    def as_json(self) -> dict[str, Any]:
        """The plan for programs."""
        return plan_view.as_json(
            self.plan,
            self.checkpoint.corpus,
            self.checkpoint.vocabulary.symbols,
            self.characters_per_second,
            self.seconds_left,
            str(self.asked.model),
        )


@contextmanager
def held(asked: Options) -> Iterator[None]:
    """The model file is ours alone in here, and can be written; a dry run does not touch it."""
    if asked.dry_run:
        yield
        return
    container.check_writable(asked.model, SMALLEST)
    check_there(asked)
    with locked(asked.model):
        check_there(asked)  # it may have come between the look and the lock
        yield


def check_there(asked: Options) -> None:
    """Raise where a model would be lost, or is not there to go on with."""
    is_there = os.path.exists(asked.model)
    if asked.resume and not is_there:
        raise ResumeError(
            f"there is no {asked.model} to go on with",
            f"Train one first: {asked.line('train', 'CORPUS')}",
        )
    if is_there and not asked.resume and not asked.force:
        raise ModelExistsError(
            f"{asked.model} is there already",
            f"Go on with it: {asked.line('train', '--resume')}. Or replace it with --force, or name"
            " another file with -m.",
        )


def opened(asked: Options, threads: int, talk: Talk) -> Opened:
    """The run, its plan told; a file that is too large for the disk is refused."""
    run = resumed(asked, talk) if asked.resume else begun(asked, threads, talk)
    if not asked.dry_run:
        container.check_writable(asked.model, room_needed(run))
    return run


def room_needed(run: Opened) -> int:
    """The bytes that the file will have once its history is as long as it gets."""
    return checkpoint.room_needed(run.checkpoint) + CHECKUP * run.checkups


def check_history(run: Opened) -> None:
    """Raise SettingError where a new run, by its end, has more history than a model file holds.

    Patience ends a run long before.
    """
    config, checkups = run.checkpoint.config, run.checkups
    if config.patience is None and checkups > MOST:
        fewer = -(-checkups * config.check_every // (MOST - 1))
        raise SettingError(
            f"{checkups:,} check-ups are more than the {MOST:,} that a model file can hold",
            f"Try --check-every {fewer} or more.",
        )


def begun(asked: Options, threads: int, talk: Talk) -> Opened:
    """A new run."""
    config = TrainConfig(**{"workers": threads, **asked.learning})
    cutting = CorpusConfig(reading=Reading(**asked.reading), seed=config.seed, **asked.cutting)
    talk.note_if_waiting((*asked.sources, *asked.valid))
    corpus = load(asked.sources, cutting, asked.valid)
    c = fitted(config, corpus)
    will_be = introduce(c, corpus, asked, talk)
    rate = characters_per_second(c, corpus)
    if "check_every" not in asked.learning:
        c = paced(c, corpus, rate)
    facts = record_of(corpus, cutting, {})
    run = Checkpoint(corpus.vocabulary, c, facts, start(corpus, c))
    made = Opened(asked, corpus, run, replace(will_be, config=c), rate)
    check_history(made)
    tell_time(made, talk)
    facts.baselines.update(tell_baselines(by_counting(corpus, corpus.held_out.ids), corpus, talk))
    return made


def resumed(asked: Options, talk: Talk) -> Opened:
    """The run in the model file."""
    run = checkpoint.load(asked.model)
    talk.note_if_waiting((*(asked.sources or run.corpus.sources), *asked.valid))
    corpus = resuming.read_again(run, asked)
    facts = resuming.named_anew(run.corpus, corpus)
    run.corpus = replace(facts, baselines=in_order(facts.baselines))
    run.config = c = resuming.settings(run.config, asked, corpus)
    will_be = introduce(c, corpus, asked, talk)
    is_over = ended(run.state, c) is not None
    rate = 0.0 if is_over else characters_per_second(c, corpus)
    made = Opened(asked, corpus, run, will_be, rate)
    plan_view.tell([("resumes", f"at step {run.state.step:,}, epoch {run.state.epoch:,}")], talk)
    if not is_over:
        tell_time(made, talk)
    tell_baselines(remembered(run.corpus.baselines, corpus), corpus, talk)
    return made


def introduce(config: Fitted, corpus: Corpus, asked: Options, talk: Talk) -> Plan:
    """Tell what is to learn and from what: the plan. CorpusError where memory will not do."""
    plan_view.tell(plan_view.corpus_facts(corpus, asked), talk)
    will_be = plan(config, corpus)
    plan_view.tell(plan_view.network_facts(will_be, asked, len(corpus.train.ids)), talk)
    check_memory(will_be.memory_bytes, memory.available())
    return will_be


def tell_time(run: Opened, talk: Talk) -> None:
    """Tell how long it will take."""
    rate, left = run.characters_per_second, run.seconds_left
    plan_view.tell(plan_view.time_facts(run.plan, rate, left), talk)
