"""The table of check-ups, a row at a time, as wide as the window allows.

       step   epoch     train  held-out      bits       gap
        708    6.00     2.231     2.311     3.334    +0.080  *  better than markov-2

In nats per character, and held-out bits. Beside a held-out loss, that of training is measured like
it: on a part of the examples, with nothing hidden from the network. A star is the best check-up so
far; beside it stands the strongest of the baselines that it is the first to be better than. Where
the network is mixed with counts, or with others, what all of them make of it has a column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rich.cells import cell_len, set_cell_size

from charrnn.cli.console import BOLD, GREEN, YELLOW, Output
from charrnn.cli.formatting import bits
from charrnn.cli.table import Column, Table
from charrnn.escaping import Visible, joined, visible_line
from charrnn.network.language_model import LanguageModel
from charrnn.sampling.sampler import SampleConfig, Sampler
from charrnn.training.loop import Checkup

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
