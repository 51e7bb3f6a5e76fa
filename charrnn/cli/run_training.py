"""A run from its first word to its last.

    hold the model file -> open the run, new or resumed -> train -> show what it came to

Who trains with the same options on the same corpus gets the same file, whatever was drawn, saved
and interrupted meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from charrnn.cli import run_summary as end
from charrnn.cli import signals
from charrnn.cli.autosave import Saver
from charrnn.cli.console import Talk, write_json
from charrnn.cli.metrics import Metrics
from charrnn.cli.preparing import Opened, held, opened
from charrnn.cli.progress import Progress
from charrnn.cli.run_summary import Outcome
from charrnn.cli.signals import Stop
from charrnn.errors import CharrnnError
from charrnn.settings import Ending
from charrnn.training.loop import Done, Event, train

if TYPE_CHECKING:
    from charrnn.cli.train import Options


def run(asked: Options, threads: int, talk: Talk) -> None:
    """Do all of it; SystemExit where a signal was the end."""
    with held(asked):
        ready = opened(asked, threads, talk)
        if asked.dry_run:
            if asked.as_json:
                write_json("plan", ready.as_json())
            return
        with signals.watched(talk) as stop:
            outcome = learn(ready, stop, talk)
    with signals.unheard_after_hanging_up(stop):
        end.show(outcome, asked, talk)
        end.say_what_next(outcome, asked, talk)
    if stop.requested:
        raise SystemExit(stop.status)


def learn(ready: Opened, stop: Stop, talk: Talk) -> Outcome:
    """Train to the end, or until a signal asks for one, and save."""
    asked, checkpoint = ready.asked, ready.checkpoint
    with ExitStack() as stack:
        metrics = None
        if asked.metrics is not None:
            metrics = stack.enter_context(closing(Metrics(asked.metrics, checkpoint.state)))
        saver = Saver(asked.model, checkpoint, talk, metrics, is_there=asked.resume)
        screen = Progress(checkpoint, ready.symbols, talk, asked.preview)
        with remembered(saver), screen:
            events = train(checkpoint.state, ready.corpus, checkpoint.config)
            why = follow(events, stop, screen, saver, metrics)
            saver.save()
    return Outcome(checkpoint, why, screen.pace, screen.is_new)


def follow(
    events: Iterable[Event], stop: Stop, screen: Progress, saver: Saver, metrics: Metrics | None
) -> Ending:
    """Let everybody see each event; why they came to an end."""
    for event in events:
        if metrics is not None:
            metrics.note(event)  # before it is saved: no line is missing in a resumed run
        screen.show(event)
        saver.note(event)
        if isinstance(event, Done):
            return event.why
        if stop.requested:
            break
    screen.finish()
    return "interrupted"


@contextmanager
def remembered(saver: Saver) -> Iterator[None]:
    """Errors in here say as well what is left in the model file."""
    try:
        yield
    except CharrnnError as error:
        error.add_note(saver.what_is_there())
        raise
