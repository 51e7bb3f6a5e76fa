"""Many runs on one corpus: every combination of some settings, from a few seeds each, compared.

All runs hold out the same text. A run is a function that returns a row and the trained model; the
process of the sweep writes both: a row of sweep.jsonl and a model file for each run.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.checkpoint import Checkpoint, CorpusRecord
from charrnn.cluster import Executor, map_in_order
from charrnn.corpus import Corpus
from charrnn.counts import Baseline
from charrnn.errors import CharrnnError, DivergedError, ResumeError, SaveError
from charrnn.model_file import save
from charrnn.network.parameters import LanguageModel
from charrnn.runs import Run, begin, configure
from charrnn.saving import remedy
from charrnn.settings import CorpusConfig, option_of
from charrnn.system import LineFile, parse_line
from charrnn.training.loop import Done, nats_of_best

SCHEMA = "charrnn.sweep.run/2"
ROWS = "sweep.jsonl"
MOST_RUNS = 10_000
LONGEST = 150  # characters of a name, which every file system has room for
BLOCKS = 30  # of the held-out text, whose losses are compared
CLEAR = 2.0  # standard errors
COUNTING = "counting"

Row = dict[str, Any]


class Trial(NamedTuple):
    """A run of the grid."""

    name: str
    tried: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Material:
    """What all runs of a sweep share."""

    corpus: Corpus
    record: CorpusRecord
    cutting: CorpusConfig
    reading: dict[str, Any]  # settings of the corpus, as they were typed
    learning: dict[str, Any]  # settings of training, likewise
    start_from: LanguageModel | None = None


def trials_of(tried: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> list[Trial]:
    """Return all runs: every combination from one seed, then from the next."""
    runs = math.prod(map(len, tried.values())) * len(seeds)
    if runs > MOST_RUNS:
        what = f"that would be {runs:,} runs; at most {MOST_RUNS:,} are allowed"
        raise CharrnnError(what, "Try fewer values or fewer seeds.")
    combinations = [
        dict(zip(tried, values, strict=True)) for values in itertools.product(*tried.values())
    ]
    trials = [
        Trial(name_of({**combination, "seed": seed}), combination, seed)
        for seed in seeds
        for combination in combinations
    ]
    longest = max(trials, key=lambda trial: len(trial.name))
    if len(longest.name) > LONGEST:
        raise CharrnnError(f"{longest.name} is too long a name for a file", "Try fewer settings.")
    return trials


def name_of(settings: Mapping[str, Any]) -> str:
    """Return settings as they are typed, without dashes: a file name that any system allows."""
    pieces = []
    for name, value in settings.items():
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        pieces.append(f"{option_of(name).lstrip('-')}={shown.removesuffix('.0')}")
    return ",".join(pieces) or "defaults"


def train_one(material: Material, trial: Trial) -> tuple[Row, Checkpoint | None]:
    """Train one run on one core. Return its row, and the run unless it failed."""
    began = time.monotonic()
    learning = {**material.learning, **trial.tried}
    settings = {**material.reading, **learning}
    row: Row = {"schema": SCHEMA, "name": trial.name, "corpus": material.record.fingerprint}
    row |= {"settings": settings, "seed": trial.seed, "best": None, "held_out_blocks": []}
    row |= {"model": None, "seconds": 0.0, "stopped": "failed", "error": None}
    run = None
    try:
        run = _train(material, {**learning, "seed": trial.seed, "cores": 1}, row)
    except DivergedError as error:
        row |= {"stopped": "diverged", "error": error.what}
    except (CharrnnError, OSError) as error:
        row["error"] = str(error)
    except MemoryError:
        row["error"] = "not enough memory"
    row["seconds"] = round(time.monotonic() - began, 3)
    return row, run


def _train(material: Material, settings: dict[str, Any], row: Row) -> Checkpoint:
    """Train, and add the loss on the held-out text to the row."""
    corpus, model = material.corpus, material.start_from
    run = begin(corpus, material.cutting, configure(settings, model), model)
    run.corpus = material.record
    stopped = ""
    for event in Run(corpus, run):
        if isinstance(event, Done):
            stopped = event.why
    costs = nats_of_best(run.state, corpus, run.counted, however_long=True)
    nats = costs.get("both", costs["network"])
    best = run.state.best
    assert best is not None
    row["best"] = {"step": best.step, "nats_per_character": float(nats.mean())}
    row |= {"held_out_blocks": blocks_of(nats), "stopped": stopped}
    return run


class Folder:
    """The folder of a sweep, locked: the rows so far, and a model file for each."""

    def __init__(self, path: Path, file: LineFile, rows: dict[str, Row]) -> None:
        self.path, self.file, self.rows = path, file, rows

    def run(self, executor: Executor, material: Material, trials: Iterable[Trial]) -> Iterator[Row]:
        """Make these runs, and yield each row as its run ends."""
        for row, run in map_in_order(executor, train_one, trials, in_order=False):
            path = self.path / f"{row['name']}.npz"
            try:
                if run is not None:
                    save(path, run)
                    row["model"] = str(path)
                self.file.append(row)
                self.file.sync()
            except (OSError, SaveError) as error:
                what = str(error) if isinstance(error, SaveError) else error.strerror
                hint = remedy(error.__cause__ or error, "name another folder")
                raise SaveError(f"{self.path} cannot be written: {what}", hint) from error
            self.rows[row["name"]] = row
            yield row

    def missing(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the runs without a row or a model, but for those that would diverge again."""
        done = {
            name
            for name, row in self.rows.items()
            if row["stopped"] == "diverged" or (self.path / f"{name}.npz").exists()
        }
        return [trial for trial in trials if trial.name not in done]

    def check(self, material: Material, trials: Iterable[Trial]) -> None:
        """Raise ResumeError if a row belongs to another corpus, or has other settings."""
        for trial in trials:
            if trial.name not in self.rows:
                continue
            row = self.rows[trial.name]
            had, wanted = row["corpus"], material.record.fingerprint
            if had != wanted:
                what = f"{self.path} learned from another corpus (SHA-256 {had[:12]}) than this one"
                hint = "Give the same text, or begin a sweep in another folder."
                raise ResumeError(f"{what} ({wanted[:12]})", hint)
            before = row["settings"]
            settings = {**material.reading, **material.learning, **trial.tried}
            for name in sorted(before.keys() | settings.keys()):
                if before.get(name) != settings.get(name):
                    values = [settings.get(name, "unset"), before.get(name, "unset")]
                    what = f"{option_of(name)} {values[0]} contradicts {self.path}"
                    what = f"{what}, which has {values[1]}"
                    raise ResumeError(what, "Give the same settings, or name another folder.")


@contextmanager
def open_folder(path: Path, *, resume: bool) -> Iterator[Folder]:
    """Make or open a folder, lock it, and read its rows; cut off a torn last line."""
    rows_file = path / ROWS
    if resume and not rows_file.exists():
        raise ResumeError(f"{path} holds no sweep to resume", "Begin one first.")
    if not resume and os.path.lexists(rows_file):
        raise SaveError(f"{path} holds a sweep", "Resume it, or name another folder.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        lines = LineFile.at(rows_file)
    except OSError as error:
        what = f"{rows_file} cannot be written: {error.strerror}"
        raise SaveError(what, "Name another folder.") from error
    with closing(lines) as file:
        if not file.lock():
            raise SaveError(f"another sweep is running in {path}", "Wait, or use another folder.")
        file.cut_torn_line()
        rows = {}
        for number, line in enumerate(file.lines(), 1):
            try:
                row = parse_line(line)
                if row["schema"] != SCHEMA:
                    raise ValueError(row["schema"])
                rows[row["name"]] = row
            except (ValueError, KeyError) as error:
                what = f"line {number:,} of {rows_file} is not a row of a sweep"
                raise ResumeError(what, "Delete that line; its run is then repeated.") from error
        yield Folder(path, file, rows)


def free_folder() -> Path:
    """Return the first of sweep, sweep-2, sweep-3 ... that does not exist."""
    names = itertools.chain(["sweep"], (f"sweep-{number}" for number in itertools.count(2)))
    return next(Path(name) for name in names if not os.path.lexists(name))


@dataclass(frozen=True)
class Standing:
    """The runs of one combination of settings, or counting."""

    name: str
    rows: list[Row]  # without failures, the best first
    loss: float  # the mean over seeds; infinite if all runs failed
    difference: float  # from the loss of the best combination
    standard_error: float

    @property
    def is_clearly_worse(self) -> bool:
        """Return False for the best combination, and where the difference may be chance."""
        return not self.difference <= CLEAR * self.standard_error and self.difference != 0

    @property
    def seconds(self) -> float:
        """Return the mean duration of a run."""
        return mean(row["seconds"] for row in self.rows) if self.rows else math.nan


def rank(rows: Iterable[Row], tried: Iterable[str]) -> list[Standing]:
    """Return all combinations of the settings that were tried, the best first."""
    names = list(tried)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = (
            row["name"]
            if row["name"] == COUNTING
            else name_of({n: row["settings"][n] for n in names})
        )
        groups.setdefault(name, []).extend([row] if row["best"] else [])
    losses = {
        name: mean(map(loss_of, group)) if group else math.inf for name, group in groups.items()
    }
    best = min((name for name in groups if name != COUNTING), key=lambda name: losses[name])
    return [
        Standing(
            name,
            sorted(groups[name], key=loss_of),
            losses[name],
            *compare(groups[name], groups[best]),
        )
        for name in sorted(groups, key=lambda name: losses[name])
    ]


def loss_of(row: Row) -> float:
    """Return the held-out loss of a run that has not failed."""
    return float(row["best"]["nats_per_character"])


def compare(rows: list[Row], best: list[Row]) -> tuple[float, float]:
    """Return the difference of two losses, and its standard error over blocks of the held-out
    text, or over seeds if that is larger; NaN if unknown.
    """
    by_seed = {row["seed"]: row for row in best}
    pairs = [(row, by_seed[row["seed"]]) for row in rows if row["seed"] in by_seed]
    if not pairs:
        return math.nan, math.nan
    of_seeds = [loss_of(row) - loss_of(other) for row, other in pairs]
    of_blocks = [
        np.subtract(row["held_out_blocks"], other["held_out_blocks"])
        for row, other in pairs
        if len(row["held_out_blocks"]) == len(other["held_out_blocks"])
    ]
    samples = [of_seeds, list(np.mean(of_blocks, 0)) if of_blocks else []]
    errors = [stdev(sample) / math.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    return mean(of_seeds), max(errors, default=math.nan)


def counting_rows(baseline: Baseline, seeds: Iterable[int]) -> list[Row]:
    """Return the loss of counting as a row for each seed, to be ranked among the others."""
    best = {"step": None, "nats_per_character": baseline.nats_per_character}
    blocks = [] if baseline.nats is None else blocks_of(baseline.nats)
    row = {"name": COUNTING, "settings": {}, "best": best, "held_out_blocks": blocks}
    return [{**row, "seed": seed, "model": None, "seconds": 0.0} for seed in seeds]


def blocks_of(nats: NDArray[np.float64]) -> list[float]:
    """Return the mean losses of blocks of a text."""
    blocks = np.array_split(nats, min(BLOCKS, len(nats)))
    return [round(float(block.mean()), 6) for block in blocks]
