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
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charrnn.cli.console import (
    INDENT,
    Console,
    Entry,
    check_not_input,
    clock,
    count,
    entries,
    only_one,
    option_for,
)
from charrnn.cli.shared_options import MODEL, OUTPUT, CorpusOptions, flag, model_option
from charrnn.errors import SettingError, in_words
from charrnn.settings.training import AUTOMATIC, Fitted
from charrnn.settings.values import File, Whole, setting
from charrnn.system.cores import available
from charrnn.system.packaged import CORPORA
from charrnn.system.signals import watched
from charrnn.system.visible import Visible

if TYPE_CHECKING:
    from charrnn.cli.progress import Files, Training
    from charrnn.files.model_contents import Checkpoint
    from charrnn.text.corpus import Corpus, Warned


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
    resume: bool = flag(
        "Continue the run in the model file exactly where it stopped.",
        short="Continue the saved run",
    )
    force: bool = flag("Replace an existing model| file.")
    metrics: Path | None = setting(
        File(),
        "Append a JSON line to this file for each step and each check-up.",
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
    dry_run: bool = flag(
        "Show all settings, memory, time and baselines, and exit.",
        short="Show all settings and exit",
    )

    def line(self, command: str, *arguments: str) -> str:
        usual = Path(os.environ.get("CHARRNN_MODEL") or MODEL)
        model = [] if self.model == usual else ["-m", str(self.model)]
        return shlex.join(["charrnn", command, *arguments, *model])


def run(options: Options, console: Console) -> None:
    """Train and show the result. Raise SystemExit if a signal ended the run."""
    from charrnn import runs
    from charrnn.files.model_file import locked_model
    from charrnn.files.saving import check_writable

    check(options)
    open_run = resume_run if options.resume else new_training
    check_writable(options.model)
    if options.dry_run:
        show_dry_run(open_run(options, console), options, console)
        return
    may_replace = options.resume or options.force
    with locked_model(options.model, force=may_replace, note=console.note):
        training = open_run(options, console)
        if not training.adds_counts:
            runs.events_of_run(training.run)  # which starts its processes
        show_plan(training, options, console)  # while the processes of the run start
        train_to_the_end(training, options, console, may_replace)
    if options.as_json:
        console.json("train", {"model": str(options.model), **training.results()})
    elif not console.quiet:
        show_summary(training, options, console)
    if not (training.characters or training.status or training.adds_counts):
        console.note("already finished: nothing was left to do")
    show_next(training, options, console)
    if training.lost is not None:
        training.lost.status = training.status or training.lost.status
        raise training.lost
    if training.status:
        raise SystemExit(training.status)


def train_to_the_end(training: Training, options: Options, console: Console, force: bool) -> None:
    """Train until the run is over or a signal comes. Save now and then, and at the end."""
    from charrnn import runs
    from charrnn.cli.progress import Progress
    from charrnn.files.saver import Saver
    from charrnn.training.loop import Checkup, Done

    run, checkpoint = training.run, training.checkpoint
    how = {"is_saved": options.resume, "renames_old": not force}
    saver = Saver(options.model, checkpoint, options.metrics, console.note, console.warn, **how)
    with watched(console.quiet) as stop, closing(saver):
        with saver.explained(), closing(Progress(training, console, options.preview)) as screen:
            for event in () if training.adds_counts else run:
                if isinstance(event, Done):
                    training.stopped = event.why
                    break
                saver.record(event)
                screen.show(event)
                if stop.requested:
                    break
                if isinstance(event, Checkup) and checkpoint.ended is not None:
                    saver.save()  # before the held-out text is scored, which may take long
            screen.finish()
            if training.stopped == "patience" and not training.adds_counts:
                console.note("        ended early: the last check-ups were no better")
            if run.checkpoint.config.book:
                clip, steps = run.checkpoint.config.clip, count(training.steps, "step")
                console.note(f"        clipped at {clip:g} in {training.clipped:,} of {steps}")
            saver.save()
        work = len(training.corpus.held_out.ids) * len(checkpoint.state.parameters.flat)
        is_quick = training.stopped == "interrupted" and work <= QUICK_WORK
        if is_quick or training.adds_counts:
            runs.score_held_out(run)
            saver.save()
        training.compare()
        training.status, training.lost = stop.status, saver.close()


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


def show_plan(training: Training, options: Options, console: Console) -> None:
    """Show the network, and the loss of counting, which takes a moment."""
    from rich.filesize import decimal

    from charrnn.runs import compute_baselines
    from charrnn.training.plan import header_bytes, left_out

    say([network_entry(training, options)], options, console)
    config = training.checkpoint.config
    if options.start_from is not None:
        sizes = map(decimal, header_bytes(config, training.corpus, options.learning))
        say([("", "as a C header about {}; without --from {}".format(*sizes))], options, console)
    if config.book:
        say([("book", f"without {', '.join(left_out(config))}")], options, console)
    training.baselines = compute_baselines(training.corpus, training.checkpoint.corpus)
    if training.baselines:
        least = min(baseline.nats_per_character for baseline in training.baselines)
        hint = "" if options.dry_run else "   (--dry-run: all choices)"
        say([("to beat", f"{least:.3f} nats per character, by counting{hint}")], options, console)


def new_training(options: Options, console: Console) -> Training:
    """Begin a run, whose corpus is shown."""
    from charrnn import runs
    from charrnn.cli.progress import Training
    from charrnn.files.model_file import load_trained
    from charrnn.training.automatic_settings import fit_settings

    start = None if options.start_from is None else load_trained(options.start_from)
    model = None if start is None else start.model
    wanted = runs.configure(options.learning, model)
    known = "" if model is None else model.vocabulary.characters
    corpus, cutting = options.read(known, console)
    old_files = {} if start is None else start.corpus.files
    config = fit_settings(wanted, corpus, model)  # to measure the speed that ``begin_run`` needs
    warnings, speed = show_corpus(corpus, config, old_files, options, console)
    run = runs.Run(corpus, runs.begin_run(corpus, cutting, wanted, model, speed))
    return Training(run, warnings, speed)


def resume_run(options: Options, console: Console) -> Training:
    """Read the run in the model file and its corpus, which is shown."""
    from charrnn.cli.progress import Training
    from charrnn.files.model_corpus import read_again
    from charrnn.runs import Run, add_counts, reopen

    def read(checkpoint: Checkpoint) -> Corpus:  # whose texts may have other names now
        console.note_if_waiting((*options.sources, *options.valid))
        hint = "Type the texts: charrnn train CORPUS --resume."
        return read_again(checkpoint.corpus, options.sources, options.valid, hint)

    typed = {**options.learning, **options.cutting, **options.reading}
    wants_counts = typed.pop("counts", False)
    corpus, checkpoint = reopen(options.model, read, typed)
    adds_counts = wants_counts and add_counts(checkpoint, corpus)
    warnings, speed = show_corpus(corpus, checkpoint.config, {}, options, console)
    training = Training(Run(corpus, checkpoint), warnings, speed, adds_counts=adds_counts)
    training.stopped = checkpoint.ended or training.stopped
    return training


def show_corpus(
    corpus: Corpus, config: Fitted, old_files: Files, options: Options, console: Console
) -> tuple[list[Warned], float]:
    """Show the corpus, check the memory, and return warnings and characters a second.

    ``old_files`` are those of --from. The speed is 0 if nobody asks for it.
    """
    from charrnn.cli.progress import corpus_entries
    from charrnn.runs import characters_per_second
    from charrnn.text.corpus import find_warnings
    from charrnn.training.plan import check_memory, memory_bytes

    warned = find_warnings(corpus)
    shown = corpus_entries(corpus, warned, old_files, options.start_from, all_of=options.dry_run)
    say(shown, options, console)
    check_memory(memory_bytes(config, corpus), available())
    if console.quiet and config.minutes is None and not options.dry_run:
        return warned, 0.0  # the trial takes a quarter of a second
    return warned, characters_per_second(config, corpus)


def say(rows: Iterable[Entry], options: Options, console: Console) -> None:
    """Write lines of the plan to stderr; for a dry run they are the result."""
    output = console.out if options.dry_run and not options.as_json else console.err
    if not console.quiet:
        output.write_lines(entries(rows, output))


def network_entry(training: Training, options: Options) -> Entry:
    """Return a line about the network, and how long the run is going to be."""
    from charrnn.training.automatic_settings import FOREVER

    state, c, seconds = training.checkpoint.state, training.checkpoint.config, training.seconds_left
    words = f"{c.layers} x {c.hidden:,} {c.cell}, {len(state.parameters.flat):,} parameters, "
    words += "at most " if c.patience == AUTOMATIC else ""
    words += count(c.minutes or 0, "minute") if c.epochs == FOREVER else count(c.epochs, "epoch")
    words += f", resumed at step {state.step:,}" if options.resume else ""
    return "network", words + (f", about {clock(seconds)}" if seconds else "")


def show_dry_run(training: Training, options: Options, console: Console) -> None:
    """Show all settings, memory, steps, time and baselines."""
    from rich.filesize import decimal
    from tqdm.std import tqdm

    from charrnn.training.automatic_settings import settings_to_show
    from charrnn.training.plan import plan

    show_plan(training, options, console)
    checkpoint, c, seconds = training.checkpoint, training.checkpoint.config, training.seconds_left
    planned, settings = plan(c, training.corpus), settings_to_show(c)
    if options.as_json:
        facts = {"model": str(options.model), **training.facts(), "settings": settings}
        for name in ("memory_bytes", "steps_per_epoch", "steps"):
            facts[name] = getattr(planned, name)
        facts |= {"seconds": seconds, "characters_per_second": training.speed}
        console.json("plan", facts)
        return
    del settings["shards"]
    speed = tqdm.format_sizeof(training.speed)
    shown = [item for item in settings.items() if item[1] is not None and item[1] is not False]
    losses = sorted(checkpoint.corpus.baselines.items(), key=lambda item: -item[1])
    rows = [
        ("settings", " ".join(in_words(option_for(name), value) for name, value in shown)),
        ("symbols", f"{checkpoint.vocabulary.symbols:,}, with the end and the unknown character"),
        ("memory", f"about {decimal(planned.memory_bytes)}"),
        ("steps", f"{planned.steps_per_epoch:,} an epoch, of {c.batch} x {c.bptt} characters"),
        ("time", f"about {clock(seconds)}, at {speed} characters a second"),
        ("counting", ", ".join(f"{name} {nats:.3f}" for name, nats in losses)),
    ]
    say(rows, options, console)


def show_summary(training: Training, options: Options, console: Console) -> None:
    """Show the loss of the best network, or of its mixture with counts, beside that of counting."""
    from charrnn.cli.progress import summary

    lines, name = summary(training), str(options.model)
    if len(name) >= INDENT:
        lines, name = [name, *lines], "model"
    console.say(Visible(""))
    rows = [(name, lines[0]), *(("", line) for line in lines[1:])]
    console.out.write_lines(entries(rows, console.out))


def show_next(training: Training, options: Options, console: Console) -> None:
    """Show how to resume a run that was interrupted, or commands to type next."""
    corpus, state = training.corpus, training.checkpoint.state
    if training.stopped == "interrupted":
        metrics = [] if options.metrics is None else ["--metrics", str(options.metrics)]
        again = options.sources if "-" in training.checkpoint.corpus.sources else ()
        how = "to resume, with the same text" if again else "to resume"
        line = options.line("train", *again, "--resume", *metrics)
        console.note(f"saved at step {state.step:,}; {how}: {line}")
        return
    lines = {options.line("sample"): "a new text"}
    if corpus.train.characters < SHORT_EXAMPLE * len(corpus.train):
        lines = {options.line("sample", "-n", "30", "--best"): f"thirty good {corpus.examples_are}"}
    stem = Path(corpus.sources[0]).name.partition(".")[0]
    page = f"{stem if stem.isidentifier() else options.model.stem}.html"
    lines[options.line("export", page)] = "a page for a friend"
    room, label = console.err.window - INDENT - 1, "next"
    width = max(map(len, lines)) + 2
    for line, about in lines.items():
        shown = f"{line:{width}}{about}" if width + ABOUT_WIDTH <= room else line
        console.note(f"{label:{INDENT}}{shown}")
        label = ""
    loss = None if console.quiet else training.loss_with_counts()
    if loss is not None:
        line = options.line("train", *corpus.sources, "--resume", "--counts")
        console.note(f"{'':{INDENT}}with counting {loss:.3f}: {line}")
