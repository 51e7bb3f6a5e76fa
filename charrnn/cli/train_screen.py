"""A training and its screen: its corpus, with warnings, its plan, its progress and its end.

The screen has a row with a sample at every tenth of a run, and a bar by tqdm. A file or a pipe gets
the rows and no bar. Losses are in nats per character; the training loss is measured like the
held-out loss, without dropout.
"""

import math
import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.filesize import decimal

from charrnn import runs
from charrnn.cli.console import INDENT, TIME_LEFT, Console, Entry, clock, entries, option_for
from charrnn.cli.shared_options import CorpusOptions, typed_models
from charrnn.errors import CharrnnError, ResumeError, in_words, unbracketed
from charrnn.export.write import misfit
from charrnn.files.model_contents import Checkpoint, Trained, record_of
from charrnn.files.model_corpus import read_again
from charrnn.files.model_file import load_trained
from charrnn.network.parameters import LanguageModel
from charrnn.prediction import losses
from charrnn.prediction.sampling import SampleConfig, Sampler
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.training import LIMITS, Ending, Fitted
from charrnn.system.cores import available
from charrnn.system.visible import Visible, count, visible_line
from charrnn.text.corpus import Corpus, Warned, find_warnings
from charrnn.text.counts import Baseline
from charrnn.text.reading import name_of
from charrnn.text.tidy import mess_in_words
from charrnn.training.automatic_settings import FOREVER, fit_settings, settings_to_show
from charrnn.training.loop import Checkup, Event, Step
from charrnn.training.plan import check_memory, header_bytes, left_out, memory_bytes, plan
from charrnn.training.state import share_done

ROWS_IN_A_RUN = 10  # in a run, and one more for its end
SAMPLE_COLUMNS = 60  # columns of a sample: a Chinese character takes two
WIDE_WINDOW = 72  # columns of a bar with the speed

WARNING_TEXTS = {  # why a list may be messy, or its loss misleading
    "few examples": "only {count:,} to train on: see --examples",
    "untidy": "of {of:,} lines, {what}: add --tidy",
    "rare labels": "{count:,} of {of:,} labels train on fewer than ten examples, such as {column}",
    "repeated": "{count:,} of {of:,} held-out texts are also trained on: the loss is too low",
    "header": "the first line may be a heading: add --column {column}",
}
TABLE = "{count:,} of {of:,} lines look like rows of a table: add --column {column}"
COMMON_LABELS = 3  # that are named
MOST_WARNINGS = 2  # on the screen; a dry run shows all


@dataclass(eq=False)
class Training(runs.Run):
    """A run on its corpus, and what came of it."""

    path: Path  # of the model file
    corpus: Corpus
    checkpoint: Checkpoint
    warnings: list[Warned]  # about the corpus
    speed: float  # characters a second, in a short trial; 0 if that was not made
    adds_counts: bool = False  # to a run, and does nothing else
    stopped: Ending = "interrupted"
    baselines: list[Baseline] = field(default_factory=list)  # none if nothing is held out
    scores: dict[str, losses.Score] = field(default_factory=dict)  # on all held-out text, by use
    differences: dict[str, losses.Difference] = field(default_factory=dict)  # from counting
    seconds: float = 0.0  # of this part of the run
    characters: int = 0
    steps: int = 0
    clipped: int = 0  # of these steps
    status: int = 0  # the exit status for a signal that came
    lost: CharrnnError | None = None  # why lines of metrics are lost

    def __post_init__(self) -> None:
        super().__init__(self.corpus, self.checkpoint)

    @property
    def share(self) -> float:
        """The share of the run that is done."""
        return share_done(self.checkpoint.state, self.checkpoint.config, len(self.corpus.train.ids))

    @property
    def loss(self) -> float | None:
        """The held-out loss of the best network in nats; None if it is not known."""
        best = self.checkpoint.state.best
        if best is None or not self.checkpoint.corpus.held_out_characters:
            return None
        return self.scores.get("network", best).nats_per_character

    @property
    def seconds_left(self) -> float:
        """The time that the run is going to take."""
        c, state = self.checkpoint.config, self.checkpoint.state
        if self.checkpoint.ended is not None or self.adds_counts:
            return 0.0
        seconds = (c.epochs * len(self.corpus.train.ids) - state.characters) / max(self.speed, 1e-9)
        if c.minutes is not None:
            seconds = min(seconds, 60 * (c.minutes - state.minutes))
        return max(0.0, seconds)

    def compare(self) -> None:
        """Compare the losses on all held-out text, if it was scored, with that of counting."""
        ids = self.corpus.held_out.ids
        for name, nats in self._nats.items():
            best = min(self.baselines, key=lambda baseline: baseline.nats_per_character)
            self.scores[name] = losses.tally(ids, nats)
            self.differences[name] = losses.difference_from(best, ids, nats)

    def loss_with_counts(self) -> float | None:
        """Return the held-out loss with counts, which the run has not, if it is clearly lower."""
        ids, nats = self.corpus.held_out.ids, runs.nats_with_counts(self)
        if nats is None:
            return None
        apart = losses.difference_of(ids, nats, self._nats["network"])
        loss, alone = losses.tally(ids, nats).nats_per_character, self.scores["network"]
        is_lower = round(loss, 3) < round(alone.nats_per_character, 3)  # as they are shown
        return loss if is_lower and not apart.may_be_chance else None

    def facts(self) -> dict[str, Any]:
        """Return what is known before the training, for JSON."""
        record, vocabulary = self.checkpoint.corpus, self.checkpoint.vocabulary
        held_out = "held_out_examples", "held_out_characters"
        names = ("fingerprint", "examples", "examples_are", "characters", *held_out)
        corpus = {"names": record.names, **{name: getattr(record, name) for name in names}}
        return {
            "corpus": corpus | {"symbols": vocabulary.symbols, "labels": vocabulary.labels},
            "settings": settings_to_show(self.checkpoint.config),
            "parameters": len(self.checkpoint.state.parameters.flat),
            "baselines": losses.losses_of_baselines(record.baselines),
            "warnings": [asdict(warning) for warning in self.warnings],
            "tidy": dict(self.corpus.tidied.lines),
        }

    def results(self) -> dict[str, Any]:
        """Return what is known after the training, for JSON."""
        state, apart = self.checkpoint.state, self.differences
        best = losses.Mean(math.nan if self.loss is None else self.loss, 1).loss()
        scores = self.scores.items()
        return self.facts() | {
            "steps": state.step,
            "characters_seen": state.characters,
            "seconds": self.seconds,
            "characters_per_second": self.characters / self.seconds if self.seconds else 0.0,
            "best": {"step": None if state.best is None else state.best.step, **best},
            "by_use": {name: score.loss() | apart[name].figures() for name, score in scores},
            "stopped": self.stopped,
        }


def new_training(options: CorpusOptions, path: Path, console: Console) -> Training:
    """Begin a run, whose corpus is shown."""
    start = None if options.start_from is None else load_trained(options.start_from, "start_from")
    model = None if start is None else start.model
    wanted = runs.configure(options.learning, model)
    corpus, cutting = options.read("" if model is None else model.vocabulary.characters, console)
    config = fit_settings(wanted, corpus, model)  # to measure the speed that ``begin_run`` needs
    warnings, speed = show_corpus(corpus, config, start, options, console)
    checkpoint = runs.begin_run(corpus, cutting, wanted, model, speed)
    return Training(path, corpus, checkpoint, warnings, speed)


def resume_run(options: CorpusOptions, path: Path, console: Console) -> Training:
    """Read the run in the model file and its corpus, which is shown."""

    def read(checkpoint: Checkpoint) -> Corpus:  # whose texts may have other names now
        if checkpoint.vocabulary.labels and checkpoint.corpus.reading.label_by is None:
            what = f"{path} was trained on texts with labels from Python"
            raise ResumeError(what, "Resume it there, with its texts and their labels.")
        console.note_if_waiting((*options.sources, *options.valid))
        files = ["CORPUS", *["--valid", "FILE"][: 2 * bool(checkpoint.corpus.valid)]]
        command = shlex.join(["charrnn", "train", *files, *typed_models(path), "--resume"])
        hint = f"Type the texts: {unbracketed(command)}."
        return read_again(checkpoint.corpus, options.sources, options.valid, hint)

    typed = {**options.learning, **options.cutting, **options.reading}
    wants_counts = typed.pop("counts", False)
    corpus, checkpoint = runs.reopen(path, read, typed)
    goes_on = checkpoint.ended is None and not typed.keys().isdisjoint(LIMITS)
    adds_counts = wants_counts and runs.add_counts(checkpoint, corpus) and not goes_on
    warnings, speed = show_corpus(corpus, checkpoint.config, None, options, console)
    stopped = checkpoint.ended or "interrupted"
    return Training(path, corpus, checkpoint, warnings, speed, adds_counts, stopped)


def say(rows: Iterable[Entry], options: CorpusOptions, console: Console) -> None:
    """Write lines of the plan to stderr; for a dry run they are the result."""
    output = console.out if options.dry_run and not options.as_json else console.err
    if output is console.out or not console.quiet:
        output.write_lines(entries(rows, output))


def show_corpus(
    corpus: Corpus, config: Fitted, start: Trained | None, options: CorpusOptions, console: Console
) -> tuple[list[Warned], float]:
    """Show the corpus, check the memory, and return warnings and characters a second.

    The speed is 0 if nobody asks for it.
    """
    warned = find_warnings(corpus)
    lines = []
    for warning in warned:
        words = WARNING_TEXTS.get(warning.kind, TABLE)
        lines.append(words.format(**asdict(warning), column=shlex.quote(warning.what)))
    record = record_of(corpus, CorpusConfig())
    if start is not None and len(corpus.held_out) and start.corpus.may_know(record):
        lines.append(f"{options.start_from} may know what is held out: see --valid")
    shown = lines if options.dry_run else lines[:MOST_WARNINGS]
    say([*corpus_entries(corpus), *(("  !", line) for line in shown)], options, console)
    check_memory(memory_bytes(config, corpus), available())
    if console.quiet and config.minutes is None and not options.dry_run:
        return warned, 0.0  # the trial takes a quarter of a second
    return warned, runs.characters_per_second(config, corpus)


def corpus_entries(corpus: Corpus) -> Iterator[Entry]:
    """Yield lines about the corpus: its size, its labels, and what --tidy changed."""
    train, held_out, example = corpus.train, corpus.held_out, corpus.examples_are.removesuffix("s")
    names, valid = (", ".join(map(name_of, files)) for files in (corpus.sources, corpus.valid))
    size = f"{count(len(train), example)}, {count(train.characters, 'character')}"
    part = f"{len(held_out):,} held out" if len(held_out) else "nothing held out"
    yield "corpus", f"{names}   {size}; {part}{': ' * bool(valid)}{valid}"
    labels = sorted(corpus.vocabulary.labels.items(), key=itemgetter(1), reverse=True)
    sizes = [f"{label} {number:,}" for label, number in labels]
    if len(sizes) > COMMON_LABELS + 2:
        sizes[COMMON_LABELS:-1] = ["..."]  # between the commonest and the rarest
    if labels:
        yield "labels", f"{len(labels):,}: {', '.join(sizes)}"
    for number, (rule, words) in enumerate(mess_in_words(corpus.tidied.lines)):
        yield "" if number else "tidy", f"{words}: {'; '.join(corpus.tidied.examples[rule])}"


def show_plan(training: Training, options: CorpusOptions, console: Console) -> None:
    """Show the network, and the loss of counting, which takes a moment."""
    state, c, seconds = training.checkpoint.state, training.checkpoint.config, training.seconds_left
    words = f"{c.layers} x {c.hidden:,} {c.cell}, {len(state.parameters.flat):,} parameters, "
    words += "at most " if c.patience is not None or (c.minutes and c.epochs != FOREVER) else ""
    words += count(c.minutes or 0, "minute") if c.epochs == FOREVER else count(c.epochs, "epoch")
    words += f", resumed at step {state.step:,}" if options.resume else ""
    words += f", about {clock(seconds)}" if seconds else ""
    say([("network", words)], options, console)
    if options.start_from is not None and misfit(state.parameters.architecture, ".h") is None:
        sizes = map(decimal, header_bytes(c, training.corpus, options.learning))
        say([("", "as a C header about {}; without --from {}".format(*sizes))], options, console)
    if c.book:
        say([("book", f"without {', '.join(left_out(c))}")], options, console)
    training.baselines = runs.compute_baselines(training.corpus, training.checkpoint.corpus)
    if training.baselines:
        least = min(baseline.nats_per_character for baseline in training.baselines)
        hint = "" if options.dry_run else "   (--dry-run: all choices)"
        say([("to beat", f"{least:.3f} nats per character, by counting{hint}")], options, console)


def show_dry_run(training: Training, options: CorpusOptions, console: Console) -> None:
    """Show all settings, memory, steps, time and baselines."""
    from tqdm.std import tqdm

    show_plan(training, options, console)
    checkpoint, c, seconds = training.checkpoint, training.checkpoint.config, training.seconds_left
    planned, settings = plan(c, training.corpus), settings_to_show(c)
    if options.as_json:
        facts = {"model": str(training.path), **training.facts(), "settings": settings, **planned}
        facts |= {"seconds": seconds, "characters_per_second": training.speed}
        console.json("plan", facts)
        return
    del settings["shards"]
    speed = tqdm.format_sizeof(training.speed)
    shown = [item for item in settings.items() if item[1] is not None and item[1] is not False]
    baselines = sorted(checkpoint.corpus.baselines.items(), key=itemgetter(1), reverse=True)
    rows = [
        ("settings", " ".join(in_words(option_for(name), value) for name, value in shown)),
        ("symbols", f"{checkpoint.vocabulary.symbols:,}, with the end and the unknown character"),
        ("memory", f"about {decimal(planned['memory_bytes'])}"),
        ("steps", f"{planned['steps_per_epoch']:,} an epoch, of {c.batch} x {c.bptt} characters"),
        ("time", f"about {clock(seconds)}, at {speed} characters a second"),
        ("counting", ", ".join(f"{name} {nats:.3f}" for name, nats in baselines)),
    ]
    say([row for row in rows if row[1]], options, console)


class Progress:
    """The view of a training run, with some samples at each row."""

    def __init__(self, training: Training, console: Console, samples: int) -> None:
        self.training, self.console, self.samples = training, console, samples
        self._began = time.monotonic()
        self._next_row = training.share  # of the run that is done when the next row is shown
        self._hidden: Checkup | None = None  # the last check-up, if it has no row
        self._has_head = False
        rate = "{rate_fmt}, " if console.err.window >= WIDE_WINDOW else ""
        layout = f"{{percentage:3.0f}}%|{{bar}}| {{desc}}{rate}{TIME_LEFT}"
        how = {"initial": training.checkpoint.state.characters, "miniters": 0, "unit_scale": True}
        self._bar = console.bar(unit=" characters", bar_format=layout, **how)
        self.close = self._bar.close

    def show(self, event: Event) -> None:
        training, checkpoint = self.training, self.training.checkpoint
        training.seconds = time.monotonic() - self._began
        if isinstance(event, Checkup):
            self._hidden = event
            if training.share >= self._next_row:
                self.finish()
        elif isinstance(event, Step):
            training.characters += event.characters
            training.steps += 1
            training.clipped += 0 < checkpoint.config.clip < event.gradient_norm
            loss = f"training {event.nats_per_character:.3f}, "
            if checkpoint.state.best is not None and checkpoint.corpus.held_out_characters:
                loss = f"held-out {checkpoint.state.best.nats_per_character:.3f} (best), "
            self._bar.total = checkpoint.state.characters / training.share
            self._bar.set_description_str(loss, refresh=False)
            self._bar.update(event.characters)

    def finish(self) -> None:
        """Show the last check-up, if it has no row yet: its losses, and samples beside them."""
        event, self._hidden = self._hidden, None
        checkpoint, share = self.training.checkpoint, self.training.share
        self._next_row = (math.floor(ROWS_IN_A_RUN * share) + 1) / ROWS_IN_A_RUN
        if event is None or self.console.quiet:
            return
        err, score = self.console.err, event.score
        head = "   done   train"
        share *= event.step / checkpoint.state.step  # a signal may come after some steps
        row = f"{100 * share:5.0f} %{event.train_nats_per_character:8.3f}"
        if score is not None:
            head += "  held-out  "
            cell = Visible(f"{score.nats_per_character:10.3f}{' *' if event.is_best else '  '}")
            row += err.paint(cell, "bold green") if event.is_best else cell
        indent = len(head) + 3
        if not self._has_head:
            kind = checkpoint.corpus.examples_are.removesuffix("s")
            head += f"   a new {kind}" if self.samples else ""
            self.console.say(Visible(""), err.paint(visible_line(head), "cyan"))
            self._has_head = True
        seed = (checkpoint.config.seed + event.step) % (1 << 64)
        samples = list(preview(checkpoint.latest, self.samples, seed, err.width - indent))
        for text in samples or [Visible("")]:
            self.console.say(Visible(f"{row}   {err.paint(text, 'dim') if text else ''}".rstrip()))
            row = " " * (indent - 3)


def preview(model: LanguageModel, samples: int, seed: int, columns: int) -> Iterator[Visible]:
    """Yield samples, each on one line; a long sample ends in dots."""
    longest = max(4, min(SAMPLE_COLUMNS, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(samples)):
        text = visible_line(sample.text)
        fits = cell_len(text) <= longest and sample.ended == "end"
        yield text if fits else Visible(set_cell_size(text, longest - 3).rstrip() + "...")


def show_summary(training: Training, console: Console) -> None:
    """Show the loss of the best network, or of its mixture with counts, beside that of counting."""
    lines, name = summary(training), str(training.path)
    if len(name) >= INDENT:
        lines, name = [name, *lines], "model"
    console.say(Visible(""))
    rows = [(name, lines[0]), *(("", line) for line in lines[1:])]
    console.out.write_lines(entries(rows, console.out))


def summary(training: Training) -> list[str]:
    """Return a line about the held-out loss, and one about counting, if these are known."""
    state, loss = training.checkpoint.state, training.loss
    if loss is None or state.best is None:
        why = "there was no check-up" if len(training.corpus.held_out) else "nothing is held out"
        return [f"{why}, so the loss on new text is not known"]
    best_at = training.share * state.best.step / state.step  # of the whole run
    where, prefix, use = f"best at {100 * best_at:.0f} %", "", "network"
    if "both" in training.scores:
        where, prefix, use = "with counts", f"network {loss:.3f}, ", "both"
        loss = training.scores["both"].nats_per_character
    lines = [f"held-out loss {loss:.3f} nats ({losses.in_bits(loss)} bits) per character, {where}"]
    if training.baselines:
        counting = min(baseline.nats_per_character for baseline in training.baselines)
        apart = training.differences.get(use)  # on the same symbols, if text is long
        gap = loss - counting if apart is None else apart.nats_per_character
        words = f"{abs(gap):.3f} {'worse' if gap > 0 else 'better'}"
        if apart is not None:
            words = "no clear difference" if apart.may_be_chance else words
            error = apart.standard_error
            words += f" (standard error {error:.3f})" if math.isfinite(error) else ""
        lines.append(f"{prefix}counting {counting:.3f}: {words}")
    return lines
