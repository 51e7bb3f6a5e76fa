"""A training and its screen: lines about its corpus, with warnings, then its progress and its end.

The screen has a row with a sample at every tenth of a run, and a bar by tqdm.
A file or a pipe gets the rows and no bar. Losses are in nats per character; the training loss is
measured like the held-out loss, without dropout.
"""

import math
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size

from charrnn.cli.console import BOLD, CYAN, DIM, GREEN, TIME_LEFT, Console, Entry, count
from charrnn.errors import CharrnnError
from charrnn.files.model_contents import Checkpoint
from charrnn.network.parameters import LanguageModel
from charrnn.prediction import losses
from charrnn.prediction.sampling import SampleConfig, Sampler
from charrnn.runs import Run, nats_with_counts
from charrnn.settings.training import Ending
from charrnn.system.visible import Visible, visible_line
from charrnn.text.corpus import Corpus, Warned
from charrnn.text.counts import Baseline
from charrnn.text.tidy import mess_in_words
from charrnn.training.automatic_settings import settings_to_show
from charrnn.training.loop import Checkup, Event, Step
from charrnn.training.state import share_done

ROWS_IN_A_RUN = 10  # in a run, and one more for its end
SAMPLE_COLUMNS = 60  # columns of a sample: a Chinese character takes two
WIDE_WINDOW = 72  # columns of a bar with the speed

Files = Mapping[str, tuple[int, str]]  # by name, size and hash of each

WARNING_TEXTS = {  # why a list may be messy, or its loss misleading
    "few examples": "only {count:,} to train on: see --examples",
    "untidy": "of {of:,} lines, {what}: add --tidy",
    "rare labels": "{count:,} of {of:,} labels have fewer than ten examples, such as {column}",
    "repeated": "{count:,} of {of:,} held-out texts are also trained on: the loss is too low",
    "header": "the first line may be a heading: add --column {column}",
}
TABLE = "{count:,} of {of:,} lines look like rows of a table: add --column {column}"
COMMON_LABELS = 3  # that are named
MOST_WARNINGS = 2  # on the screen; a dry run shows all


@dataclass
class Training:
    """A run on its corpus, and what came of it."""

    run: Run
    warnings: list[Warned]  # about the corpus
    speed: float  # characters a second, in a short trial; 0 if that was not made
    baselines: list[Baseline] = field(default_factory=list)  # none if nothing is held out
    stopped: Ending = "interrupted"
    scores: dict[str, losses.Score] = field(default_factory=dict)  # on all held-out text, by use
    differences: dict[str, losses.Difference] = field(default_factory=dict)  # from counting
    seconds: float = 0.0  # of this part of the run
    characters: int = 0
    adds_counts: bool = False  # to a run, and does nothing else
    steps: int = 0
    clipped: int = 0  # of these steps
    status: int = 0  # the exit status for a signal that came
    lost: CharrnnError | None = None  # why lines of metrics are lost

    @property
    def corpus(self) -> Corpus:
        return self.run._corpus

    @property
    def checkpoint(self) -> Checkpoint:
        return self.run.checkpoint

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
        for name, nats in self.run._nats.items():
            best = min(self.baselines, key=lambda baseline: baseline.nats_per_character)
            self.scores[name] = losses.tally(ids, nats)
            self.differences[name] = losses.difference_from(best, ids, nats)

    def loss_with_counts(self) -> float | None:
        """Return the held-out loss with counts, which the run has not, if it is clearly lower."""
        ids, nats = self.corpus.held_out.ids, nats_with_counts(self.run)
        if nats is None:
            return None
        apart = losses.difference_of(ids, nats, self.run._nats["network"])
        is_lower = apart.nats_per_character < 0 and not apart.may_be_chance
        return losses.tally(ids, nats).nats_per_character if is_lower else None

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


class Progress:
    """The view of a training run."""

    def __init__(self, training: Training, console: Console, samples: int) -> None:
        """``samples`` are shown at each row."""
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
            row += err.paint(cell, f"{BOLD};{GREEN}") if event.is_best else cell
        indent = len(head) + 3
        if not self._has_head:
            kind = checkpoint.corpus.examples_are.removesuffix("s")
            head += f"   a new {kind}" if self.samples else ""
            self.console.say(Visible(""), err.paint(visible_line(head), CYAN))
            self._has_head = True
        seed = (checkpoint.config.seed + event.step) % (1 << 64)
        samples = list(preview(checkpoint.latest, self.samples, seed, err.width - indent))
        for text in samples or [Visible("")]:
            self.console.say(Visible(f"{row}   {err.paint(text, DIM) if text else ''}".rstrip()))
            row = " " * (indent - 3)


def preview(model: LanguageModel, samples: int, seed: int, columns: int) -> Iterator[Visible]:
    """Yield samples, each on one line; a long sample ends in dots."""
    longest = max(4, min(SAMPLE_COLUMNS, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(samples)):
        text = visible_line(sample.text)
        fits = cell_len(text) <= longest
        yield text if fits else Visible(set_cell_size(text, longest - 3).rstrip() + "...")


def summary(training: Training) -> list[str]:
    """Return a line about the held-out loss, and one about counting, if these are known."""
    state, loss = training.checkpoint.state, training.loss
    if loss is None or state.best is None:
        nothing = not training.corpus.held_out.ids.size
        why = "nothing is held out" if nothing else "there was no check-up"
        return [f"{why}, so the loss on new text is not known"]
    best_at = training.share * state.best.step / state.step  # of the whole run
    where, prefix, use = f"best at {100 * best_at:.0f} %", "", "network"
    if "both" in training.scores:
        where, prefix, use = "with counts", f"network {loss:.3f}, ", "both"
        loss = training.scores["both"].nats_per_character
    lines = [f"held-out loss {loss:.3f} nats ({losses.in_bits(loss)} bits) per character, {where}"]
    if training.baselines:
        counting = min(baseline.nats_per_character for baseline in training.baselines)
        words = apart_in_words(loss - counting, training.differences.get(use))
        lines.append(f"{prefix}counting {counting:.3f}: {words}")
    return lines


def apart_in_words(nats: float, difference: losses.Difference | None) -> str:
    """Say how far a loss is from that of counting, with the standard error if it is known."""
    words = f"{abs(nats):.3f} {'worse' if nats > 0 else 'better'}"
    if difference is None:
        return words
    words = "no clear difference" if difference.may_be_chance else words
    error = difference.standard_error
    return f"{words} (standard error {error:.3f})" if math.isfinite(error) else words


def corpus_entries(
    corpus: Corpus, warned: list[Warned], old_files: Files, start_from: Path | None, *, all_of: bool
) -> Iterator[Entry]:
    """Yield lines about the corpus, and some warnings or all; ``old_files`` are those of --from."""
    train, held_out, example = corpus.train, corpus.held_out, corpus.examples_are.removesuffix("s")
    names = ", ".join("standard input" if name == "-" else name for name in corpus.sources)
    size = f"{count(len(train), example)}, {count(train.characters, 'character')}"
    part = f"{len(held_out):,} held out" if len(held_out) else "nothing held out"
    files = f": {', '.join(corpus.valid)}" if corpus.valid else ""
    yield "corpus", f"{names}   {size}; {part}{files}"
    if corpus.vocabulary.labels:
        yield "labels", labels_in_words(corpus.vocabulary.labels)
    for number, (rule, words) in enumerate(mess_in_words(corpus.tidied.lines)):
        yield "" if number else "tidy", f"{words}: {'; '.join(corpus.tidied.examples[rule])}"
    lines = []
    for warning in warned:
        words = WARNING_TEXTS.get(warning.kind, TABLE)
        lines.append(words.format(**asdict(warning), column=shlex.quote(warning.what)))
    if not corpus.valid and set(corpus.files.values()) & set(old_files.values()):
        lines.append(f"{start_from} may know what is held out: add --valid FILE")
    shown = lines if all_of else lines[:MOST_WARNINGS]
    yield from (("  !", line) for line in shown)


def labels_in_words(labels: Mapping[str, int]) -> str:
    """Return the number of labels, and the commonest and the rarest with their examples."""
    ordered = sorted(labels.items(), key=itemgetter(1), reverse=True)
    some = [f"{label} {number:,}" for label, number in ordered]
    if len(some) > COMMON_LABELS + 2:
        some[COMMON_LABELS:-1] = ["..."]
    return f"{len(labels):,}: {', '.join(some)}"
