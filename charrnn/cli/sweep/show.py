"""The display of a sweep: its plan, its progress, and the table of its results.

held-out     bits   step     time  run
   2.047    2.953    672    4.2 s  hidden=64,seed=0  *
1 of 6 runs   best 2.047 hidden=64,seed=0   16 s left   17% |===          |
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import starmap
from typing import Any

from charrnn.cli.console import BOLD, CYAN, GREEN, RED, Console, Output, wrap
from charrnn.cli.errors import option_for, typed
from charrnn.cli.sweep.prepare import PreparedSweep
from charrnn.cli.terminal import tables
from charrnn.cli.terminal.progress import LiveBar, Pace
from charrnn.cli.terminal.tables import Column, Entry, Table, bits, bytes_in_words, clock, count
from charrnn.cli.train.plan import best_in_words, corpus_in_words, part_in_words
from charrnn.cli.train.summary import can_be_read_again, corpus_json, in_order
from charrnn.counts.markov import Baseline
from charrnn.errors import CharrnnError
from charrnn.model_file.fields import CorpusRecord
from charrnn.scoring.score import UNCLEAR, Mean, json_of
from charrnn.sweeping.grid import Result, Standing, best_of, in_words, standings, value_in_words
from charrnn.sweeping.run import duplicates
from charrnn.text import Visible, joined, visible_line

BEST = f"{BOLD};{GREEN}"
TERMS = (
    "held-out: the lowest held-out loss of a run, in nats per character. spread: its standard"
    " deviation over the seeds. *: the best run so far."
)
GAP, STAR = "  ", "  *"


def plan_in_words(sweep: PreparedSweep) -> Iterator[Entry]:
    grid = sweep.record.grid
    yield from corpus_in_words(sweep.split.corpus, sweep.warnings)
    for name, values in grid.tried.items():
        yield "values", f"{option_for(name)} {', '.join(map(value_in_words, values))}"
    if sweep.record.learning:
        yield "fixed", " ".join(starmap(typed, sweep.record.learning.items()))
    sizes = sorted({each.plan.parameters for each in sweep.combinations})
    sizes = sizes if len(sizes) == 1 else [sizes[0], sizes[-1]]
    yield "networks", f"{' to '.join(f'{size:,}' for size in sizes)} parameters"
    for first, second in duplicates(sweep.combinations):
        names = f"{in_words(second.settings)} equals {in_words(first.settings)}"
        yield "warning", f"{names}: the corpus is too small for more"
    trials, missing = sweep.trials, sweep.missing
    combinations = count(len(sweep.combinations), "combination")
    yield "runs", f"{combinations} x {count(len(grid.seeds), 'seed')}: {count(len(trials), 'run')}"
    if done := len(trials) - len(missing):
        yield "done", f"{done:,} of {count(len(trials), 'run')}"
    if missing:
        at_once = min(sweep.at_once, len(missing))
        yield "memory", f"about {bytes_in_words(at_once * sweep.largest)}"
        longest = clock(max(map(sweep.seconds_of, missing)))
        time_left = f"about {clock(sweep.seconds_left)} with {count(at_once, 'run')} at once"
        yield "time", f"{time_left}; the longest run takes {longest}"


def baselines_in_words(sweep: PreparedSweep, baselines: Iterable[Baseline]) -> Iterator[Entry]:
    """Yield the best baseline on the held-out text of the first seed."""
    known = list(baselines)
    if known:
        losses = {baseline.name: baseline.nats_per_character for baseline in known}
        yield "to beat", best_in_words(losses)
        if part := part_in_words(known[-1], sweep.split.corpus):
            yield "", part
    yield "terms", TERMS


def plan_json(sweep: PreparedSweep) -> dict[str, Any]:
    record, missing = sweep.split.record, {trial.name for trial in sweep.missing}
    return {
        "folder": str(sweep.folder.path),
        "corpus": corpus_json(record, sweep.split.corpus.vocabulary.symbols),
        "tried": dict(sweep.record.grid.tried),
        "seeds": sweep.record.grid.seeds,
        "at_once": sweep.at_once,
        "seconds": sweep.seconds_left,
        "baselines": in_order(record.baselines),
        "runs": [
            {
                **asdict(trial),
                "model": str(sweep.folder.model_of(trial.name)),
                "done": trial.name not in missing,
                "seconds": sweep.seconds_of(trial),
            }
            for trial in sweep.trials
        ],
        "warnings": [asdict(doubt) for doubt in sweep.warnings],
    }


COLUMNS = Column("held-out", 10), Column("bits", 9, 2), Column("step", 9, 3), Column("time", 11, 1)


class SweepProgress(LiveBar):
    """The rows of ended runs, and a bar over all runs."""

    def __init__(
        self, seconds: Mapping[str, float], best: Result | None, total: int, console: Console
    ) -> None:
        """``seconds`` are the estimated durations of the missing runs, by their names."""
        super().__init__(console)
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

    def advance(self, name: str, share: float) -> None:
        self._shares[name] = share

    def end(self, result: Result) -> None:
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
            cells = losses_in_cells(result.loss, result.seconds)
            cells["step"] = f"{result.best_step or 0:,}"
            row = self._table.row(cells, {"held-out": BEST} if is_best else {})
        star = [err.paint(Visible(STAR), BEST)] if is_best else []
        self.console.say(joined([row, name, *star]))
        if is_best:
            self.best = result
        self._draw()

    def refresh(self) -> None:
        if self.is_drawn and self.is_due:
            self._draw()

    def _draw(self) -> None:
        whole = sum(self._seconds.values())
        done = sum(self._seconds[name] * share for name, share in self._shares.items())
        self.pace.update(0, min(1.0, done / whole) if whole > 0 else 0.0)
        self.draw(self.pace.share, self._words)

    def _words(self, width: int) -> str:
        """Return the text beside the bar, as long as the window allows."""
        pieces = [f"{self.total - self._left:,} of {self.total:,} runs"]
        pieces.append(f"{clock(self.pace.seconds_left)} left")
        if self.best is not None:
            pieces.insert(1, f"best {self.best.loss:.3f} {self.best.name}")
            if sum(map(len, pieces)) + 25 > width:
                pieces[1] = f"best {self.best.loss:.3f}"
        while len(pieces) > 1 and sum(map(len, pieces)) + 25 > width:
            del pieces[1]
        return visible_line("   ".join(pieces))


def losses_in_cells(nats: float, seconds: float) -> dict[str, str]:
    return {"held-out": f"{nats:.3f}", "bits": f"{bits(nats):.3f}", "time": clock(seconds)}


SUMMARY_COLUMNS = (
    Column("held-out", 10),
    Column("spread", 9),
    Column("difference", 12, 1),
    Column("std error", 11, 1),
    Column("bits", 9, 2),
    Column("runs", 6, 3),
    Column("time", 11, 4),
)


def table(results: list[Result], output: Output) -> Iterator[Visible]:
    """Yield a row for each combination, the lowest mean held-out loss first."""
    ranked = standings(results)
    longest = max((len(standing.name) for standing in ranked), default=0)
    room = max(output.width // 2, output.width - longest - len(GAP))
    columns = Table(SUMMARY_COLUMNS, room, output)
    yield joined([columns.head(), output.paint(Visible(f"{GAP}settings"), CYAN)])
    unclear: list[str] = []
    for place, standing in enumerate(ranked):
        nats, spread = standing.nats_per_character, standing.spread
        if nats is None:
            row = Visible(f"{columns.row({'held-out': 'failed'}):{columns.width}}")
        else:
            cells = losses_in_cells(nats, standing.seconds)
            cells["spread"] = "" if spread is None else f"{spread:.3f}"
            cells["runs"] = f"{len(standing.results):,}"
            difference = standing.difference(ranked[0])
            cells |= tables.difference_cells(difference)
            if difference is not None and difference.may_be_chance:
                unclear.append(standing.name)
            row = columns.row(cells, {} if place else {"held-out": BEST})
        failures = f"  ({standing.failed:,} failed)" if standing.failed else ""
        yield joined([row, visible_line(f"{GAP}{standing.name}{failures}")])
    if unclear:
        yield from wrap(f"{UNCLEAR} from the best: {', '.join(unclear)}", output.width)


def summary_json(folder: str, results: list[Result], runs: int, stopped: str) -> dict[str, Any]:
    best, failed = best_of(results), sum(result.has_failed for result in results)
    ranked = standings(results)
    return {
        "folder": folder,
        "runs": runs,
        "done": len(results) - failed,
        "failed": failed,
        "best": None if best is None else best.as_json(),
        "settings": [standing_json(each, ranked[0]) for each in ranked],
        "stopped": stopped,
    }


def standing_json(standing: Standing, best: Standing) -> dict[str, Any]:
    mean, difference = standing.nats_per_character, standing.difference(best)
    return {
        "settings": standing.settings,
        **Mean(math.nan if mean is None else mean, 1).loss(),  # null for NaN
        "spread": standing.spread,
        **json_of(difference),
        "runs": len(standing.results),
        "failed": standing.failed,
        "seeds": [result.seed for result in standing.results],
        "seconds": standing.seconds,
    }


def next_lines(results: list[Result], corpus: CorpusRecord) -> Iterator[str]:
    """Yield commands for the best run of the best combination."""
    runs = [run for combination in standings(results) for run in combination.results]
    model = runs[0].model if runs else None
    if model is not None and os.path.exists(model):
        yield shlex.join(["charrnn", "sample", "-m", model, "-n", "10"])
        if can_be_read_again(corpus):  # and with it the held-out text
            yield shlex.join(["charrnn", "eval", "-m", model])


def check_failures(results: list[Result], folder: str) -> None:
    failed = [result for result in results if result.has_failed]
    if failed:
        many = f"{len(failed):,} of {len(results):,} runs failed"
        reasons = f"{os.path.join(folder, 'sweep.jsonl')} has the reasons."
        hint = f"{reasons} --resume repeats the failed runs, except those that diverged."
        raise CharrnnError(f"{many}; {failed[0].name}: {failed[0].error}", hint)
