"""The plan of a sweep in words, and for programs.

What is seen of a sweep: a bar over all runs with the best so far, and a row as each run ends.

    held-out     bits   step     time  run
       2.047    2.953    672    4.2 s  hidden=64,seed=0  *
       2.013    2.904    592    7.9 s  hidden=128,seed=0  *
    2 of 6 runs   best 2.013 hidden=128,seed=0   16 s left   33% |=====          |

Where nothing can move, in a file or on a dumb terminal, there are the rows alone.

What a sweep came to: its combinations, the best first, in a table and for programs."""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any

from charrnn.cli.console import BOLD, CYAN, GREEN, RED, Console, Output
from charrnn.cli.errors import option_for
from charrnn.cli.sweep.prepare import PreparedSweep, typed
from charrnn.cli.terminal.progress import NARROWEST, REFRESH, Pace
from charrnn.cli.terminal.tables import Column, Entry, Table, bits, bytes_in_words, clock, count
from charrnn.cli.train.plan import best_in_words, corpus_in_words, part_in_words
from charrnn.cli.train.summary import can_be_read_again, corpus_json, in_order, warnings_json
from charrnn.counts.baselines import Baseline
from charrnn.errors import CharrnnError
from charrnn.model_file.fields import CorpusRecord
from charrnn.sweeping.grid import Result, Standing, best_of, standings, value_in_words
from charrnn.sweeping.run import alike
from charrnn.text import Visible, joined, visible_line


def in_words(sweep: PreparedSweep) -> Iterator[Entry]:
    """What is learned from, what is tried on it, and what it will take."""
    corpus, grid = sweep.split.corpus, sweep.begun.grid
    yield from corpus_in_words(corpus, sweep.warnings)
    for name, values in grid.tried.items():
        yield "tried", f"{option_for(name)} {', '.join(map(value_in_words, values))}"
    if sweep.begun.learning:
        yield "for all", " ".join(starmap(typed, sweep.begun.learning.items()))
    sizes = sorted(one.plan.parameters for one in sweep.combinations)
    if sizes[0] == sizes[-1]:
        yield "networks", f"{sizes[0]:,} parameters"
    else:
        yield "networks", f"{sizes[0]:,} to {sizes[-1]:,} parameters"
    for first, second in alike(sweep.combinations):
        yield (
            "warning",
            f"{second.name} comes to the same as {first.name}: the corpus fills no more",
        )
    combinations, seeds = len(sweep.combinations), len(grid.seeds)
    runs = count(len(sweep.trials), "run")
    yield "runs", f"{count(combinations, 'combination')} x {count(seeds, 'seed')}: {runs}"
    done, missing = len(sweep.trials) - len(sweep.missing), sweep.missing
    if done:
        yield "resumes", f"{done:,} of them {'is' if done == 1 else 'are'} done"
    if missing:
        at_once = min(sweep.at_once, len(missing))
        yield "memory", f"about {bytes_in_words(at_once * sweep.largest)}"
        each = [sweep.seconds_of(one) for one in missing]
        longest = f"the longest takes {clock(max(each))}"
        yield (
            "time",
            f"about {clock(sweep.seconds_left)}, with {count(at_once, 'run')} at once; {longest}",
        )


def baselines_in_words(sweep: PreparedSweep, found: Iterable[Baseline]) -> Iterator[Entry]:
    """What there is to beat, on what the first seed holds out."""
    last = None
    losses = {}
    for last in found:
        losses[last.name] = last.nats_per_character
    if last is not None:
        yield "to beat", best_in_words(losses)
        if part := part_in_words(last, sweep.split.corpus):
            yield "", part


def as_json(sweep: PreparedSweep) -> dict[str, Any]:
    """The plan for programs."""
    corpus = sweep.split.corpus
    missing = {one.name for one in sweep.missing}
    return {
        "folder": str(sweep.folder.path),
        "corpus": corpus_json(sweep.split.record, corpus.vocabulary.symbols),
        "tried": dict(sweep.begun.grid.tried),
        "seeds": sweep.begun.grid.seeds,
        "at_once": sweep.at_once,
        "seconds": sweep.seconds_left,
        "baselines": in_order(sweep.split.record.baselines),
        "runs": [
            {
                "name": one.name,
                "settings": one.settings,
                "seed": one.seed,
                "model": str(sweep.folder.model_of(one.name)),
                "done": one.name not in missing,
                "seconds": sweep.seconds_of(one),
            }
            for one in sweep.trials
        ],
        "warnings": warnings_json(sweep.warnings),
    }


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


SUMMARY_COLUMNS = (
    Column("held-out", 10),
    Column("spread", 9),
    Column("bits", 9, 2),
    Column("runs", 6, 3),
    Column("time", 11, 4),
)
SUMMARY_GAP = "  "


def table(results: list[Result], output: Output) -> Iterator[Visible]:
    """A row a combination, by the mean of its held-out loss."""
    longest = max((len(one.name) for one in standings(results)), default=0)
    room = max(output.width // 2, output.width - longest - len(SUMMARY_GAP))
    columns = Table(SUMMARY_COLUMNS, room, output)
    yield joined([columns.head(), output.paint(Visible(f"{SUMMARY_GAP}settings"), CYAN)])
    for place, one in enumerate(standings(results)):
        is_best = not place and one.nats_per_character is not None
        row = columns.row(summary_cells(one), {"held-out": f"{BOLD};{GREEN}"} if is_best else {})
        if one.nats_per_character is None:
            row = Visible(f"{row:{columns.width}}")
        failed = f"  ({one.failed:,} failed)" if one.failed else ""
        yield joined([row, visible_line(f"{SUMMARY_GAP}{one.name}{failed}")])


def summary_cells(one: Standing) -> dict[str, str]:
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


def summary_json(folder: str, results: list[Result], runs: int, stopped: str) -> dict[str, Any]:
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
