"""What is seen of a run: a bar that moves, and a row a check-up with a taste of what it writes.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.412     2.311     3.334    -0.101  *  past markov-2
              Tyranosaurus
    step 1,044   2.2 nats   74.9k/s   21 s left   7% |==        |

Where nothing can move, in a file or on a dumb terminal, the rows remain, not too many of them, and
a line now and then in between. Nothing here may slow the run down: the bar is drawn ten times a
second, and a sample is drawn only for a row that is shown.
"""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from charrnn.cli import charset, layout
from charrnn.cli.console import Talk
from charrnn.cli.layout import DIM
from charrnn.cli.numbers import clock, counted
from charrnn.cli.training.checkup_table import Rows
from charrnn.cli.training.preview import preview
from charrnn.cli.training.speed import Pace
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.training.loop import Checkup, Done, Event, Step, progress

if TYPE_CHECKING:
    from tqdm import tqdm

REFRESH = 0.1  # seconds between two pictures of the bar
ROW, PLAIN_ROW = 0.5, 5.0  # seconds between two rows; in a log file
HEARTBEAT = 60.0  # seconds of silence after which a log file gets a line
COSTLY = 20  # times as long as a row took to make passes until the next
NARROWEST = 20  # columns of a terminal on which a bar is drawn
MEMORY = 50  # steps over which the loss is averaged


class Progress:
    """A view of the run; its events are handed in one by one."""

    def __init__(self, run: Checkpoint, symbols: int, talk: Talk, samples: int) -> None:
        self.run = run
        self.symbols = symbols
        self.talk = talk
        self.samples = samples
        self.pace = Pace()
        best = math.inf if run.state.best is None else run.state.best.nats_per_character
        self.rows = Rows(bool(run.corpus.held_out_characters), run.corpus.baselines, best)
        self.bar: tqdm[NoReturn] | None = None
        self._animated = talk.animated and layout.window(sys.stderr) >= NARROWEST
        self._steps_before = run.state.step
        self._characters = 0  # since the bar was drawn
        self._loss = 0.0
        self._weight = 0.0
        self._drawn = self._spoken = time.monotonic()
        self._next_row = 0.0
        self._waiting: Checkup | None = None  # a row that was not shown, to be told at the end

    def __enter__(self) -> Progress:
        if self._animated:
            self.bar = _bar()
        self.pace.share = self._share()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
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
                if time.monotonic() >= self._next_row:
                    self._show_row()
            case Done():
                self.finish()

    @property
    def is_new(self) -> bool:
        """Whether anything was learned."""
        return self.run.state.step > self._steps_before

    def finish(self) -> None:
        """The run has come to its end, whatever the reason."""
        self._update_pace()
        if self._waiting is not None:
            self._show_row()

    def _share(self) -> float:
        return progress(self.run.state, self.run.config, self.symbols)

    def _update_pace(self) -> None:
        self.pace.update(self._characters, self._share())
        self._characters = 0

    def _refresh(self) -> None:
        self._drawn = time.monotonic()
        self._update_pace()
        if self.bar is not None:
            width = layout.window(sys.stderr) - 1
            self.bar.ncols = width
            self.bar.n = self.pace.share
            self.bar.set_description_str(self._words(width), refresh=False)
            self.bar.refresh()
        elif self._drawn >= self._spoken + HEARTBEAT:
            self._say(f"{self._words(10**6)}   {self.pace.share:.0%}")

    def _words(self, width: int) -> str:
        """What stands beside the bar: as much as leaves room for it."""
        left = clock(self.pace.seconds_left)
        pieces = {
            "step": f"step {self.run.state.step:,}",
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

    def _show_row(self) -> None:
        event, self._waiting = self._waiting, None
        if event is None or self.talk.quiet:
            return
        began = time.monotonic()
        epoch = self.run.state.characters / self.symbols
        for line in self.rows.lines(event, epoch, sys.stderr):
            self._say(line)
        if self.samples:
            self._show_samples(event.step)
        pause = ROW if self._animated else PLAIN_ROW
        now = time.monotonic()
        self._next_row = now + max(pause, COSTLY * (now - began))

    def _show_samples(self, step: int) -> None:
        """What the network would write now; another seed each time, and the same each time."""
        indent = self.rows.indent(sys.stderr)
        room = layout.width(sys.stderr) - indent
        mixed = (self.run.config.seed + step) % (1 << 64)
        for text in preview(self.run.latest, self.samples, mixed, room):
            shown = charset.fitting(text, sys.stderr)
            self._say(" " * indent + layout.paint(shown, DIM, sys.stderr))

    def _say(self, line: str) -> None:
        """A line that was made safe before, above the bar."""
        self._spoken = time.monotonic()
        if self.talk.quiet:
            return
        if self.bar is not None:
            self.bar.write(line + "\n", file=sys.stderr, end="")
        else:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _bar() -> tqdm[NoReturn]:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread that looks after bars: ours is drawn when we say so
    return tqdm(
        total=1.0,
        file=sys.stderr,
        leave=False,
        bar_format="{desc}   {percentage:3.0f}% |{bar}|",
        ascii=" =" if charset.are_plain(sys.stderr) else " ▏▎▍▌▋▊▉█",
        ncols=layout.window(sys.stderr) - 1,
    )
