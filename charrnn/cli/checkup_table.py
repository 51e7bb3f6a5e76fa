"""The table of check-ups, a row at a time, as wide as the window allows.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.412     2.311     3.334    -0.101  *  past markov-2

In nats per character, and held-out bits. A star is the best of the rows so far; beside it stands
the strongest of the baselines that it is the first to pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TextIO

from charrnn.cli import layout
from charrnn.cli.layout import BOLD, CYAN, GREEN, YELLOW
from charrnn.cli.numbers import bits
from charrnn.training.loop import Checkup

MARK = 3


class Column(NamedTuple):
    """A column of the table."""

    name: str
    width: int
    rank: int  # the lower ones stay when the window is narrow


COLUMNS = (
    Column("step", 10, 1),
    Column("epoch", 8, 4),
    Column("train", 9, 2),
    Column("held-out", 10, 0),
    Column("bits", 8, 5),
    Column("gap", 8, 3),
)
WITHOUT_HELD_OUT = ("step", "epoch", "train")


class Rows:
    """The rows of one run, of which not every one has to be shown."""

    def __init__(
        self, is_held_out: bool, baselines: Mapping[str, float], best: float = math.inf
    ) -> None:
        """best is the one of an earlier part of the run."""
        self.columns = [c for c in COLUMNS if is_held_out or c.name in WITHOUT_HELD_OUT]
        self.baselines = dict(baselines)
        self._best = best  # of those that were shown
        self._has_head = False

    def lines(self, event: Checkup, epoch: float, stream: TextIO) -> Iterator[str]:
        """The row for a check-up; before the first, the heads of the columns."""
        fitting = self._fitting(stream)
        if not self._has_head:
            self._has_head = True
            yield layout.paint("".join(f"{c.name:>{c.width}}" for c in fitting), CYAN, stream)
        cells = _cells(event, epoch)
        texts = {c.name: f"{cells[c.name]:>{c.width}}" for c in fitting}
        now = event.score.nats_per_character if event.score is not None else math.inf
        remark = ""
        if now < self._best and "held-out" in texts:
            texts["held-out"] = layout.paint(texts["held-out"], f"{BOLD};{GREEN}", stream)
            room = layout.width(stream) - sum(c.width for c in fitting)
            remark = self._remark(now, room, stream)
            self._best = now
        yield "".join(texts.values()) + remark

    def indent(self, stream: TextIO) -> int:
        """The columns to leave free before a text below the steps."""
        return min(self.columns[0].width, layout.width(stream) // 4) + 2

    def _remark(self, now: float, room: int, stream: TextIO) -> str:
        """What is said of the best one so far."""
        star = layout.paint("  *", f"{BOLD};{GREEN}", stream)
        passed = {name: nats for name, nats in self.baselines.items() if now < nats < self._best}
        if not passed:
            return star
        text = f"  past {min(passed, key=lambda name: passed[name])}"
        return star + (layout.paint(text, YELLOW, stream) if len(text) + MARK <= room else "")

    def _fitting(self, stream: TextIO) -> list[Column]:
        """The columns that there is room for, the weightiest first."""
        room = layout.width(stream) - MARK
        kept = set()
        for column in sorted(self.columns, key=lambda c: c.rank):
            if column.width <= room:
                kept.add(column)
                room -= column.width
        return [column for column in self.columns if column in kept]


def _cells(event: Checkup, epoch: float) -> dict[str, str]:
    """What stands in each column."""
    train = event.train_nats_per_character
    cells = {"step": f"{event.step:,}", "epoch": f"{epoch:.2f}", "train": f"{train:.3f}"}
    if event.score is None:
        return cells
    held_out = event.score.nats_per_character
    return cells | {
        "held-out": f"{held_out:.3f}",
        "bits": f"{bits(held_out):.3f}",
        "gap": f"{held_out - train:+.3f}",
    }
