"""What is seen of a run: a bar that moves, and a row a check-up with a taste of what it writes.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.231     2.311     3.334    +0.080  *  better than markov-2
              Tyranosaurus
    step 1,044   2.2 nats   74.9k/s   21 s left   7% |==        |

Where nothing can move, in a file or on a dumb terminal, all rows are written, and a line now and
then in between; a terminal leaves out rows that come too fast, but never the best one so far.
Nothing here may slow the run down: the bar is drawn ten times a second, and a sample only where
there is time for one.
"""

from __future__ import annotations

import math
import time

from charrnn.cli.checkup_rows import CheckupRows, preview
from charrnn.cli.console import DIM, Console
from charrnn.cli.formatting import clock, counted
from charrnn.escaping import Visible, joined, visible_line
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.settings.training import TrainConfig
from charrnn.training.loop import Checkup, Done, Event, Step
from charrnn.training.members import lowest_so_far, share_done
from charrnn.training.stopwatch import Stopwatch

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
