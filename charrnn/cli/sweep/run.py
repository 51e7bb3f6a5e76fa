"""A sweep from its beginning to its end.

hold the folder -> read, plan -> runs, side by side, a row as each ends -> the table
"""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import signals
from charrnn.cli.console import Console
from charrnn.cli.options import cluster_for
from charrnn.cli.signals import Stop
from charrnn.cli.sweep import show as sweep_plan
from charrnn.cli.sweep import show as sweep_summary
from charrnn.cli.sweep.prepare import PreparedSweep, fitting, prepared
from charrnn.cli.sweep.show import SweepProgress
from charrnn.cli.terminal.tables import entries
from charrnn.cli.train.summary import fed, typed_again
from charrnn.errors import ClusterError, ModelExistsError
from charrnn.sweeping.folder import Folder
from charrnn.sweeping.grid import Result, best_of
from charrnn.sweeping.processes import Lost, Processes
from charrnn.sweeping.run import Ended, Moved
from charrnn.text import visible_line

if TYPE_CHECKING:
    from charrnn.cli.sweep.options import Options
    from charrnn.cluster.pool import Cluster


def run(
    options: Options, tried: dict[str, tuple[Any, ...]], at_once: int, console: Console
) -> None:
    """Do all of it; SystemExit where a signal was the end, CharrnnError where a run failed."""
    assert options.output is not None
    folder = Folder(options.output)
    with ExitStack() as stack:
        if options.resume:
            if not folder.is_begun:
                folder.read_options()  # which says so
            if not options.dry_run:
                stack.enter_context(folder.held())
            folder.read_rows()
            folder.forget_lost()
        cluster = None
        if not options.dry_run:
            workers = cluster_for(options.processes, options.scheduler, console)
            cluster = stack.enter_context(workers)
        spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="charrnn-")))
        sweep = prepared(options, tried, folder, spool, console)
        if not options.resume:
            check_free(folder, sweep, options)
        here = fitting(at_once, sweep)
        sweep = replace(sweep, at_once=here if cluster is None else max(1, cluster.threads))
        show_plan(sweep, options, console)
        if options.dry_run:
            return
        if not options.resume:
            stack.enter_context(folder.held())
            check_free(folder, sweep, options)  # it may have come between the look and the lock
        folder.write_options(sweep.begun)
        if cluster is not None:
            share_out(sweep, cluster, options, console)
            stop = Stop()
        else:
            with signals.watched(console) as stop:
                make(sweep, stop, console)
    with signals.unheard_after_hanging_up(stop):
        show(sweep, stop, options, console)
    if stop.requested:
        raise SystemExit(stop.status)
    sweep_summary.check_failures(results_of(sweep), str(folder.path))


def check_free(folder: Folder, sweep: PreparedSweep, options: Options) -> None:
    """Raise where a new sweep would take the place of a file."""
    try:
        folder.check_free(sweep.begun.grid)
    except ModelExistsError as error:
        hint = f"Go on with it: {go_on(sweep, options)}. Or name another folder with -o."
        raise ModelExistsError(error.what, hint) from error


def show_plan(sweep: PreparedSweep, options: Options, console: Console) -> None:
    """Show the plan: to stderr, but for a dry run, whose result it is."""
    found = sweep.split.baselines()
    if options.dry_run and options.as_json:
        for _ in found:
            pass
        console.json("sweep.plan", sweep_plan.as_json(sweep))
    elif options.dry_run or not console.quiet:
        output = console.out if options.dry_run else console.err
        output.write_lines(entries(sweep_plan.in_words(sweep), output))
        output.write_lines(entries(sweep_plan.baselines_in_words(sweep, found), output))


def screen_for(sweep: PreparedSweep, console: Console) -> SweepProgress:
    """What is seen meanwhile."""
    seconds = {one.name: sweep.seconds_of(one) for one in sweep.missing}
    return SweepProgress(seconds, best_of(results_of(sweep)), len(sweep.trials), console)


def make(sweep: PreparedSweep, stop: Stop, console: Console) -> None:
    """Make the runs that are missing, in processes of our own, until a signal asks for an end."""
    with (
        screen_for(sweep, console) as screen,
        Processes(sweep.material, sweep.at_once) as processes,
    ):
        for event in processes.events(sweep.tasks):
            match event:
                case Ended():
                    sweep.folder.add(event.result)
                    screen.ended(event.result)
                case Moved():
                    screen.moved(event.name, event.share)
                case Lost():
                    console.warn(f"the process of {event.name} {event.why}; it is made once more")
            if stop.requested and not processes.is_stopping:
                processes.stop()
            screen.refresh()


def share_out(sweep: PreparedSweep, cluster: Cluster, options: Options, console: Console) -> None:
    """Have the runs that are missing made by the workers of a cluster. A signal ends that at once,
    and the workers forget what they were at.
    """
    from charrnn.sweeping.dask import shared_out

    def moved(event: Moved) -> None:
        screen.moved(event.name, event.share)
        screen.refresh()

    try:
        with screen_for(sweep, console) as screen:
            for event in shared_out(cluster, sweep.tasks, sweep.material, moved):
                sweep.folder.add(event.result)
                screen.ended(event.result)
                screen.refresh()
    except (ClusterError, KeyboardInterrupt) as error:
        done = f"{len(results_of(sweep)):,} of {len(sweep.trials):,} runs are done"
        line = f"{done}, and what was under way begins anew; to go on: {go_on(sweep, options)}"
        if isinstance(error, KeyboardInterrupt):
            console.note(line)
        else:
            error.hint = line
        raise


def show(sweep: PreparedSweep, stop: Stop, options: Options, console: Console) -> None:
    """Show what it came to, and what to type next."""
    results, folder = results_of(sweep), str(sweep.folder.path)
    if options.as_json:
        stopped = "interrupted" if stop.requested else "done"
        console.json(
            "sweep", sweep_summary.summary_json(folder, results, len(sweep.trials), stopped)
        )
    elif results and not console.quiet:
        console.out.write_lines(sweep_summary.table(results, console.out))
    if stop.requested:
        left = f"{len(results):,} of {len(sweep.trials):,} runs are done, the others are saved"
        console.note(f"{left}; to go on: {go_on(sweep, options)}")
    elif lines := [*sweep_summary.next_lines(results, sweep.split.record)]:
        console.say(*map(visible_line, ["next:", *(f"  {line}" for line in lines)]))


def results_of(sweep: PreparedSweep) -> list[Result]:
    """The results that there are, in the order of the runs, their models as seen from here."""
    return [found for one in sweep.trials if (found := sweep.folder.seen(one.name)) is not None]


def go_on(sweep: PreparedSweep, options: Options) -> str:
    """What to type to go on with the sweep."""
    sources = sweep.begun.sources
    again = typed_again(sources, sweep.begun.valid)
    who = [] if options.processes is None else ["--workers", str(options.processes)]
    who += [] if options.scheduler is None else ["--scheduler", options.scheduler]
    line = ["charrnn", "sweep", *again, "--resume", "-o", str(options.output), *who]
    return fed(shlex.join(line), again, sources)
