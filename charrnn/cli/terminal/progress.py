"""What is seen of a run: a bar that moves, and a row a check-up with a taste of what it writes.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.231     2.311     3.334    +0.080  *  better than markov-2
              Tyranosaurus
    step 1,044   2.2 nats   74.9k/s   21 s left   7% |==        |

Where nothing can move, in a file or on a dumb terminal, all rows are written, and a line now and
then in between; a terminal leaves out rows that come too fast, but never the best one so far.
Nothing here may slow the run down: the bar is drawn ten times a second, and a sample only where
there is time for one.

The table of check-ups, a row at a time, as wide as the window allows.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.231     2.311     3.334    +0.080  *  better than markov-2

In nats per character, and held-out bits. Beside a held-out loss, that of training is measured like
it: on a part of the examples, with nothing hidden from the network. A star is the best check-up so
far; beside it stands the strongest of the baselines that it is the first to be better than. Where
the network is mixed with counts, or with others, what all of them make of it has a column."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping

from rich.cells import cell_len, set_cell_size

from charrnn.cli.console import BOLD, DIM, GREEN, YELLOW, Console, Output
from charrnn.cli.terminal.tables import Column, Table, bits, clock, counted
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.network.parameters import LanguageModel
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.settings.training import TrainConfig
from charrnn.text import Visible, joined, visible_line
from charrnn.training.loop import Checkup, Done, Event, Step, Stopwatch
from charrnn.training.members import lowest_so_far, share_done

MARK = 3
LONGEST = 60  # columns of a sample: a Chinese character takes two


COLUMNS = (
    Column("step", 10, 1),
    Column("epoch", 8, 4),
    Column("train", 9, 2),
    Column("held-out", 10, 0),
    Column("bits", 8, 5),
    Column("gap", 8, 3),
)
TOGETHER = 8  # columns for what all that are mixed make of it
WITHOUT_HELD_OUT = ("step", "epoch", "train")


class CheckupRows:
    """The rows of one run, of which not every one has to be shown."""

    def __init__(
        self,
        is_held_out: bool,
        baselines: Mapping[str, float],
        output: Output,
        best: float = math.inf,
        together: str = "",
    ) -> None:
        """best is that of an earlier part of the run; a better one is never left out here. Where
        several are mixed, ``together`` is the head of a column more.
        """
        self.columns = [c for c in COLUMNS if is_held_out or c.name in WITHOUT_HELD_OUT]
        if together and is_held_out:
            self.columns.insert(4, Column(together, max(TOGETHER, len(together) + 2), 1))
        self._together = together
        self.baselines = dict(baselines)
        self.output = output
        self._best = best
        self._has_head = False

    def lines(self, event: Checkup, epoch: float) -> Iterator[Visible]:
        """The row for a check-up; before the first, the heads of the columns."""
        table = Table(self.columns, self.output.width - MARK, self.output)
        cells = _cells(event, epoch)
        if not math.isnan(event.together_nats_per_character):
            cells[self._together] = f"{event.together_nats_per_character:.3f}"
        if not self._has_head:
            self._has_head = True
            yield table.head()
        now = event.score.nats_per_character if event.score is not None else math.inf
        if now >= self._best:
            yield table.row(cells)
            return
        row = table.row(cells, {"held-out": f"{BOLD};{GREEN}"})
        yield joined([row, *self._remark(now, self.output.width - table.width)])
        self._best = now

    @property
    def indent(self) -> int:
        """The columns to leave free before a text below the steps."""
        return min(self.columns[0].width, self.output.width // 4) + 2

    def _remark(self, now: float, room: int) -> Iterator[Visible]:
        """What is said of the best one so far."""
        yield self.output.paint(Visible("  *"), f"{BOLD};{GREEN}")
        passed = {name: nats for name, nats in self.baselines.items() if now < nats < self._best}
        if passed:
            text = visible_line(f"  better than {min(passed, key=lambda name: passed[name])}")
            if len(text) + MARK <= room:
                yield self.output.paint(text, YELLOW)


def _cells(event: Checkup, epoch: float) -> dict[str, str]:
    """What stands in each column."""
    cells = {"step": f"{event.step:,}", "epoch": f"{epoch:.2f}"}
    if event.score is None:
        return cells | {"train": f"{event.train_nats_per_character:.3f}"}
    held_out, train = event.score.nats_per_character, event.familiar_nats_per_character
    return cells | {
        "train": f"{train:.3f}",
        "held-out": f"{held_out:.3f}",
        "bits": f"{bits(held_out):.3f}",
        "gap": f"{held_out - train:+.3f}",
    }


def preview(model: LanguageModel, count: int, seed: int, columns: int) -> Iterator[Visible]:
    """Some samples, each on a line that fits, made safe to show; one that goes on ends in dots."""
    longest = max(4, min(LONGEST, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(count)):
        text = visible_line(sample.text)
        fits = cell_len(text) <= longest
        yield text if fits else Visible(set_cell_size(text, longest - 3).rstrip() + "...")


REFRESH = 0.1  # seconds between two pictures of the bar
ROW = 0.5  # seconds between two rows with a sample
HEARTBEAT = 60.0  # seconds of silence after which a log file gets a line
COSTLY = 20  # times as long as a row took to make passes until the next
NARROWEST = 20  # columns of a terminal on which a bar is drawn
MEMORY = 50  # steps over which the loss is averaged
FADING = 10.0  # seconds after which what was measured counts for a third


class Pace:
    """How a run goes, from one look at it to the next."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.characters = 0
        self.share = 0.0  # of the run that is done
        self._rate = self._share_rate = math.nan  # per second, of late
        self._clock = Stopwatch()

    def update(self, characters: int, share: float) -> None:
        """So many characters more were learned from, and that much of the run is done."""
        gap = max(self._clock.lap(), 1e-9)
        self._rate = self._smooth(self._rate, characters / gap, gap)
        self._share_rate = self._smooth(self._share_rate, (share - self.share) / gap, gap)
        self.seconds += gap
        self.characters += characters
        self.share = share

    def _smooth(self, old: float, new: float, gap: float) -> float:
        # What is left of a mean over e^(-t/FADING), begun as a plain one.
        weight = 1 - math.exp(-gap / FADING)
        weight = max(weight, gap / (self.seconds + gap))
        return new if math.isnan(old) else old + weight * (new - old)

    @property
    def characters_per_second(self) -> float:
        """Of late."""
        return 0.0 if math.isnan(self._rate) else self._rate

    @property
    def average(self) -> float:
        """Characters per second from the beginning."""
        return self.characters / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float:
        """How long it will take if it goes on so; infinite where nobody can tell."""
        return (1 - self.share) / self._share_rate if self._share_rate > 0 else math.inf


def together_in_words(config: TrainConfig) -> str:
    """What all that are mixed are called: network and counts, or several networks."""
    if config.counts:
        return "both"
    return "together" if config.members > 1 else ""


class Progress:
    """A view of the run; its events are handed in one by one."""

    def __init__(self, run: Checkpoint, symbols: int, console: Console, samples: int) -> None:
        self.run = run
        self.symbols = symbols
        self.console = console
        self.samples = samples
        self.pace = Pace()
        best = lowest_so_far(run.states)
        is_held_out = bool(run.corpus.held_out_characters)
        self.rows = CheckupRows(
            is_held_out, run.corpus.baselines, console.err, best, together_in_words(run.config)
        )
        self._is_animated = console.is_animated and console.err.window >= NARROWEST
        bar_format = "{desc}   {percentage:3.0f}% |{bar}|"
        self.bar = console.bar(total=1.0, bar_format=bar_format) if self._is_animated else None
        self._steps_before = run.longest.step
        self._characters = 0  # since the bar was drawn
        self._loss = 0.0
        self._weight = 0.0
        self._drawn = self._spoken = time.monotonic()
        self._next_row = 0.0
        self._waiting: Checkup | None = None  # a row that was not shown, to be shown at the end
        self._untasted: Checkup | None = None  # a row that was shown without a sample, likewise

    def __enter__(self) -> Progress:
        self.pace.share = self._share()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, event: Event) -> None:
        """Draw what has changed."""
        match event:
            case Step():
                self._characters += event.characters
                self._weight += (1 - self._weight) / MEMORY
                share = 1 / (MEMORY * self._weight)
                self._loss += share * (event.nats_per_character - self._loss)
                if time.monotonic() >= self._drawn + REFRESH:
                    self._refresh()
            case Checkup():
                self._waiting = event
                is_due = time.monotonic() >= self._next_row
                is_best = event.is_best and event.score is not None
                if is_due or is_best or not self._is_animated:
                    self._show_row(tasted=is_due)
            case Done():
                self.finish()

    @property
    def is_new(self) -> bool:
        """Whether anything was learned."""
        return self.run.longest.step > self._steps_before

    def finish(self) -> None:
        """The run has come to its end, whatever the reason."""
        self._update_pace()
        if self._waiting is not None:
            self._show_row(tasted=True)
        elif self._untasted is not None:
            self._show_samples(self._untasted.step)
            self._untasted = None

    def _share(self) -> float:
        return share_done(self.run.states, self.run.config, self.symbols)

    def _update_pace(self) -> None:
        self.pace.update(self._characters, self._share())
        self._characters = 0

    def _refresh(self) -> None:
        self._drawn = time.monotonic()
        self._update_pace()
        if self.bar is not None:
            width = self.console.err.window - 1
            self.bar.ncols = width
            self.bar.n = self.pace.share
            self.bar.set_description_str(self._words(width), refresh=False)
            self.bar.refresh()
        elif self._drawn >= self._spoken + HEARTBEAT:
            self._say(visible_line(f"{self._words(10**6)}   {self.pace.share:.0%}"))

    def _words(self, width: int) -> str:
        """What stands beside the bar: as much as leaves room for it."""
        left = clock(self.pace.seconds_left)
        pieces = {
            "step": f"step {self.run.longest.step:,}",
            "loss": f"{self._loss:.3f} nats",
            "speed": f"{counted(self.pace.characters_per_second)} chars/s",
            "left": f"{left} left",
        }
        kept: set[str] = set()
        room = width - 19
        for name in ("loss", "left", "speed", "step"):
            if len(pieces[name]) + 3 <= room:
                kept.add(name)
                room -= len(pieces[name]) + 3
        return "   ".join(text for name, text in pieces.items() if name in kept)

    def _show_row(self, *, tasted: bool) -> None:
        """Show the row that waits, with or without a taste of what the network writes by now."""
        event, self._waiting = self._waiting, None
        if event is None or self.console.quiet:
            return
        began = time.monotonic()
        epoch = self.run.longest.characters / self.symbols
        self._say(*self.rows.lines(event, epoch))
        self._untasted = None if tasted else event
        if tasted:
            self._show_samples(event.step)
            now = time.monotonic()
            self._next_row = now + max(ROW, COSTLY * (now - began))

    def _show_samples(self, step: int) -> None:
        """What the network would write now; another seed each time, and the same each time."""
        if not self.samples:
            return
        err, indent = self.console.err, self.rows.indent
        mixed = (self.run.config.seed + step) % (1 << 64)
        room = err.width - indent
        for text in preview(self.run.latest, self.samples, mixed, room):
            shown = err.paint(err.fitting(text), DIM)
            self._say(joined([Visible(" " * indent), shown]))

    def _say(self, *lines: Visible) -> None:
        self._spoken = time.monotonic()
        self.console.say(*lines)
