"""Sweeps from Python, and the folder of a sweep, which both Python and the command line resume.

sweep.json        the settings, values and texts of the sweep, for --resume
sweep.jsonl       a row for each run that has ended; of several rows of a run the last one counts
NAME.npz          the model file of each run

for result in charrnn.sweep(Path("names.txt"), {"hidden": [64, 128]}, folder="sizes", seeds=[0, 1]):
    print(result.name, result.nats_per_character)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from charrnn import errors
from charrnn.corpus.corpus import Texts, check_texts, files_in
from charrnn.corpus.files import absolute_place, is_stream, name_of, place_of, relative_place
from charrnn.json_lines import LineFile, parse, read
from charrnn.model_file import checkpoint, saving
from charrnn.model_file.saving import locked, remedy
from charrnn.plan import fit_window
from charrnn.runs import check_config
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import Whole, check, check_agreement, settings_of
from charrnn.settings.training import FIXED, TrainConfig
from charrnn.sweeping.grid import Grid, Result, from_json, grid_of, value_in_words
from charrnn.sweeping.processes import Processes
from charrnn.sweeping.run import Ended, Material, Splits, Task, plan_settings
from charrnn.system import cores

SCHEMA = "charrnn.sweep.options/1"
RECORD, ROWS = "sweep.json", "sweep.jsonl"
CHOSEN = {*FIXED, "known", "reading"}  # settings that the sweep chooses itself
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
ANOTHER = "name another folder"
GROUPS = {"learning": TrainConfig, "reading": Reading, "cutting": CorpusConfig}
PROCESSES = Whole(1, 1 << 12)


@dataclass(frozen=True)
class Record:
    """The values, settings and texts of a sweep: the content of sweep.json."""

    grid: Grid
    learning: dict[str, Any]  # settings shared by all runs
    material: Material

    def extend(self, grid: Grid) -> Record:
        """Return the record with added values and seeds. Raise ResumeError if any are missing."""
        had = self.grid
        if set(grid.tried) != set(had.tried):
            names = ", ".join(had.tried) or "nothing but seeds"
            hint = "Try the same options, perhaps with more values, or use another folder."
            raise errors.ResumeError(f"the sweep in the folder tries {names}", hint)
        tried = {name: grid.tried[name] for name in had.tried}
        then = {**had.tried, "seeds": had.seeds}
        for name, values in {**tried, "seeds": grid.seeds}.items():
            kept = set(values)
            for value in then[name]:
                if value not in kept:
                    what = f"the sweep in the folder also tries {name} {value_in_words(value)}"
                    raise errors.ResumeError(what, "Values and seeds can be added but not removed.")
        return replace(self, grid=Grid(tried, grid.seeds))


class Folder:
    """The folder, and the results in it by the names of their runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, Result] = {}

    def model_of(self, name: str) -> Path:
        return self.path / f"{name}.npz"

    @property
    def has_sweep(self) -> bool:
        return (self.path / RECORD).exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the folder if needed, and keep other sweeps out of it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"{self.path} cannot be made: {error.strerror}"
            raise errors.SaveError(what, remedy(error, ANOTHER)) from error
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path / ROWS))
                saving.check_writable(self.path / RECORD, 0)
            except errors.ModelBusyError as error:
                what = f"another sweep is running in {self.path}"
                hint = "Wait until that sweep has ended, or name another folder."
                raise errors.ModelBusyError(what, hint) from error
            except errors.SaveError as error:
                raise errors.SaveError(error.what, remedy(error.__cause__, ANOTHER)) from error
            yield

    def check_free(self, grid: Grid) -> None:
        """Raise SaveError or ModelExistsError if a new sweep would replace a file."""
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise errors.SaveError(f"{self.path} is not a folder", "Name another one.")
        if self.has_sweep:
            what = f"{self.path} already holds a sweep"
            raise errors.ModelExistsError(what, "Resume it, or name another folder.")
        for path in (self.path / ROWS, *(self.model_of(trial.name) for trial in grid.trials)):
            if os.path.lexists(path):
                what = f"{path} already exists and belongs to no sweep"
                raise errors.SaveError(what, "Name another folder.")

    def write_record(self, record: Record) -> None:
        path, m = self.path / RECORD, record.material
        start = m.start_from
        whole = {
            "schema": SCHEMA,
            "sources": m.sources,
            "valid": m.valid,
            "places": [relative_place(path, place) for place in m.places],
            "learning": record.learning,
            "reading": m.reading,
            "cutting": m.cutting,
            "start_from": None if start is None else relative_place(path, place_of(start)),
            "fingerprint": m.fingerprint,
            "tried": dict(record.grid.tried),
            "seeds": record.grid.seeds,
        }
        text = (json.dumps(whole, indent=2) + "\n").encode()
        try:
            saving.replace(path, len(text), [text])
        except errors.SaveError as error:
            raise errors.SaveError(error.what, remedy(error.__cause__, ANOTHER)) from error

    def read_record(self) -> Record:
        path = self.path / RECORD
        try:
            whole = read(path)
            if whole["schema"] != SCHEMA:
                raise ValueError("another schema")
            start = whole["start_from"]
            sources, valid, ways = (strings(whole[name]) for name in ("sources", "valid", "places"))
            grid = grid_of(whole["tried"], whole["seeds"])
            groups = {name: dict(whole[name]) for name in GROUPS}
            if any(not CHOSEN.isdisjoint(group) for group in groups.values()):
                raise ValueError("a setting that the sweep chooses itself")
            for tried in grid.combinations:
                for name, config in GROUPS.items():  # which checks the values
                    config(**groups[name], **(tried if name == "learning" else {}))
            places = tuple(absolute_place(path, way) for way in ways)
            named = zip(sources + valid, places, strict=True)
            files = tuple(place or name for name, place in named)
            start = None if start is None else absolute_place(path, strings([start])[0])
            learning, reading, cutting = groups.values()
            fingerprint, n = str(whole["fingerprint"]), len(sources)
            material = Material(
                sources, valid, places, reading, cutting, start, fingerprint, files[:n], files[n:]
            )
            return Record(grid, learning, material)
        except FileNotFoundError:
            what = f"{self.path} holds no sweep to resume"
            raise errors.ResumeError(what, "Start one there first.") from None
        except (*UNREADABLE, errors.CharrnnError) as error:
            what = f"{path} is damaged: its settings or texts cannot be read"
            raise errors.ResumeError(what, "Begin the sweep anew in another folder.") from error

    def read_rows(self) -> None:
        """Read the results. A torn last row is skipped; ``add`` cuts it off."""
        path = self.path / ROWS
        if not path.exists():
            return
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
            try:
                result = from_json(parse(line))
                grid_of({name: [value] for name, value in result.settings.items()}, [result.seed])
            except (*UNREADABLE, errors.SettingError) as error:
                what = f"{path} is damaged: line {number:,} is not a row of a sweep"
                hint = "Delete that line; its run is then repeated."
                raise errors.ResumeError(what, hint) from error
            self.results[result.name] = result

    def forget_lost(self) -> None:
        """Drop results without their model files, so that their runs are repeated."""
        for result in [*self.results.values()]:
            if result.model is not None and not self._has_model_of(result):
                del self.results[result.name]

    def _has_model_of(self, result: Result) -> bool:
        """Raise ResumeError if the model file is damaged or belongs to another run."""
        path = self.model_of(result.name)
        hint = "Move the file away; its run is then repeated."
        if not path.exists():
            return False
        try:
            run = checkpoint.load(path)
        except errors.ModelFileError as error:
            raise errors.ResumeError(error.what, hint) from error
        learned = asdict(run.config)
        wanted = learned | result.settings | {"seed": result.seed}
        symbols = run.corpus.characters + run.corpus.examples  # each example has an END
        bptt = wanted["bptt"] or learned["bptt"]  # 0 stands for the longest example
        wanted["bptt"], wanted["batch"] = fit_window(bptt, wanted["batch"], symbols)
        if wanted != learned:
            raise errors.ResumeError(f"{path} has other settings than its row in {ROWS}", hint)
        return True

    def add(self, result: Result) -> None:
        """Append a row that outlasts a power cut. Raise SaveError if it cannot be written."""
        path = self.path / ROWS
        try:
            with closing(LineFile.at(path)) as file:
                file.cut_torn_line()
                file.append(result.as_json())
                file.sync()
        except OSError as error:
            what = f"{path} cannot be written: {error.strerror or error}"
            hint = f"{remedy(error, 'make the file writable')} Then resume the sweep."
            raise errors.SaveError(what, hint) from error
        self.results[result.name] = result

    def result_of(self, name: str) -> Result | None:
        """Return the result of a run, with the path of its model as seen from here."""
        result = self.results.get(name)
        if result is None or result.model is None:
            return result
        return replace(result, model=str(self.model_of(name)))

    def is_done(self, name: str) -> bool:
        """Whether a run need not be repeated. A run that diverged would only diverge again."""
        return name in self.results and self.results[name].stopped != "failed"

    def tasks(self, record: Record) -> list[Task]:
        """Return the runs that are not done yet."""
        return [
            Task(trial, record.learning, str(self.model_of(trial.name)))
            for trial in record.grid.trials
            if not self.is_done(trial.name)
        ]


def strings(values: object) -> tuple[str, ...]:
    """Return a list of strings, names of files, as a tuple. Raise TypeError for anything else."""
    if not isinstance(values, list) or any(type(v) is not str or "\0" in v for v in values):
        raise TypeError("not a list of names")
    return tuple(values)


def sweep(
    texts: Texts,
    tried: Mapping[str, Iterable[Any]],
    *,
    folder: str | PathLike[str],
    seeds: Iterable[int] = (0,),
    config: TrainConfig | None = None,
    holdout: float = 0.1,
    processes: int | None = None,
    resume: bool = False,
) -> Iterator[Result]:
    """Train with each combination of values from each seed, and yield each result as its run ends.

    Runs share the cores in processes of one thread each. Closing the iterator stops and saves them.
    A result has a name, settings, seed, best_step, nats_per_character, model (a path), seconds,
    stopped (why the run ended) and error.

    texts: An iterable of str, each an example; or a path or paths of files with examples.
    tried: The values to try for settings of TrainConfig, by name: {"hidden": [32, 64]}.
    folder: The folder for a model file of each run and the table of results, sweep.jsonl.
    seeds: The seeds that each combination is trained from, whole numbers from 0; default: 0 alone.
    config: A TrainConfig with the other settings, or None: the defaults.
    holdout: The fraction that is held out to measure the loss, from 0 to below 1; default: 0.1.
    processes: How many runs at once, from 1 to 4,096, or None: as many as there are cores.
    resume: Make the runs that are missing in the folder; default: False.
    """
    there = Folder(Path(folder))
    wanted = grid_of(tried, seeds)
    processes = cores() if processes is None else check("processes", processes, PROCESSES)
    files = files_in(texts)
    learning = changed_settings(TrainConfig() if config is None else check_config(config), wanted)
    cutting = {"holdout": holdout}
    if resume:
        record = resume_record(there, wanted, learning, cutting)
    else:
        places = tuple(map(place_of, files))
        record = Record(wanted, learning, Material(files, (), places, {}, cutting))
    given = None if files else tuple(check_texts(texts))
    material = replace(record.material, files=files, texts=given)
    splits = Splits(material)
    for settings in wanted.combinations:
        plan_settings(settings, wanted, record.learning, splits)
    fingerprint = splits.of(wanted.seeds[0]).corpus.fingerprint
    record = replace(record, material=replace(material, fingerprint=fingerprint))
    return _results(there, record, processes, resume)


def _results(folder: Folder, record: Record, processes: int, resume: bool) -> Iterator[Result]:
    with folder.lock():
        if resume:
            folder.read_rows()
            folder.forget_lost()
        else:
            folder.check_free(record.grid)
        folder.write_record(record)
        with Processes(record.material, processes) as running:
            for event in running.events(folder.tasks(record)):
                if isinstance(event, Ended):
                    folder.add(event.result)
                    yield event.result


def resume_record(
    folder: Folder, wanted: Grid, learning: dict[str, Any], cutting: dict[str, Any]
) -> Record:
    """Return the record of the folder with added values. Raise ResumeError for other settings.

    Settings that only the command line has, such as --valid, stay as they are.
    """
    had = folder.read_record()
    for source in filter(is_stream, had.material.valid):
        what = f"{folder.path} holds out {name_of(source)}"
        raise errors.ResumeError(what, "Resume it on the command line.")
    hint = "Give the same settings, or use another folder."
    for kind, before, now in (
        (TrainConfig, had.learning, learning),
        (CorpusConfig, had.material.cutting, had.material.cutting | cutting),
    ):
        check_agreement(folder.path, all_settings(kind, before), all_settings(kind, now), hint)
    return had.extend(wanted)


def all_settings(config: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: the given ones, and the defaults of the others."""
    return {name: given.get(name, one.default) for name, one in settings_of(config).items()}


def changed_settings(config: TrainConfig, wanted: Grid) -> dict[str, Any]:
    """Return the settings that differ from their defaults. Raise SettingError if one is tried."""
    defaults = all_settings(TrainConfig, {})
    changed = {
        name: getattr(config, name)
        for name, default in defaults.items()
        if name not in FIXED and getattr(config, name) != default
    }
    for name in wanted.tried:
        if name in changed:
            what = f"{name} is tried, and also has one value"
            raise errors.SettingError(what, "Leave one of them out.")
    return changed
