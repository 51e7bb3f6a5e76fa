"""The folder of a sweep: what is to be done, a row for each run that is over, and the models.

sweep.json        what is tried, on what and how: so that it can be gone on with
sweep.jsonl       a row a run, as it ends; a run that was made again has its last row
NAME.npz          a model file a run
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from charrnn.corpus.files import path_of, place_of, reached_from, seen_from
from charrnn.errors import (
    CharrnnError,
    ModelBusyError,
    ModelExistsError,
    ModelFileError,
    ResumeError,
    SaveError,
)
from charrnn.model_file import checkpoint, saving
from charrnn.model_file.saving import locked
from charrnn.plan import filled
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.training import TrainConfig
from charrnn.sweeping.grid import Grid, Result, checked, from_json, value_in_words

SCHEMA = "charrnn.sweep.options/1"
OPTIONS, ROWS = "sweep.json", "sweep.jsonl"
SETTINGS = {TrainConfig: "learning", Reading: "reading", CorpusConfig: "cutting"}


@dataclass(frozen=True)
class Options:
    """What a sweep was begun with."""

    grid: Grid
    sources: tuple[str, ...]  # as they were named
    valid: tuple[str, ...]
    places: tuple[str, ...]  # of both, where they are
    learning: dict[str, Any]
    reading: dict[str, Any]
    cutting: dict[str, Any]
    start_from: str | None
    fingerprint: str

    @property
    def files(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What to read for sources and valid, from whatever folder."""
        names = (*self.sources, *self.valid)
        files = [place or path_of(name) for name, place in zip(names, self.places, strict=True)]
        first = len(self.sources)
        return tuple(files[:first]), tuple(files[first:])


def places_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Where files are."""
    return tuple(map(place_of, names))


class Folder:
    """The folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, Result] = {}  # by the names of the runs
        self._half = 0  # bytes of a row that was cut short

    def model_of(self, name: str) -> Path:
        """The model file of the run of that name."""
        return self.path / f"{name}.npz"

    @property
    def is_begun(self) -> bool:
        """Whether there is a sweep in it."""
        return (self.path / OPTIONS).exists()

    @contextmanager
    def held(self) -> Iterator[None]:
        """It is made if it is not there, and nobody else sweeps into it in here."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SaveError(
                f"{self.path} cannot be made: {error.strerror}", "Name another folder."
            ) from error
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path / ROWS))
                saving.check_writable(self.path / OPTIONS, 0)
            except ModelBusyError as error:
                what = f"another sweep is at work in {self.path}"
                hint = "Wait until that one has ended, or name another folder."
                raise ModelBusyError(what, hint, "folder") from error
            except SaveError as error:
                hint = "Name a folder that can be written to."
                raise SaveError(error.what, hint) from error
            yield

    def check_free(self, grid: Grid) -> None:
        """Raise where a sweep into it would take the place of a file."""
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise SaveError(f"{self.path} is not a folder", "Name another one.")
        if self.is_begun:
            raise ModelExistsError(
                f"{self.path} holds a sweep already", "Go on with it, or name another folder."
            )
        for path in (self.path / ROWS, *(self.model_of(one.name) for one in grid.trials)):
            if os.path.lexists(path):
                raise SaveError(
                    f"{path} is there already, and is of no sweep", "Name another folder."
                )

    def write_options(self, options: Options) -> None:
        """Write what is to be done."""
        way = [seen_from(self.path / OPTIONS, place) for place in options.places]
        start = None
        if options.start_from is not None:
            start = seen_from(self.path / OPTIONS, place_of(options.start_from))
        whole = {
            "schema": SCHEMA,
            **{name: value for name, value in asdict(options).items() if name != "grid"},
            "tried": dict(options.grid.tried),
            "seeds": options.grid.seeds,
            "places": way,
            "start_from": start,
        }
        text = (json.dumps(whole, indent=2) + "\n").encode()
        saving.replace(self.path / OPTIONS, len(text), [text])

    def read_options(self) -> Options:
        """What the sweep in it was begun with."""
        path = self.path / OPTIONS
        try:
            whole: Mapping[str, Any] = json.loads(path.read_bytes())
            if whole["schema"] != SCHEMA:
                raise ValueError("of another kind")
            start = whole["start_from"]
            sources, valid, ways = (strings(whole[name]) for name in ("sources", "valid", "places"))
            if len(ways) != len(sources) + len(valid):
                raise ValueError("not a place for each file")
            grid = checked(whole["tried"], whole["seeds"])
            for tried in grid.combinations:
                for config, name in SETTINGS.items():  # which checks them
                    config(**whole[name], **(tried if config is TrainConfig else {}))
            return Options(
                grid,
                sources,
                valid,
                tuple(reached_from(path, way) for way in ways),
                dict(whole["learning"]),
                dict(whole["reading"]),
                dict(whole["cutting"]),
                None if start is None else reached_from(path, start),
                str(whole["fingerprint"]),
            )
        except FileNotFoundError:
            raise ResumeError(
                f"there is no sweep in {self.path} to go on with", "Begin one in it first."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, CharrnnError) as error:
            raise ResumeError(
                f"{path} is damaged: it does not say what is to be done",
                "Sweep anew into another folder.",
            ) from error

    def read_rows(self) -> None:
        """Find the results that there are; half a row at the end gives way to the next one."""
        path = self.path / ROWS
        if not path.exists():
            return
        *lines, half = path.read_bytes().split(b"\n")
        self._half = len(half)
        for number, line in enumerate(lines, 1):
            try:
                result = from_json(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ResumeError(
                    f"{path} is damaged: line {number:,} is no row of a sweep",
                    "Take the line away, and its run is made again.",
                ) from error
            self.results[result.name] = result

    def forget_lost(self) -> None:
        """Drop the results whose model files are gone: their runs are to be made again."""
        for result in [*self.results.values()]:
            if result.model is not None and not self._has_model_of(result):
                del self.results[result.name]

    def _has_model_of(self, result: Result) -> bool:
        """Whether its file is there; ResumeError where that is damaged, or of another run."""
        path = self.model_of(result.name)
        hint = "Take the file away, and its run is made again."
        if not path.exists():
            return False
        try:
            run = checkpoint.load(path)
        except ModelFileError as error:
            raise ResumeError(error.what, hint) from error
        learned = asdict(run.config)
        wanted = learned | result.settings | {"seed": result.seed}
        symbols = run.corpus.characters + run.corpus.examples  # each of which has an END
        asked = wanted["bptt"] or learned["bptt"]  # 0 is as long as the longest example
        wanted["bptt"], wanted["batch"] = filled(asked, wanted["batch"], symbols)
        if wanted != learned:
            raise ResumeError(f"{path} is a model of other settings than its row has", hint)
        return True

    def add(self, result: Result) -> None:
        """Write a row, so that it outlasts a power cut."""
        self.results[result.name] = result
        row = json.dumps(result.as_json(), allow_nan=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        file = os.open(self.path / ROWS, flags, 0o666)
        try:
            if self._half:
                os.ftruncate(file, os.fstat(file).st_size - self._half)
                self._half = 0
            os.write(file, row.encode())
            os.fsync(file)
        finally:
            os.close(file)

    def seen(self, name: str) -> Result | None:
        """The result of that run, if there is one; its model file by the name it has from here."""
        result = self.results.get(name)
        if result is None or result.model is None:
            return result
        return replace(result, model=str(self.model_of(name)))

    def is_done(self, name: str) -> bool:
        """Whether that run need not be made again; one that can only diverge again is done."""
        return name in self.results and self.results[name].stopped != "failed"


def strings(given: object) -> tuple[str, ...]:
    """Some strings; TypeError where there is anything else."""
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise TypeError("not a list of strings")
    return tuple(given)


def grown(had: Options, grid: Grid) -> Options:
    """The same with more values and seeds; ResumeError where some are missing, or others."""
    if set(grid.tried) != set(had.grid.tried):
        names = ", ".join(had.grid.tried) or "nothing but seeds"
        raise ResumeError(
            f"the sweep in the folder tries {names}",
            "Try the same, perhaps with more values, or sweep anew into another folder.",
        )
    tried = {name: grid.tried[name] for name in had.grid.tried}
    pairs = [*((tried[name], had.grid.tried[name]) for name in tried), (grid.seeds, had.grid.seeds)]
    for name, (now, then) in zip([*tried, "seeds"], pairs, strict=True):
        missing = [value for value in then if value not in now]
        if missing:
            raise ResumeError(
                f"the sweep in the folder tries {name} {value_in_words(missing[0])} as well",
                "Values and seeds can be added, not taken away.",
            )
    return replace(had, grid=Grid(tried, grid.seeds))
