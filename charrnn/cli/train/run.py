"""A run from its beginning to its end.

    hold the model file -> open the run, new or resumed -> train -> show what it came to

Who trains with the same options on the same corpus gets the same file, whatever was drawn, saved
and interrupted meanwhile.

When a run is saved: at check-ups, once in a while between them, and when it ends.

``--mpi``: several processes as one program, of which the first alone speaks, reads and saves.

Whatever goes wrong on one of them ends all: nobody is left waiting for who is gone. What goes wrong
on all at once, or before they have begun to learn, ends each as it would end one alone.

The model file while a run goes on: it can be written, and nobody else writes to it."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from charrnn.cli import console, launcher, signals
from charrnn.cli import launcher as early_signals
from charrnn.cli.console import FAILURE, Console, Fault
from charrnn.cli.errors import explain
from charrnn.cli.files import check_may_be_replaced
from charrnn.cli.signals import Stop
from charrnn.cli.terminal.progress import Progress
from charrnn.cli.train.metrics import Metrics
from charrnn.cli.train.prepare import PreparedRun, prepared
from charrnn.cli.train.summary import Outcome, say_what_next, show
from charrnn.corpus.corpus import CorpusConfig
from charrnn.corpus.files import check_source
from charrnn.errors import CharrnnError, DivergedError, ModelExistsError, ResumeError, SaveError
from charrnn.model_file import checkpoint, container
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.model_file.reader import is_model
from charrnn.model_file.saving import locked
from charrnn.scoring.score import Score
from charrnn.settings.training import Ending
from charrnn.training.loop import Checkup, Done, Event
from charrnn.training.members import scores_of_best, train_all
from charrnn.training.ranks import ALONE, DismissedError, Ranks

if TYPE_CHECKING:
    from charrnn.cli.train.options import Options
    from charrnn.training.mpi import MpiRanks


OFTEN = 2.0  # seconds from save to save, at check-ups
SELDOM = 60.0  # the same between them, or after a save that failed
COSTLY = 50  # times as long as a save took pass until the next: it costs a fiftieth at most


class Saver:
    """Keeps the model file up to date."""

    def __init__(
        self,
        path: Path,
        run: Checkpoint,
        console: Console,
        metrics: Metrics | None,
        ranks: Ranks = ALONE,
        *,
        is_there: bool,
    ) -> None:
        """is_there says that the file holds the run as it is now."""
        self.path, self.run, self.console, self.metrics = path, run, console, metrics
        self.ranks = ranks
        self.step: int | None = run.longest.step if is_there else None  # of what is in the file
        self._mark = self._now() if is_there else None
        self._at = time.monotonic()
        self._often, self._seldom = 0.0, SELDOM  # the first check-up is saved at once

    def note(self, event: Event) -> None:
        """Save if it is time. A save that fails then is a warning, and tried again later."""
        passed = time.monotonic() - self._at
        if passed < self._seldom and not (isinstance(event, Checkup) and passed >= self._often):
            return
        if not self.ranks.first_has_all():
            return  # but after the next step
        try:
            self.save()
        except SaveError as error:
            self.console.alarm(f"{error.what}; training goes on")
            self._at = time.monotonic()
            self._often = SELDOM

    def save(self) -> None:
        """Save what is not in the file yet; SaveError where that fails."""
        if self._mark == self._now() and os.path.exists(self.path):
            return
        began = time.monotonic()
        if self.metrics is not None:
            self.metrics.sync()
        checkpoint.save(self.path, self.run)
        self._mark, self.step = self._now(), self.run.longest.step
        self._at = time.monotonic()
        self._often = max(OFTEN, COSTLY * (self._at - began))
        self._seldom = max(SELDOM, self._often)

    def what_is_there(self) -> str:
        """What the model file holds, for somebody whose run has failed."""
        if self.step is not None and not os.path.exists(self.path):
            return f"{self.path} was saved at step {self.step:,}, and is there no more."
        if self.step is not None:
            return f"{self.path} holds the run as it was at step {self.step:,}."
        if os.path.exists(self.path):
            return f"{self.path} is what it was before."
        return "Nothing was saved."

    def _now(self) -> tuple[object, ...]:
        """What tells two states of a run apart, whichever of its networks has moved."""
        return self.run.config, *((one.step, len(one.history)) for one in self.run.states)


@contextmanager
def joined() -> Iterator[MpiRanks]:
    """The ranks, of which this process is one. The first ends what it has to say to the others in
    here; only it hears signals.
    """
    ranks = joined_ranks()
    if ranks.number:
        for number in early_signals.ours():
            signal.signal(number, signal.SIG_IGN)
    try:
        yield ranks
    except BaseException as error:
        if not ranks.are_apart and not isinstance(error, DivergedError):  # which all find at once
            if ranks.number or ranks.have_begun or not isinstance(error, Exception):
                end_all(error, ranks)
            ranks.dismiss()
        raise
    if not ranks.number and not ranks.have_begun:
        ranks.dismiss()


def joined_ranks() -> MpiRanks:
    """The same; CharrnnError where there is no MPI, or another one than that of mpiexec."""
    from charrnn.training.mpi import join

    try:
        ranks = join()
    except ImportError as error:
        raise CharrnnError(
            "--mpi needs mpi4py",
            "pip install 'charrnn[mpi]', and an MPI if there is none: pip install mpich",
        ) from error
    except RuntimeError as error:  # in many lines: where it has looked for one
        raise CharrnnError(
            "--mpi needs an MPI, and mpi4py finds none",
            "Install one, such as: pip install mpich",
        ) from error
    started = launcher.processes()
    if ranks.count == 1 and started > 1:
        raise CharrnnError(
            f"mpiexec has started {started} processes, and mpi4py knows of one",
            "Start them by the mpiexec of the MPI that mpi4py loads.",
        )
    return ranks


def end_all(error: BaseException, ranks: MpiRanks) -> NoReturn:
    """Say what it was, and end the processes of all ranks at once."""
    fault = explain(error)
    if fault is None:
        traceback.print_exception(error)
        fault = Fault(FAILURE)
    elif ranks.number:
        what = fault.what or f"it ended with status {fault.status}"
        fault = Fault(fault.status or FAILURE, f"rank {ranks.number}: {what}", fault.hint)
    if fault.what:
        Console().error(fault.what, fault.hint)
    with suppress(CharrnnError, OSError):
        console.finish()
    launcher.let_it_be_read()
    ranks.abort(fault.status or FAILURE)


SMALLEST = 1 << 12  # bytes: no model has fewer


@contextmanager
def model_file_held(options: Options) -> Iterator[None]:
    """The model file is ours alone in here, and can be written; a dry run does not touch it."""
    if options.dry_run:
        yield
        return
    container.check_writable(options.model, SMALLEST)
    check_there(options)
    with locked(options.model):
        check_there(options)  # it may have come between the look and the lock
        yield


def check_there(options: Options) -> None:
    """Raise where a model would be lost, or is not there to go on with."""
    is_there = os.path.exists(options.model)
    if options.resume and not is_there:
        raise ResumeError(
            f"there is no {options.model} to go on with",
            f"Train one first: {options.line('train', 'CORPUS')}",
        )
    if is_there and not options.resume and not options.force:
        check_may_be_replaced(options.model, is_model, force=False, option="-m")
        raise ModelExistsError(
            f"{options.model} is there already",
            f"Go on with it: {options.line('train', '--resume')}. Or replace it with --force, or"
            " name another file with -m.",
        )


def run(options: Options, workers: int, console: Console, ranks: Ranks = ALONE) -> None:
    """Do all of it; SystemExit where a signal was the end."""
    if os.path.exists(options.model) and not options.resume:
        for source in (*options.sources, *options.valid):
            check_source(source)  # before anyone is told to replace a model for the sake of it
    with model_file_held(options):
        ready = prepared(options, workers, console, ranks)
        if options.dry_run:
            if options.as_json:
                console.json("plan", ready.as_json())
            return
        with signals.watched(console) as stop:
            outcome = learn(ready, stop, console, ranks)
    with signals.unheard_after_hanging_up(stop):
        show(outcome, options, console)
        say_what_next(outcome, options, console)
    if stop.requested:
        raise SystemExit(stop.status)


def learn(ready: PreparedRun, stop: Stop, console: Console, ranks: Ranks) -> Outcome:
    """Train to the end, or until a signal asks for one, and save."""
    options, checkpoint, config = ready.options, ready.checkpoint, ready.checkpoint.config
    with ExitStack() as stack:
        metrics = None
        if options.metrics is not None:
            written = Metrics(options.metrics, checkpoint, console, stop, is_resumed=options.resume)
            metrics = stack.enter_context(closing(written))
        saver = Saver(options.model, checkpoint, console, metrics, ranks, is_there=options.resume)
        screen = Progress(checkpoint, ready.symbols, console, options.preview)
        with noting_what_is_saved(saver), screen:
            ranks.begin(replace(checkpoint, counted=None))
            counted = checkpoint.counted
            events = train_all(checkpoint.states, ready.corpus, config, counted, ranks)
            why = follow(events, stop, screen, saver, metrics, ranks)
            ranks.end()
            saver.save()
    found: dict[str, Score] = {}
    if not stop.requested:  # who has asked for an end need not wait for a last digit
        threads = 1 if options.mpi else config.workers
        config = replace(config, workers=threads)
        found = scores_of_best(checkpoint.states, ready.corpus, config, checkpoint.counted)
    return Outcome(checkpoint, why, screen.pace, screen.is_new, ready.warnings, found)


def assist(ranks: MpiRanks) -> None:
    """Learn as one of the ranks that nobody hears of, until the first one says that it is over."""
    try:
        corpus = ranks.load((), CorpusConfig(), ())
        run: Checkpoint | None = ranks.begin(None)
        if run is not None:
            for _ in train_all(run.states, corpus, run.config, ranks=ranks):
                if ranks.are_to_stop():
                    break
    except (DivergedError, DismissedError):
        pass  # the first one knows, and says so
    except CharrnnError:
        if not ranks.are_apart:
            raise
    ranks.end()


def follow(
    events: Iterable[Event],
    stop: Stop,
    screen: Progress,
    saver: Saver,
    metrics: Metrics | None,
    ranks: Ranks,
) -> Ending:
    """Let everybody see each event; why they came to an end."""
    for event in events:
        if metrics is not None:
            metrics.note(event)  # before it is saved: no line is missing in a resumed run
        screen.show(event)
        saver.note(event)
        if isinstance(event, Done):
            return event.why
        if ranks.are_to_stop(stop.requested):
            break
    screen.finish()
    return "interrupted"


@contextmanager
def noting_what_is_saved(saver: Saver) -> Iterator[None]:
    """Errors in here say as well what is left in the model file."""
    try:
        yield
    except CharrnnError as error:
        error.add_note(saver.what_is_there())
        raise
