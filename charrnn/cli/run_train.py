"""A run from its beginning to its end.

    hold the model file -> open the run, new or resumed -> train -> show what it came to

Who trains with the same options on the same corpus gets the same file, whatever was drawn, saved
and interrupted meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from charrnn.cli import signals
from charrnn.cli.autosave import Saver
from charrnn.cli.console import Console
from charrnn.cli.held_file import model_file_held
from charrnn.cli.metrics import Metrics
from charrnn.cli.prepare_training import PreparedRun, prepared
from charrnn.cli.progress import Progress
from charrnn.cli.signals import Stop
from charrnn.cli.training_summary import Outcome, say_what_next, show
from charrnn.corpus.corpus import CorpusConfig
from charrnn.corpus.sources import check_source
from charrnn.errors import CharrnnError, DivergedError
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.scoring.score import Score
from charrnn.settings.training import Ending
from charrnn.training.loop import Done, Event
from charrnn.training.members import scores_of_best, train_all
from charrnn.training.single_process import ALONE, DismissedError, Ranks

if TYPE_CHECKING:
    from charrnn.cli.train import Options
    from charrnn.training.mpi_ranks import MpiRanks


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
