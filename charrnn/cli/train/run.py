"""A training run: lock the model file, begin or resume, train, show the result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from charrnn.cli import signals
from charrnn.cli.console import Console
from charrnn.cli.signals import Stop
from charrnn.cli.terminal.progress import Progress
from charrnn.cli.train.metrics import Metrics, check_place
from charrnn.cli.train.options import Options
from charrnn.cli.train.prepare import PreparedRun, prepare_run
from charrnn.cli.train.summary import Outcome, say_what_next, show
from charrnn.counts import baselines
from charrnn.errors import CharrnnError, DivergedError, ResumeError
from charrnn.model_file import is_model
from charrnn.network import Array64
from charrnn.predictor import Use
from charrnn.runs import Saver
from charrnn.saving import check_may_be_replaced, check_writable, locked
from charrnn.score import Difference, Score, difference_of, differences, tally
from charrnn.settings.training import Ending
from charrnn.training.loop import Done, nats_of_best, note_oddest, train

QUICK = 1 << 31  # multiplications, about a second: exact losses that a signal does not prevent


@contextmanager
def lock_model_file(options: Options) -> Iterator[None]:
    """Lock the model file and check that it can be written. A dry run does not lock it."""
    check_writable(options.model, 1 << 12)  # every model file is larger
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
    """Raise an error if the file may not be replaced, or if there is none to resume."""
    is_there = os.path.exists(options.model)
    if options.resume and not is_there:
        hint = f"Train one first: {options.line('train', 'CORPUS')}"
        raise ResumeError(f"{options.model} does not exist, so it cannot be resumed", hint)
    if is_there and not options.resume and not options.force:
        hint = "Name another file with -m, or replace it with --force."
        check_may_be_replaced(options.model, is_model, hint)


def run(options: Options, _cores: int, console: Console) -> None:
    """Train and show the result. Raise SystemExit if a signal ended the run."""
    with lock_model_file(options):
        ready = prepare_run(options, console)
        if options.dry_run:
            if options.as_json:
                console.json("plan", ready.as_json())
            return
        with signals.watched(console.quiet) as stop:
            outcome = learn(ready, stop, console)
    if outcome.stopped != "interrupted" and not outcome.is_new:
        console.note("already finished: nothing was left to do")
    show(outcome, options, console)
    say_what_next(outcome, options, console)
    if stop.requested:
        raise SystemExit(stop.status)


def learn(ready: PreparedRun, stop: Stop, console: Console) -> Outcome:
    """Train and save, to the end or until a signal."""
    options, checkpoint, config = ready.options, ready.checkpoint, ready.checkpoint.config
    with ExitStack() as stack:
        metrics = None
        keeps_old = not options.resume and not options.force
        saver = Saver(
            options.model,
            checkpoint,
            is_saved=options.resume,
            alarm=console.alarm,
            kept=(lambda old: console.note(f"the old model is {old} now")) if keeps_old else None,
        )
        if options.metrics is not None:
            metrics = Metrics(options.metrics, checkpoint, console, stop, is_resumed=options.resume)
            stack.callback(metrics.close)
            saver.before = metrics.sync
        screen = Progress(checkpoint, ready.symbols, console, options.preview)
        try:
            with screen:
                why: Ending = "interrupted"
                for event in train(checkpoint.state, ready.corpus, config):
                    if metrics is not None:
                        metrics.add(event)  # before the save, so that a resumed run misses no line
                    screen.show(event)
                    saver.note(event)
                    if isinstance(event, Done):
                        why = event.why
                        break
                    if stop.requested:
                        break
                if why == "interrupted":
                    screen.finish()
                saver.save()
        except DivergedError as error:
            saver.save_diverged()
            error.add_note(f"{saver.file_in_words()} charrnn reach measures its gradients.")
            raise
        except CharrnnError as error:
            error.add_note(saver.file_in_words())
            raise
    costs: dict[Use, Array64] = {}
    ids = ready.corpus.held_out.ids
    if not stop.requested or len(ids) * ready.plan.parameters + (ready.symbols << 13) <= QUICK:
        costs = nats_of_best(checkpoint.state, ready.corpus, config, checkpoint.counted)
        note_oddest(checkpoint.oddest, ids, costs)
        saver.save()
    scores: dict[str, Score] = {name: tally(ids, nats) for name, nats in costs.items()}
    apart: dict[str, Difference] = {}
    best = ready.best_baseline
    if costs and best is not None:
        if best.nats is None:  # not known of a resumed run
            corpus, name = ready.corpus, best.name
            every = baselines(corpus.train.ids, ids, corpus.vocabulary)
            best = next(baseline for baseline in every if baseline.name == name)
        apart |= differences(best, ids, costs)
    if {"both", "counts"} <= costs.keys():
        apart["counts"] = difference_of(ids, costs["both"], costs["counts"])
    return Outcome(checkpoint, why, screen.pace, screen.is_new, ready.warnings, scores, apart)
