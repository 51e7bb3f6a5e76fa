"""A training run of the command line: lock the model file, begin or resume, train, show the result.

With ``--mpi``, several processes train as one program. Only rank 0 writes, reads and saves. An
error on one rank ends all of them, so that no rank waits for a lost one.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from charrnn import launcher
from charrnn.cli import console as streams
from charrnn.cli import signals
from charrnn.cli.console import FAILURE, Console, Fault
from charrnn.cli.errors import explain, option_for
from charrnn.cli.signals import Stop
from charrnn.cli.terminal.progress import Progress
from charrnn.cli.train.metrics import Metrics, check_place
from charrnn.cli.train.options import Options
from charrnn.cli.train.prepare import PreparedRun, prepare_run
from charrnn.cli.train.summary import Outcome, say_what_next, show
from charrnn.corpus.files import check_source
from charrnn.errors import CharrnnError, DivergedError, ModelExistsError, ResumeError
from charrnn.folds import check_folds, validate
from charrnn.model_file import container
from charrnn.model_file.checkpoint import Checkpoint, Saver
from charrnn.model_file.container import is_model
from charrnn.model_file.saving import check_may_be_replaced, locked
from charrnn.scoring.baselines import counting_baselines, differences
from charrnn.scoring.pieces import Floats
from charrnn.scoring.score import difference_of, tally
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import Ending
from charrnn.training.loop import Done, nats_of_best
from charrnn.training.members import train_all
from charrnn.training.ranks import ALONE, DismissedError, Ranks

if TYPE_CHECKING:
    from charrnn.training.ranks import MpiRanks

QUICK = 1 << 31  # multiplications, about a second: exact losses that a signal does not prevent


@contextmanager
def mpi_ranks() -> Iterator[MpiRanks]:
    """Join the ranks of mpiexec, and leave them in order. Only rank 0 handles signals."""
    from charrnn.training.ranks import join

    try:
        ranks = join()
    except ImportError as error:
        hint = "pip install mpi4py. If there is no MPI on this machine, also: pip install mpich"
        raise CharrnnError("--mpi needs mpi4py", hint) from error
    except RuntimeError as error:  # its message lists where mpi4py has looked
        hint = "Install one, such as: pip install mpich"
        raise CharrnnError("mpi4py finds no MPI library", hint) from error
    started = launcher.processes()
    if ranks.count == 1 and started > 1:
        what = f"mpiexec has started {started} processes, but mpi4py sees only one"
        raise CharrnnError(what, "Use the mpiexec of the MPI that mpi4py loads.")
    if ranks.number:
        for number in signals.heeded():
            signal.signal(number, signal.SIG_IGN)
    try:
        yield ranks
    except BaseException as error:
        if not ranks.are_apart and not isinstance(error, DivergedError):  # all ranks diverge
            if ranks.number or ranks.have_begun or not isinstance(error, Exception):
                end_all(error, ranks)
            ranks.begin(None)  # end the other ranks, which wait
        raise
    if not ranks.number and not ranks.have_begun:
        ranks.begin(None)  # end the other ranks, which wait


def end_all(error: BaseException, ranks: MpiRanks) -> NoReturn:
    fault = explain(error)
    if fault is None:
        traceback.print_exception(error)
        fault = Fault(FAILURE)
    elif ranks.number:
        what = fault.what or f"ended with status {fault.status}"
        fault = Fault(fault.status or FAILURE, f"rank {ranks.number}: {what}", fault.hint)
    if fault.what:
        Console().error(fault.what, fault.hint)
    with suppress(CharrnnError, OSError):
        streams.finish()
    time.sleep(launcher.READING)
    ranks.abort(fault.status or FAILURE)


def assist(ranks: MpiRanks) -> None:
    """Train as a rank other than 0, until rank 0 ends the run."""
    try:
        corpus = ranks.load((), CorpusConfig(), ())
        run: Checkpoint | None = ranks.begin(None)
        if run is not None:
            for _ in train_all(run.states, corpus, run.config, ranks=ranks):
                if ranks.are_to_stop():
                    break
    except (DivergedError, DismissedError):
        pass  # rank 0 shows the error
    except CharrnnError:
        if not ranks.are_apart:
            raise
    ranks.end()


@contextmanager
def lock_model_file(options: Options) -> Iterator[None]:
    """Lock the model file and check that it can be written. A dry run does not lock it."""
    container.check_writable(options.model, 1 << 12)  # every model file is larger
    if options.metrics is not None:
        check_place(options.metrics)
    if options.dry_run:
        yield
        return
    check_model_file(options)
    with locked(options.model):
        check_model_file(options)  # another run may have written it before the lock
        yield


def check_model_file(options: Options) -> None:
    """Raise an error if a model would be replaced without --force, or if none can be resumed."""
    is_there = os.path.exists(options.model)
    if options.resume and not is_there:
        hint = f"Train one first: {options.line('train', 'CORPUS')}"
        raise ResumeError(f"{options.model} does not exist, so it cannot be resumed", hint)
    if is_there and not options.resume and not options.force:
        hint = "Name another file with -m, or replace it with --force."
        check_may_be_replaced(options.model, is_model, hint)
        ways = "Or replace it with --force, or name another file with -m."
        hint = f"Resume it: {options.line('train', '--resume')}. {ways}"
        raise ModelExistsError(f"{options.model} already exists", hint)


def run(options: Options, threads: int, console: Console) -> None:
    """Train alone, or as a rank of --mpi. Raise SystemExit if a signal ended the run."""
    if not options.mpi:
        train(options, threads, console, ALONE)
        return
    with mpi_ranks() as ranks:
        if ranks.number:
            assist(ranks)
        else:
            train(options, ranks.count, console, ranks)


def train(options: Options, threads: int, console: Console, ranks: Ranks) -> None:
    if os.path.exists(options.model) and not options.resume:
        for source in (*options.sources, *options.valid):
            check_source(source)  # a missing corpus is reported before --force is suggested
    with lock_model_file(options):
        ready = prepare_run(options, threads, console, ranks)
        if options.dry_run:
            if options.as_json:
                console.json("plan", ready.as_json())
            return
        with signals.watched(console) as stop:
            outcome = learn(ready, stop, console, ranks)
    with signals.errors_ignored_after_hangup(stop):
        if outcome.stopped != "interrupted" and not outcome.is_new:
            console.note("already finished: nothing was left to do")
        show(outcome, options, console)
        say_what_next(outcome, options, console)
    if stop.requested:
        raise SystemExit(stop.status)


def learn(ready: PreparedRun, stop: Stop, console: Console, ranks: Ranks) -> Outcome:
    """Train and save, to the end or until a signal."""
    options, checkpoint, config = ready.options, ready.checkpoint, ready.checkpoint.config
    if options.folds is not None:
        check_folds(ready.corpus, options.folds)
    with ExitStack() as stack:
        metrics = None
        saver = Saver(
            options.model, checkpoint, is_saved=options.resume, ranks=ranks, alarm=console.alarm
        )
        if options.metrics is not None:
            metrics = Metrics(options.metrics, checkpoint, console, stop, is_resumed=options.resume)
            stack.callback(metrics.close)
            saver.before = metrics.sync
        screen = Progress(checkpoint, ready.symbols, console, options.preview)
        try:
            with screen:
                ranks.begin(replace(checkpoint, counted=None))
                why: Ending = "interrupted"
                counted = checkpoint.counted
                for event in train_all(checkpoint.states, ready.corpus, config, counted, ranks):
                    if metrics is not None:
                        metrics.add(event)  # before the save, so that a resumed run misses no line
                    screen.show(event)
                    saver.note(event)
                    if isinstance(event, Done):
                        why = event.why
                        break
                    if ranks.are_to_stop(stop.requested):
                        break
                if why == "interrupted":
                    screen.finish()
                ranks.end()
                saver.save()
        except DivergedError as error:
            saver.save_diverged()
            error.add_note(f"{saver.file_in_words()} charrnn reach measures its gradients.")
            raise
        except CharrnnError as error:
            error.add_note(saver.file_in_words())
            raise
    costs: dict[str, Floats] = {}
    ids = ready.corpus.held_out.ids
    if not stop.requested or len(ids) * ready.plan.parameters + (ready.symbols << 13) <= QUICK:
        config = replace(config, workers=1 if options.mpi else config.threads)
        costs = nats_of_best(checkpoint.states, ready.corpus, config, checkpoint.counted)
    scores = {name: tally(ids, nats) for name, nats in costs.items()}
    apart = {}
    best = ready.best_baseline
    if costs and best is not None:
        if best.nats is None:  # not known of a resumed run
            name, every = best.name, counting_baselines(ready.corpus, ids)
            best = next(baseline for baseline in every if baseline.name == name)
        apart = differences(best, ids, costs)
    if {"both", "counts"} <= costs.keys():
        apart["counts"] = difference_of(ids, costs["both"], costs["counts"])
    outcome = Outcome(checkpoint, why, screen.pace, screen.is_new, ready.warnings, scores, apart)
    if options.folds is not None and not stop.requested:
        given = ready.corpus, checkpoint.config, options.folds, console.note
        try:
            return replace(outcome, validated=validate(*given, lambda: stop.requested))
        except DivergedError as error:  # the run itself has ended well
            hint = error.hint_with(option_for)
            console.alarm(f"cross-validation ended: {error.what}. {hint}")
    return outcome
