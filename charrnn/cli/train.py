"""The network reads the corpus again and again, and learns to predict the next character. A part of
the corpus is held out to measure the loss. charrnn chooses the sizes that you do not set, and
--dry-run shows them. The loss to beat is that of counting which characters follow others.

Ctrl-C saves the run, and --resume continues exactly where it stopped.

# train on a corpus of the package, then draw thirty good names
charrnn train dinosaurs
charrnn sample -n 30 --best

# train on a book for twenty minutes
charrnn train book.txt.gz -m book.npz --minutes 20

# fine-tune a model of many names on your own names
charrnn train mine.txt --from given-names -m mine.npz
"""

from __future__ import annotations

import os
import shlex
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli.console import INDENT, Console, check_not_input, finish, only_one
from charrnn.cli.shared_options import OUTPUT, CorpusOptions, flag, model_option, typed_models
from charrnn.errors import SettingError
from charrnn.export.write import misfit
from charrnn.settings.values import File, Whole, setting
from charrnn.system.packaged import CORPORA
from charrnn.system.signals import watched
from charrnn.system.visible import count

if TYPE_CHECKING:
    from charrnn.cli.train_screen import Training

ABOUT_WIDTH = 25  # columns of what a command is for
SHORT_EXAMPLE = 40  # characters of one: thirty of them fit on a screen
QUICK_WORK = 1 << 31  # multiplications, about a second: held-out text that is scored after a signal


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    FIRST = "sources minutes epochs cell hidden layers counts label_by book start_from seed"
    FIRST += " resume force"
    model: Path = model_option(
        "The model file to write.", values=File(), short="Save the model in this file"
    )
    force: bool = flag("Replace an existing model| file.")
    metrics: Path | None = setting(
        File(),
        "Append a JSON line to this file for each step and check-up.",
        panel=OUTPUT,
        short="Append figures to this file",
    )
    preview: int = setting(
        Whole(0, 100),
        "Show this many samples beside a check-up.",
        panel=OUTPUT,
        default=1,
        short="Show samples at each check-up",
    )


def run(options: Options, console: Console) -> None:
    """Train and show the result. Raise SystemExit if a signal ended the run."""
    from charrnn.cli import train_screen as screen
    from charrnn.files.model_file import check_replaceable, locked_model
    from charrnn.files.safe_writing import check_writable
    from charrnn.runs import events_of_run

    check(options)
    open_run = screen.resume_run if options.resume else screen.new_training
    check_writable(options.model)
    may_replace = options.resume or options.force
    if options.dry_run:
        check_replaceable(options.model, force=may_replace)
        if options.metrics is not None and not options.metrics.exists():
            check_writable(options.metrics)
        screen.show_dry_run(open_run(options, options.model, console), options, console)
        return
    with locked_model(options.model, force=may_replace, note=console.note):
        training = open_run(options, options.model, console)
        if not training.adds_counts:
            events_of_run(training)  # which starts its processes
        screen.show_plan(training, options, console)  # while the processes of the run start
        train_to_the_end(training, options, console, may_replace)
    try:
        if options.as_json:
            console.json("train", {"model": str(options.model), **training.results()})
        elif not console.quiet:
            screen.show_summary(training, console)
    except OSError:
        if not training.status:
            raise
        with suppress(OSError):  # Ctrl-C has ended the reader, too, or the terminal was closed
            finish()
    if not (training.seconds or training.status or training.adds_counts):
        console.note("already finished: nothing was left to do")
    show_next(training, options, console)
    if training.lost is not None:
        training.lost.status = training.status or training.lost.status
        raise training.lost
    if training.status:
        raise SystemExit(training.status)


def check(options: Options) -> None:
    """Raise SettingError if options exclude or need each other, or name one file twice."""
    if not options.sources and not options.resume:
        hint = f"Name a file, - or one of {', '.join(CORPORA)}; see --help."
        raise SettingError("CORPUS is missing", hint)
    only_one({"--valid": options.valid, "--holdout": "holdout" in options.cutting})
    if options.resume:
        only_one({"--resume": True, "--force": options.force, "--from": options.start_from})
    check_not_input(options.model, "-m", *options.sources, *options.valid)
    if options.metrics is not None:
        check_not_input(options.metrics, "--metrics", options.model, *options.sources)


def train_to_the_end(training: Training, options: Options, console: Console, force: bool) -> None:
    """Train until the run is over or a signal comes. Save now and then, and at the end."""
    from charrnn.cli.train_screen import Progress
    from charrnn.files.saves_and_metrics import Saver
    from charrnn.runs import fit_and_score
    from charrnn.training.loop import Checkup, Done

    checkpoint = training.checkpoint
    how = {"is_saved": options.resume, "renames_old": not force}
    saver = Saver(options.model, checkpoint, options.metrics, console.note, console.warn, **how)
    work = len(training.corpus.held_out.ids) * len(checkpoint.state.parameters.flat)
    with watched(console.quiet) as stop, closing(saver):
        with saver.explained(), closing(Progress(training, console, options.preview)) as screen:
            for event in () if training.adds_counts else training:
                if isinstance(event, Done):
                    training.stopped = event.why
                    break
                saver.record(event)
                screen.show(event)
                is_last = isinstance(event, Checkup) and checkpoint.ended is not None
                if stop.requested and not (is_last and work <= QUICK_WORK):
                    break
                if is_last:
                    saver.save()  # before the held-out text is scored, which may take long
            screen.finish()
            if training.stopped == "patience" and not training.adds_counts:
                console.note("        ended early: the last check-ups were no better")
            clip, steps = checkpoint.config.clip, count(training.steps, "step")
            if checkpoint.config.book and training.steps:
                console.note(f"        clipped at {clip:g} in {training.clipped:,} of {steps}")
            saver.save()
        is_quick = training.stopped == "interrupted" and work <= QUICK_WORK
        if is_quick or training.adds_counts:
            training._nats = fit_and_score(checkpoint, training.corpus)
            saver.save()
        training.compare()
        training.status, training.lost = stop.status, saver.close()


def show_next(training: Training, options: Options, console: Console) -> None:
    """Show how to resume a run that was interrupted, or commands to type next."""
    model = typed_models(options.model)

    def line(command: str, *arguments: str) -> str:
        return shlex.join(["charrnn", command, *arguments, *model])

    corpus, state = training.corpus, training.checkpoint.state
    again = [*options.sources, *(f"--valid={name}" for name in options.valid)]
    again = [] if corpus.files.keys() >= {*corpus.sources, *corpus.valid} else again
    if training.stopped == "interrupted":
        metrics = [] if options.metrics is None else ["--metrics", str(options.metrics)]
        how = "to resume, with the same text" if again else "to resume"
        command = line("train", *again, "--resume", *metrics)
        console.note(f"saved at step {state.step:,}; {how}: {command}")
        return
    kind = [f"--label={label}" for label in corpus.vocabulary.labels][:1]
    lines = {line("sample", *kind): "a new text"}
    if corpus.train.characters < SHORT_EXAMPLE * len(corpus.train):
        lines = {line("sample", "-n", "30", "--best", *kind): f"thirty good {corpus.examples_are}"}
    stem = Path(corpus.sources[0]).name.partition(".")[0]
    names_all = stem.isidentifier() and len(corpus.sources) == 1
    page = f"{stem if names_all else options.model.stem.lstrip('-') or 'page'}.html"  # no option
    if misfit(state.parameters.architecture, page) is None and not os.path.lexists(page):
        lines[line("export", page)] = "a page for a friend"
    room, label = console.err.window - INDENT - 1, "next"
    width = max(map(len, lines)) + 2
    for command, about in lines.items():
        shown = f"{command:{width}}{about}" if width + ABOUT_WIDTH <= room else command
        console.note(f"{label:{INDENT}}{shown}")
        label = ""
    if not console.quiet and (loss := training.loss_with_counts()) is not None:
        command = line("train", *again, "--resume", "--counts")
        console.note(f"{'':{INDENT}}with counting {loss:.3f}: {command}")
