"""Sweeps from Python, which the command line can resume, and vice versa.

for result in charrnn.sweep(Path("names.txt"), {"hidden": [64, 128]}, folder="sizes", seeds=[0, 1]):
    print(result.name, result.nats_per_character)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from charrnn.corpus.corpus import Texts, check_texts, files_in
from charrnn.corpus.files import is_stream, name_of, place_of
from charrnn.errors import ResumeError, SettingError
from charrnn.runs import check_config
from charrnn.settings.fields import Whole, check, check_agreement, settings_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import FIXED, CorpusConfig
from charrnn.sweeping.folder import Folder, Record
from charrnn.sweeping.grid import Grid, Result, grid_of
from charrnn.sweeping.processes import Processes
from charrnn.sweeping.run import Ended, Material, Splits, plan_settings

PROCESSES = Whole(1, 1 << 12)


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

    Runs share the cores in processes of one thread each. Closing the iterator stops and saves
    them; ``resume`` makes the runs that are missing in the folder.
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
        record = Record(
            wanted, learning, Material(files, (), tuple(map(place_of, files)), {}, cutting)
        )
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
        raise ResumeError(
            f"{folder.path} holds out {name_of(source)}", "Resume it on the command line."
        )
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
            raise SettingError(f"{name} is tried, and also has one value", "Leave one of them out.")
    return changed


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
