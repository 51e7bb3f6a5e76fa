"""Many runs on one corpus: every combination of some settings, from a few seeds each, compared.

All runs hold out the same text. A run is a function that returns a row and the trained model; the
process of the sweep writes both: a row of sweep.jsonl and a model file for each run.
"""

import itertools
import json
import math
import os
import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import CharrnnError, DivergedError, ResumeError, SaveError, remedy
from charrnn.files.model_contents import Checkpoint, CorpusRecord
from charrnn.files.model_file import built, locked_model, save
from charrnn.files.safe_writing import LineFile, Note, is_torn, locked
from charrnn.model import load
from charrnn.network.parameters import Architecture, LanguageModel, architecture_of
from charrnn.prediction.losses import CLEAR_ERRORS
from charrnn.runs import begin_run, configure, fit_and_score
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.values import LARGEST
from charrnn.spread.workers import Executor
from charrnn.system.packaged import check_name
from charrnn.text.corpus import Corpus
from charrnn.text.counts import Baseline
from charrnn.training.automatic_settings import check_agreement, fit_settings
from charrnn.training.loop import Learner

SCHEMA, OLD_SCHEMA = "charrnn.sweep.run/3", "charrnn.sweep.run/2"
ROWS_FILE = "sweep.jsonl"
BLOCKS = 30  # of the held-out text, whose losses are compared
COUNTING = "counting"
# The headings of settings that a table shows where they differ
COLUMNS = {"hidden": "units", "lr": "rate", "dropout": "dropout", "dropconnect": "dropconnect"}
COLUMNS |= {"weight_decay": "decay"}
RUN_NAME = re.compile(r"[\w.+=,-]*seed=[0-9]+")  # of a run, and of its file
ROW_KINDS: dict[str, Any] = {"fingerprint": str, "seed": int, "stopped": str, "error": str | None}
ROW_KINDS |= {"best": dict[str, float] | None, "held_out_blocks": list[float], "seconds": float}
OF_NO_SIZE = {"counts": False, "init_radius": 1, "free_running": 0}  # some cells exclude them

Row = dict[str, Any]


class Trial(NamedTuple):
    """A run of the grid."""

    tried: dict[str, Any]
    seed: int
    parameters: int = 0  # if they are known

    @property
    def name(self) -> str:
        return name_of({**self.tried, "seed": self.seed})


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
    pairs = itertools.product(seeds, itertools.product(*tried.values()))
    return [Trial(dict(zip(tried, values, strict=True)), seed) for seed, values in pairs]


def with_same_size(trials: Sequence[Trial], material: Material) -> list[Trial]:
    """Return the runs, with units that make each cell about as large as the first that is tried."""
    first = trials[0].tried["cell"]
    sized = [*trials]
    for at, (tried, seed, _) in enumerate(trials):
        own, wanted = ({**tried, **OF_NO_SIZE, "cell": c} for c in (tried["cell"], first))
        enough = size_of(wanted, material).parameter_count
        with suppress(CharrnnError):  # such a run cannot start, and its row says why
            size = resized(size_of(own, material), enough)
            sized[at] = Trial({**tried, "hidden": size.hidden}, seed, size.parameter_count)
    return sized


def size_of(tried: Mapping[str, Any], material: Material) -> Architecture:
    corpus, model = material.corpus, material.start_from
    config = fit_settings(configure({**material.learning, **tried}, model), corpus, model)
    return architecture_of(config, corpus.vocabulary)


def resized(size: Architecture, parameters: int) -> Architecture:
    """Return the network with the units whose parameters come nearest to this number."""

    def count(hidden: int) -> int:
        return replace(size, hidden=hidden).parameter_count

    enough = bisect_left(range(LARGEST), parameters, lo=1, key=count)  # the first that is as large
    near = max(1, enough - 1), enough
    return replace(size, hidden=min(near, key=lambda hidden: abs(count(hidden) - parameters)))


def name_of(settings: Mapping[str, Any]) -> str:
    """Return settings as they are typed, without dashes: a file name that any system allows."""
    pieces = []
    for name, value in settings.items():
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        pieces.append(f"{word_of(name)}={shown.removesuffix('.0')}")
    return ",".join(pieces)


def word_of(name: str) -> str:
    return name.replace("_", "-")


def train_one(material: Material, trial: Trial) -> tuple[Row, Checkpoint | None]:
    """Train one run on one core. Return its row, and the run unless it failed."""
    began, corpus, model = time.monotonic(), material.corpus, material.start_from
    learning = {**material.learning, **trial.tried}
    row: Row = {"schema": SCHEMA, "name": trial.name, "fingerprint": material.record.fingerprint}
    row |= {"settings": {**material.reading, **learning}, "seed": trial.seed, "best": None}
    row |= {"held_out_blocks": [], "model": None, "seconds": 0.0, "stopped": "failed"}
    row["error"], checkpoint = None, None
    try:
        config = configure({**learning, "seed": trial.seed, "cores": 1}, model)
        checkpoint = begin_run(corpus, material.cutting, config, model)
        checkpoint.corpus = material.record
        for _ in Learner(checkpoint.state, corpus, checkpoint.config).events():
            pass
        costs = fit_and_score(checkpoint, corpus, however_long=True)
        nats, best = costs.get("both", costs["network"]), checkpoint.state.best
        assert best is not None
        row["best"] = {"step": best.step, "nats_per_character": float(nats.mean())}
        row |= {"held_out_blocks": blocks_of(nats), "stopped": checkpoint.ended}
    except (CharrnnError, OSError, MemoryError) as error:
        checkpoint, row["error"] = None, str(error) or "not enough memory"
        row["stopped"] = "diverged" if isinstance(error, DivergedError) else "failed"
    row["seconds"] = round(time.monotonic() - began, 3)
    return row, checkpoint


@dataclass
class Folder:
    """The folder of a sweep, locked: the rows so far, and a model file for each."""

    path: Path
    file: LineFile
    rows: dict[str, Row]  # by name

    def run(self, executor: Executor, trials: Iterable[Trial]) -> Iterator[Row]:
        """Make these runs, and yield each row as its run ends."""
        for row, checkpoint in executor(train_one, trials, in_order=False):
            try:
                if checkpoint is not None:
                    row["model"] = str(self.model(row["name"]))
                    with locked_model(row["model"], force=False):
                        save(row["model"], checkpoint)
                self.file.append(row)
                self.file.sync()
            except (OSError, SaveError) as error:
                hint = remedy(error.__cause__ or error, "name another folder")
                raise SaveError(f"{self.path} cannot be written: {error}", hint) from error
            self.rows[row["name"]] = row
            yield row

    def model(self, name: str) -> Path:
        return self.path / f"{name}.npz"

    def named(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the runs with settings in the order that rows have, in whichever it was typed."""
        rows = [[pair.partition("=")[0] for pair in name.split(",")] for name in self.rows]
        orders = {frozenset(words): words for words in reversed(rows)}
        named = []
        for trial in trials:
            values = {word_of(name): (name, value) for name, value in trial.tried.items()}
            words = orders.get(frozenset([*values, "seed"]), [*values])
            named.append(trial._replace(tried=dict(values[w] for w in words if w in values)))
        return named

    def missing(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the runs without a row or a model, but for those that would diverge again."""
        diverged = {name for name, row in self.rows.items() if row["stopped"] == "diverged"}
        done = diverged | {name for name in self.rows if self.model(name).exists()}
        return [trial for trial in trials if trial.name not in done]

    def check(self, material: Material, tried: Iterable[str]) -> None:
        """Raise ResumeError if a row has another corpus, or another setting that nobody tries."""
        for row in self.rows.values():
            had, wanted = row["fingerprint"][:12], material.record.fingerprint[:12]
            if had != wanted:
                what = f"{self.path} learned from another corpus (SHA-256 {had}) than this one"
                hint = "Give the same text, or begin a sweep in another folder."
                raise ResumeError(f"{what} ({wanted})", hint)
            old, new = row["settings"], {**material.reading, **material.learning}
            varied = {word_of(name) for name in tried}
            varied |= {pair.partition("=")[0] for pair in row["name"].split(",")}
            shared = [name for name in sorted({*old, *new}) if word_of(name) not in varied]
            old, new = ({name: settings.get(name) for name in shared} for settings in (old, new))
            check_agreement(self.path, old, new, "Give the same settings, or name another folder.")


def check_folder(path: Path, *, resume: bool) -> None:
    """Raise an error unless a sweep can begin in this folder, or go on."""
    check_name(path)
    rows_file = path / ROWS_FILE
    if resume and not rows_file.exists():
        raise ResumeError(f"{path} holds no sweep to resume", "Begin one first.")
    if not resume and os.path.lexists(rows_file):
        raise SaveError(f"{path} holds a sweep", "Resume it, or name another folder.")
    for folder in (path, *path.parents):
        if (folder.is_symlink() or folder.exists()) and not folder.is_dir():
            raise SaveError(f"{folder} is no folder", "Name another folder.")


@contextmanager
def open_folder(
    path: Path, *, resume: bool, only_read: bool = False, note: Note = lambda _: None
) -> Iterator[Folder]:
    """Make or open a folder, and read its rows; to go on, lock it and cut off a torn last line."""
    check_folder(path, resume=resume)
    rows_file = path / ROWS_FILE
    path.mkdir(parents=True, exist_ok=True)
    lock = nullcontext() if only_read else locked(rows_file, note)
    with lock, closing(LineFile(rows_file)) as file:
        folder, lines = Folder(path, file, {}), file.lines()
        whole = lines[:-1] if lines and is_torn(lines[-1]) else lines
        for number, line in enumerate(whole, 1):
            try:
                row = row_on(line)
                model = folder.model(row["name"])
                row["model"] = str(model) if row["model"] and model.exists() else None
                folder.rows[row["name"]] = row
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                what = f"line {number:,} of {rows_file} is not a row of a sweep"
                raise ResumeError(what, "Delete that line; its run is then repeated.") from error
        if not only_read:
            file.keep(whole, lines)
        yield folder


def row_on(line: bytes) -> Row:
    """Return the row on a line, or raise an exception if it is none. It may be a stranger's."""
    row: Row = json.loads(line)
    if row["schema"] == OLD_SCHEMA:
        row |= {"schema": SCHEMA, "fingerprint": row.pop("corpus")}
    for name, kind in ROW_KINDS.items():
        built(kind, row[name])
    is_ours = row["schema"] == SCHEMA and RUN_NAME.fullmatch(row["name"]) and row["settings"].items
    if not is_ours or (row["best"] and not math.isfinite(loss_of(row))):
        raise ValueError("not of a sweep")
    return row


def free_folder() -> Path:
    """Return the first of sweep, sweep-2, sweep-3 ... that does not exist."""
    names = itertools.chain(["sweep"], (f"sweep-{number}" for number in itertools.count(2)))
    return next(Path(name) for name in names if not os.path.lexists(name))


def rank(rows: Iterable[Row]) -> list[Row]:
    """Return a row for each combination of settings and for counting, the best first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = row["name"].partition("seed=")[0].rstrip(",") or "defaults"
        groups.setdefault(name, []).extend([row] if row["best"] else [])
    losses = {name: mean(map(loss_of, g)) if g else math.inf for name, g in groups.items()}
    names = sorted(groups, key=losses.__getitem__)
    best = next(name for name in names if name != COUNTING)
    ranking = []
    for name in names:
        group = sorted(groups[name], key=loss_of)
        difference, error = compare(group, groups[best])
        is_worse = difference > CLEAR_ERRORS * error or bool(groups[best] and not group)
        ranked = {"name": name, "nats_per_character": losses[name], "difference": difference}
        ranked |= {"standard_error": error, "clearly_worse": is_worse, "run_count": len(group)}
        ranked["seconds"] = mean(row["seconds"] for row in group) if group else math.nan
        ranking.append(ranked | {"model": group[0]["model"] if group else None})
    return ranking


def add_marks(ranking: Sequence[Row]) -> None:
    """Add to each row the choices for its best model, samples, and marks where rows differ."""
    for row in ranking:
        row |= {"parameters": None, "chosen": {}, "samples": [], "marks": []}
        if row["model"]:
            model = load(row["model"])
            row["parameters"] = model.parameters.architecture.parameter_count
            row["chosen"] = {name: getattr(model.config, name) for name in COLUMNS}
            row["samples"] = model.sample(2, max_characters=60, seed=0)  # of a long text the start
    trained = [row for row in ranking if row["model"]]
    for row in trained[:1]:
        row["marks"].append("best")
    for mark, key in (("smallest", "parameters"), ("fastest", "seconds")):
        least = min((row[key] for row in trained), default=None)
        if any(row[key] != least for row in trained):
            for row in trained:
                row["marks"] += [mark] * (row[key] == least)


def differing(ranking: Sequence[Row]) -> list[str]:
    """Return the settings that the corpus chose and that differ, but for those in the names."""
    chosen = [row["chosen"] for row in ranking if row["chosen"]]
    typed = {pair.partition("=")[0] for row in ranking for pair in row["name"].split(",")}
    names = [name for name in COLUMNS if word_of(name) not in typed]
    return [name for name in names if len({values[name] for values in chosen}) > 1]


def loss_of(row: Row) -> float:
    """Return the held-out loss of a run that has not failed."""
    return float(row["best"]["nats_per_character"])


def compare(rows: list[Row], best: list[Row]) -> tuple[float, float]:
    """Return the difference of two losses, and its standard error over blocks or seeds; or NaN."""
    by_seed = {row["seed"]: row for row in best}
    pairs = [(row, by_seed[row["seed"]]) for row in rows if row["seed"] in by_seed]
    if not pairs:
        return math.nan, math.nan
    of_seeds = [loss_of(row) - loss_of(best_row) for row, best_row in pairs]
    blocks = [[row["held_out_blocks"] for row in pair] for pair in pairs]
    of_blocks = [np.subtract(*pair) for pair in blocks if len(pair[0]) == len(pair[1])]
    samples = [of_seeds, list(np.mean(of_blocks, 0)) if of_blocks else []]
    errors = [stdev(sample) / math.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    return mean(of_seeds), max(errors, default=math.nan)


def counting_rows(baseline: Baseline, seeds: Iterable[int]) -> list[Row]:
    """Return the loss of counting as a row for each seed, to be ranked among the others."""
    best = {"step": None, "nats_per_character": baseline.nats_per_character}
    row = {"name": COUNTING, "best": best, "held_out_blocks": blocks_of(baseline.nats)}
    return [{**row, "seed": seed, "model": None, "seconds": 0.0} for seed in seeds]


def blocks_of(nats: NDArray[np.float64]) -> list[float]:
    return [round(float(part.mean()), 6) for part in np.array_split(nats, min(BLOCKS, len(nats)))]
