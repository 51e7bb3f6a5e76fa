"""What a sweep came to: its combinations, the best first, in a table and for programs."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator
from typing import Any

from charrnn.cli.console import BOLD, CYAN, GREEN, Output
from charrnn.cli.formatting import bits, clock
from charrnn.cli.table import Column, Table
from charrnn.cli.typed_again import can_be_read_again
from charrnn.errors import CharrnnError
from charrnn.escaping import Visible, joined, visible_line
from charrnn.model_file.schema import CorpusRecord
from charrnn.sweeping.comparison import Standing, best_of, standings
from charrnn.sweeping.result import Result

COLUMNS = (
    Column("held-out", 10),
    Column("spread", 9),
    Column("bits", 9, 2),
    Column("runs", 6, 3),
    Column("time", 11, 4),
)
GAP = "  "


def table(results: list[Result], output: Output) -> Iterator[Visible]:
    """A row a combination, by the mean of its held-out loss."""
    longest = max((len(one.name) for one in standings(results)), default=0)
    room = max(output.width // 2, output.width - longest - len(GAP))
    columns = Table(COLUMNS, room, output)
    yield joined([columns.head(), output.paint(Visible(f"{GAP}settings"), CYAN)])
    for place, one in enumerate(standings(results)):
        is_best = not place and one.nats_per_character is not None
        row = columns.row(cells_of(one), {"held-out": f"{BOLD};{GREEN}"} if is_best else {})
        if one.nats_per_character is None:
            row = Visible(f"{row:{columns.width}}")
        failed = f"  ({one.failed:,} failed)" if one.failed else ""
        yield joined([row, visible_line(f"{GAP}{one.name}{failed}")])


def cells_of(one: Standing) -> dict[str, str]:
    """What stands in each column."""
    if one.nats_per_character is None:
        return {"held-out": "failed"}
    return {
        "held-out": f"{one.nats_per_character:.3f}",
        "spread": "" if one.spread is None else f"{one.spread:.3f}",
        "bits": f"{bits(one.nats_per_character):.3f}",
        "runs": f"{len(one.results):,}",
        "time": clock(one.seconds),
    }


def as_json(folder: str, results: list[Result], runs: int, stopped: str) -> dict[str, Any]:
    """The summary for programs."""
    best = best_of(results)
    return {
        "folder": folder,
        "runs": runs,
        "done": sum(not one.has_failed for one in results),
        "failed": sum(one.has_failed for one in results),
        "best": None if best is None else best.as_json(),
        "settings": [standing_json(one) for one in standings(results)],
        "stopped": stopped,
    }


def standing_json(one: Standing) -> dict[str, Any]:
    """A combination for programs."""
    mean = one.nats_per_character
    return {
        "settings": one.settings,
        "nats_per_character": mean,
        "bits_per_character": None if mean is None else bits(mean),
        "perplexity": None if mean is None else math.exp(min(mean, 700)),
        "spread": one.spread,
        "runs": len(one.results),
        "failed": one.failed,
        "seeds": [result.seed for result in one.results],
        "seconds": one.seconds,
    }


def next_lines(results: list[Result], corpus: CorpusRecord) -> Iterator[str]:
    """What to type next."""
    best = best_of(results)
    if best is not None and best.model is not None and os.path.exists(best.model):
        yield shlex.join(["charrnn", "sample", "-m", best.model, "-n", "10"])
        if can_be_read_again(corpus):  # of which it is what was held out
            yield shlex.join(["charrnn", "eval", "-m", best.model])


def check_failures(results: list[Result], folder: str) -> None:
    """Raise CharrnnError where a run has failed."""
    failed = [one for one in results if one.has_failed]
    if failed:
        raise CharrnnError(
            f"{len(failed):,} of {len(results):,} runs failed; {failed[0].name}: {failed[0].error}",
            f"The others are as they should be; {os.path.join(folder, 'sweep.jsonl')} has the"
            " reasons, and --resume makes those again that did not diverge.",
        )
