"""What is seen of a sweep: a bar over all runs with the best so far, and a row as each run ends.

    held-out     bits   step     time  run
       2.047    2.953    672    4.2 s  hidden=64,seed=0  *
       2.013    2.904    592    7.9 s  hidden=128,seed=0  *
    2 of 6 runs   best 2.013 hidden=128,seed=0   16 s left   33% |=====          |

Where nothing can move, in a file or on a dumb terminal, there are the rows alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from charrnn.cli.console import BOLD, GREEN, RED, Console
from charrnn.cli.formatting import bits, clock
from charrnn.cli.progress import NARROWEST, REFRESH, Pace
from charrnn.cli.table import Column, Table
from charrnn.escaping import Visible, joined, visible_line
from charrnn.sweeping.result import Result

COLUMNS = (
    Column("held-out", 10),
    Column("bits", 9, 2),
    Column("step", 9, 3),
    Column("time", 11, 1),
)
GAP, STAR = "  ", "  *"


class SweepProgress:
    """A view of the sweep."""

    def __init__(
        self, seconds: Mapping[str, float], best: Result | None, total: int, console: Console
    ) -> None:
        """The seconds are what each run that is to be made will take, more or less."""
        self.console, self.total = console, total
        self.best = best
        self.pace = Pace()
        self._seconds = dict(seconds)
        self._shares = dict.fromkeys(seconds, 0.0)
        self._left = len(self._seconds)
        width, longest = console.err.width, max(map(len, seconds), default=0)
        room = max(width // 2, width - longest - len(STAR) - len(GAP))
        self._table = Table(COLUMNS, room, console.err)
        self._has_head = False
        self._drawn = time.monotonic()
        is_animated = console.is_animated and console.err.window >= NARROWEST
        bar_format = "{desc}   {percentage:3.0f}% |{bar}|"
        self.bar = console.bar(total=1.0, bar_format=bar_format) if is_animated else None

    def __enter__(self) -> SweepProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def moved(self, name: str, share: float) -> None:
        """A run has come so far."""
        self._shares[name] = share

    def ended(self, result: Result) -> None:
        """A run is over: its row."""
        self._shares[result.name] = 1.0
        self._left -= 1
        err = self.console.err
        is_best = not result.has_failed and (self.best is None or result.loss < self.best.loss)
        if not self._has_head:
            self._has_head = True
            self.console.say(joined([self._table.head(), Visible(f"{GAP}run")]))
        name = visible_line(f"{GAP}{result.name}")
        if result.has_failed:
            row = self._table.row({"time": clock(result.seconds)})
            row = Visible(f"{row:{self._table.width}}")
            name = err.paint(visible_line(f"{name}: {result.error}"), RED)
        else:
            style = {"held-out": f"{BOLD};{GREEN}"} if is_best else {}
            row = self._table.row(cells_of(result), style)
        star = [err.paint(Visible(STAR), f"{BOLD};{GREEN}")] if is_best else []
        self.console.say(joined([row, name, *star]))
        if is_best:
            self.best = result

    def refresh(self) -> None:
        """Draw the bar, if it is time."""
        if self.bar is None or time.monotonic() < self._drawn + REFRESH:
            return
        self._drawn = time.monotonic()
        self.pace.update(0, self._share())
        width = self.console.err.window - 1
        self.bar.ncols = width
        self.bar.n = self.pace.share
        self.bar.set_description_str(self._words(width), refresh=False)
        self.bar.refresh()

    def _share(self) -> float:
        whole = sum(self._seconds.values())
        done = sum(self._seconds[name] * share for name, share in self._shares.items())
        return min(1.0, done / whole) if whole > 0 else 0.0

    def _words(self, width: int) -> str:
        """What stands beside the bar: as much as leaves room for it."""
        pieces = [f"{self.total - self._left:,} of {self.total:,} runs"]
        pieces.append(f"{clock(self.pace.seconds_left)} left")
        if self.best is not None:
            pieces.insert(1, f"best {self.best.loss:.3f} {self.best.name}")
            if sum(map(len, pieces)) + 25 > width:
                pieces[1] = f"best {self.best.loss:.3f}"
        while len(pieces) > 1 and sum(map(len, pieces)) + 25 > width:
            del pieces[1]
        return visible_line("   ".join(pieces))


def cells_of(result: Result) -> dict[str, str]:
    """What stands in each column."""
    return {
        "held-out": f"{result.loss:.3f}",
        "bits": f"{bits(result.loss):.3f}",
        "step": f"{result.best_step or 0:,}",
        "time": clock(result.seconds),
    }
