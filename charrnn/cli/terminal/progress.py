"""Progress of training on the terminal: a bar, and a row with a sample for each check-up.

Losses are in nats per character, ``bits`` is the held-out loss in bits. The training loss in a row
is measured like the held-out loss, without dropout. A terminal skips rows that come too fast, but
never the best so far. A log file gets all rows, and a line of progress now and then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from rich.cells import cell_len, set_cell_size

from charrnn.cli.console import BOLD, DIM, GREEN, YELLOW, Console, Output
from charrnn.cli.terminal.tables import Column, Table, bits, clock, counted
from charrnn.display import best_of
from charrnn.model_file import Checkpoint
from charrnn.network.parameters import LanguageModel
from charrnn.sampler import SampleConfig, Sampler
from charrnn.text import Visible, joined, visible_line
from charrnn.training.loop import Checkup, Done, Event, Step
from charrnn.training.state import Stopwatch, progress

MARK = 3  # columns of a star
LONGEST = 60  # columns of a sample: a Chinese character takes two
REFRESH = 0.1  # seconds between two drawings of a bar
NARROWEST = 20  # columns of a terminal on which a bar is drawn
FADING = 10.0  # seconds in which the weight of a measurement falls to a third
ROW = 0.5  # seconds between two rows with a sample
COSTLY = 20  # times the duration of a row pass until the next row
HEARTBEAT = 60.0  # seconds without a line after which a log file gets one
MEMORY = 50  # steps over which the loss is averaged
COLUMNS = (
    Column("step", 10, 1),
    Column("epoch", 8, 4),
    Column("train", 9, 2),
    Column("held-out", 10, 0),
    Column("bits", 8, 5),
    Column("gap", 8, 3),
)


@dataclass
class CheckupRows:
    """The table of check-ups, made row by row."""

    is_held_out: bool
    baselines: Mapping[str, float]
    output: Output
    best: float = math.inf  # the loss of an earlier part of the run
    has_head: bool = False

    @property
    def columns(self) -> list[Column]:
        return list(COLUMNS if self.is_held_out else COLUMNS[:3])

    def lines(self, event: Checkup, epoch: float) -> Iterator[Visible]:
        table = Table(self.columns, self.output.width - MARK, self.output)
        loss, train = math.inf, event.train_nats_per_character
        cells = {"step": f"{event.step:,}", "epoch": f"{epoch:.2f}", "train": f"{train:.3f}"}
        if event.score is not None:
            loss = event.score.nats_per_character
            cells |= {"held-out": f"{loss:.3f}", "bits": f"{bits(loss):.3f}"}
            cells["gap"] = f"{round(loss - train, 3) + 0.0:+.3f}"
        if not self.has_head:
            self.has_head = True
            yield table.head()
        if loss >= self.best:
            yield table.row(cells)
            return
        best = f"{BOLD};{GREEN}"
        pieces = [table.row(cells, {"held-out": best}), self.output.paint(Visible("  *"), best)]
        passed = {name: nats for name, nats in self.baselines.items() if loss < nats < self.best}
        if passed:
            best, name = best_of(self.baselines), best_of(passed)
            better = f"better than {name}"
            texts = [f"{better}; to beat: {best}", f"to beat: {best}"]
            texts = [f"{better}, the best baseline", better] if name == best else texts
            room = self.output.width - table.width - MARK - 2
            if fits := [text for text in texts if len(text) <= room]:
                pieces.append(self.output.paint(visible_line(f"  {fits[0]}"), YELLOW))
        yield joined(pieces)
        self.best = loss

    @property
    def indent(self) -> int:
        return min(self.columns[0].width, self.output.width // 4) + 2


def preview(model: LanguageModel, count: int, seed: int, columns: int) -> Iterator[Visible]:
    """Yield samples, each on one line; a long sample ends in dots."""
    longest = max(4, min(LONGEST, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(count)):
        text = visible_line(sample.text)
        fits = cell_len(text) <= longest
        yield text if fits else Visible(set_cell_size(text, longest - 3).rstrip() + "...")


class Pace:
    """The speed of a run, measured from one update to the next."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.characters = 0
        self.share = 0.0  # of the run that is done
        self._rate = self._share_rate = math.nan  # per second, of late
        self._clock = Stopwatch()

    def update(self, characters: int, share: float) -> None:
        """Note the characters read since the last update, and the share of the run done so far."""
        gap = max(self._clock.lap(), 1e-9)
        self._rate = self._smooth(self._rate, characters / gap, gap)
        self._share_rate = self._smooth(self._share_rate, (share - self.share) / gap, gap)
        self.seconds += gap
        self.characters += characters
        self.share = share

    def _smooth(self, old: float, new: float, gap: float) -> float:
        # A mean whose weights fade with e^(-t/FADING); a plain mean at the beginning.
        weight = 1 - math.exp(-gap / FADING)
        weight = max(weight, gap / (self.seconds + gap))
        return new if math.isnan(old) else old + weight * (new - old)

    @property
    def characters_per_second(self) -> float:
        return 0.0 if math.isnan(self._rate) else self._rate

    @property
    def average(self) -> float:
        """Return the characters per second since the beginning."""
        return self.characters / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """Return the estimated seconds to the end; infinity if unknown."""
        return (1 - self.share) / self._share_rate if self._share_rate > 0 else math.inf


class LiveBar:
    """A bar for the share of a run that is done, with a text; drawn on a terminal that can."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._drawn = time.monotonic()
        self._bar = None
        if console.is_animated and console.err.window >= NARROWEST:
            bar_format = "{desc}   {percentage:3.0f}% |{bar}|"
            self._bar = console.bar(total=1.0, bar_format=bar_format)
        self.is_drawn = self._bar is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def is_due(self) -> bool:
        """Return True if it is time to draw again."""
        return time.monotonic() >= self._drawn + REFRESH

    def draw(self, share: float, words: Callable[[int], str]) -> None:
        self._drawn = time.monotonic()
        if self._bar is not None:
            width = self.console.err.window - 1
            self._bar.ncols = width
            self._bar.n = share
            self._bar.set_description_str(words(width), refresh=False)
            self._bar.refresh()


class Progress(LiveBar):
    """The view of a training run: a bar, and a row for each check-up."""

    def __init__(self, run: Checkpoint, symbols: int, console: Console, samples: int) -> None:
        super().__init__(console)
        self.run, self.symbols, self.samples = run, symbols, samples
        self.pace = Pace()
        self.pace.share = self._share()
        best = math.inf if run.state.best is None else run.state.best.nats_per_character
        is_held_out = bool(run.corpus.held_out_characters)
        self.rows = CheckupRows(is_held_out, run.corpus.baselines, console.err, best)
        self._steps_before = run.state.step
        self._characters = 0  # since the bar was drawn
        self._loss = self._weight = 0.0
        self._spoken = time.monotonic()
        self._next_row = 0.0
        self._skipped: Checkup | None = None  # the last row, if it was not shown
        self._without_sample: Checkup | None = None  # the last row, if it had no sample

    def show(self, event: Event) -> None:
        match event:
            case Step():
                self._characters += event.characters
                self._weight += (1 - self._weight) / MEMORY
                share = 1 / (MEMORY * self._weight)
                self._loss += share * (event.nats_per_character - self._loss)
                if self.is_due:
                    self._update_pace()
                    self.draw(self.pace.share, self._words)
                    if not self.is_drawn and time.monotonic() >= self._spoken + HEARTBEAT:
                        self._say(visible_line(f"{self._words(10**6)}   {self.pace.share:.0%}"))
            case Checkup():
                self._skipped = event
                is_due = time.monotonic() >= self._next_row
                is_best = event.is_best and event.score is not None
                if is_due or is_best or not self.is_drawn:
                    self._show_row(with_sample=is_due)
            case Done():
                self.finish()

    @property
    def is_new(self) -> bool:
        """Return True if the run has made a step."""
        return self.run.state.step > self._steps_before

    def finish(self) -> None:
        """Show the last row and its samples, if they were skipped."""
        self._update_pace()
        if self._skipped is not None:
            self._show_row(with_sample=True)
        elif self._without_sample is not None:
            self._show_samples(self._without_sample.step)
            self._without_sample = None

    def _share(self) -> float:
        return progress(self.run.state, self.run.config, self.symbols)

    def _update_pace(self) -> None:
        self.pace.update(self._characters, self._share())
        self._characters = 0

    def _words(self, width: int) -> str:
        """Return the text beside the bar, as long as the width allows."""
        step, loss = f"step {self.run.state.step:,}", f"{self._loss:.3f} nats"
        speed = f"{counted(self.pace.characters_per_second)} chars/s"
        left = f"{clock(self.pace.seconds_left)} left"
        kept: set[str] = set()
        room = width - 19
        for text in (loss, left, speed, step):
            if len(text) + 3 <= room:
                kept.add(text)
                room -= len(text) + 3
        return "   ".join(text for text in (step, loss, speed, left) if text in kept)

    def _show_row(self, *, with_sample: bool) -> None:
        event, self._skipped = self._skipped, None
        if event is None or self.console.quiet:
            return
        began = time.monotonic()
        self._say(*self.rows.lines(event, self.run.state.characters / self.symbols))
        self._without_sample = None if with_sample else event
        if with_sample:
            self._show_samples(event.step)
            now = time.monotonic()
            self._next_row = now + max(ROW, COSTLY * (now - began))

    def _show_samples(self, step: int) -> None:
        """Show samples of the latest parameters; the same in every run with the same seed."""
        if not self.samples:
            return
        err, indent = self.console.err, self.rows.indent
        seed = (self.run.config.seed + step) % (1 << 64)
        for text in preview(self.run.latest, self.samples, seed, err.width - indent):
            self._say(joined([Visible(" " * indent), err.paint(err.fitting(text), DIM)]))

    def _say(self, *lines: Visible) -> None:
        self._spoken = time.monotonic()
        self.console.say(*lines)
