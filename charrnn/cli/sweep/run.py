"""A sweep of the command line: lock the folder, read and plan, make the runs, show the table."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli import signals
from charrnn.cli.console import Console
from charrnn.cli.options import cluster_for
from charrnn.cli.signals import Stop
from charrnn.cli.sweep import show
from charrnn.cli.sweep.options import Options, values_tried
from charrnn.cli.sweep.prepare import PreparedSweep, prepare_sweep, runs_in_memory
from charrnn.cli.sweep.show import SweepProgress
from charrnn.cli.terminal.tables import entries
from charrnn.cli.train.summary import fed, typed_again
from charrnn.errors import ClusterError, ModelExistsError
from charrnn.runs import compute_baselines
from charrnn.sweeping.grid import best_of
from charrnn.sweeping.processes import Lost, Processes
from charrnn.sweeping.run import Advanced, Ended
from charrnn.sweeping.sweep import Folder
from charrnn.text import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster


def run(options: Options, _threads: int, console: Console) -> None:
    """Sweep. Raise SystemExit if a signal ended it, and CharrnnError if a run failed."""
    assert options.output is not None
    folder = Folder(options.output)
    with ExitStack() as stack:
        if options.resume:
            if not folder.has_sweep:
                folder.read_record()  # which raises the error
            if not options.dry_run:
                stack.enter_context(folder.lock())
            folder.read_rows()
            folder.forget_lost()
        cluster = None
        if not options.dry_run:
            cluster = stack.enter_context(cluster_for(options, console))
        spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="charrnn-")))
        sweep = prepare_sweep(options, values_tried(options.tried), folder, spool, console)
        if not options.resume:
            check_free(folder, sweep, options)
        here = runs_in_memory(options.at_once, sweep)
        sweep = replace(sweep, at_once=here if cluster is None else max(1, cluster.threads))
        show_plan(sweep, options, console)
        if options.dry_run:
            return
        if not options.resume:
            stack.enter_context(folder.lock())
            check_free(folder, sweep, options)  # another sweep may have begun before the lock
        folder.write_record(sweep.record)
        if cluster is not None:
            run_on_cluster(sweep, cluster, options, console)
            stop = Stop()
        else:
            with signals.watched(console) as stop:
                run_here(sweep, stop, console)
    with signals.errors_ignored_after_hangup(stop):
        show_results(sweep, stop, options, console)
    if stop.requested:
        raise SystemExit(stop.status)
    show.check_failures(sweep.results, str(folder.path))


def check_free(folder: Folder, sweep: PreparedSweep, options: Options) -> None:
    try:
        folder.check_free(sweep.record.grid)
    except ModelExistsError as error:
        hint = f"Resume it: {resume_line(sweep, options)}. Or name another folder with -o."
        raise ModelExistsError(error.what, hint) from error


def show_plan(sweep: PreparedSweep, options: Options, console: Console) -> None:
    """Show the plan on stderr, or on stdout if it is the result of a dry run."""
    baselines = compute_baselines(sweep.split.corpus, sweep.split.record)
    if options.dry_run and options.as_json:
        list(baselines)  # which adds them to the record
        console.json("sweep.plan", show.plan_json(sweep))
    elif options.dry_run or not console.quiet:
        output = console.out if options.dry_run else console.err
        output.write_lines(entries(show.plan_in_words(sweep), output))
        output.write_lines(entries(show.baselines_in_words(sweep, baselines), output))


def screen_for(sweep: PreparedSweep, console: Console) -> SweepProgress:
    seconds = {trial.name: sweep.seconds_of(trial) for trial in sweep.missing}
    return SweepProgress(seconds, best_of(sweep.results), len(sweep.trials), console)


def run_here(sweep: PreparedSweep, stop: Stop, console: Console) -> None:
    with (
        screen_for(sweep, console) as screen,
        Processes(sweep.record.material, sweep.at_once) as processes,
    ):
        for event in processes.events(sweep.folder.tasks(sweep.record)):
            match event:
                case Ended():
                    sweep.folder.add(event.result)
                    screen.end(event.result)
                case Advanced():
                    screen.advance(event.name, event.share)
                case Lost():
                    console.warn(f"the process of {event.name} {event.why}; repeating its run")
            if stop.requested and not processes.is_stopping:
                processes.stop()
            screen.refresh()


def run_on_cluster(
    sweep: PreparedSweep, cluster: Cluster, options: Options, console: Console
) -> None:
    """Make the missing runs on a cluster. A signal ends them at once, unsaved."""
    from charrnn.sweeping.processes import share_runs

    def advance(event: Advanced) -> None:
        screen.advance(event.name, event.share)
        screen.refresh()

    tasks = sweep.folder.tasks(sweep.record)
    try:
        with screen_for(sweep, console) as screen:
            for event in share_runs(cluster, tasks, sweep.record.material, advance):
                sweep.folder.add(event.result)
                screen.end(event.result)
                screen.refresh()
    except (ClusterError, KeyboardInterrupt) as error:
        line = f"{done_in_words(sweep)}; runs that had begun will start over"
        line += f"; to resume: {resume_line(sweep, options)}"
        if isinstance(error, KeyboardInterrupt):
            console.note(line)
        else:
            error.hint_pattern = line
        raise


def show_results(sweep: PreparedSweep, stop: Stop, options: Options, console: Console) -> None:
    results, folder = sweep.results, str(sweep.folder.path)
    if options.as_json:
        stopped = "interrupted" if stop.requested else "done"
        console.json("sweep", show.summary_json(folder, results, len(sweep.trials), stopped))
    elif results and not console.quiet:
        console.say(Visible(""))
        console.out.write_lines(show.table(results, console.out))
    if stop.requested:
        line = f"to resume: {resume_line(sweep, options)}"
        console.note(f"{done_in_words(sweep)}, the others are saved; {line}")
    elif lines := [*show.next_lines(results, sweep.split.record)]:
        console.say(*map(visible_line, ["next:", *(f"  {line}" for line in lines)]))


def done_in_words(sweep: PreparedSweep) -> str:
    return f"{len(sweep.results):,} of {len(sweep.trials):,} runs are done"


def resume_line(sweep: PreparedSweep, options: Options) -> str:
    sources = sweep.record.material.sources
    again = typed_again(sources, sweep.record.material.valid)
    workers = [] if options.workers is None else ["--workers", str(options.workers)]
    workers += [] if options.scheduler is None else ["--scheduler", options.scheduler]
    line = ["charrnn", "sweep", *again, "--resume", "-o", str(options.output), *workers]
    return fed(shlex.join(line), again, sources)
