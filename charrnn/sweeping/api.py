"""A sweep from Python: every combination of some settings, a result as each run ends.

for result in charrnn.sweep(Path("names.txt"), {"hidden": [64, 128]}, folder="sizes", seeds=[0, 1]):
    print(result.name, result.nats_per_character)

It is the sweep of the command line: either goes on with what the other began.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from charrnn.corpus.files import is_stream, name_of
from charrnn.errors import ResumeError, SettingError
from charrnn.model import checked
from charrnn.settings.corpus import CorpusConfig
from charrnn.settings.fields import settings_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import FIXED
from charrnn.sweeping import grid
from charrnn.sweeping.folder import Folder, Options, grown, places_of
from charrnn.sweeping.grid import Result
from charrnn.sweeping.processes import Processes
from charrnn.sweeping.run import Ended, Material, Splits, Task, planned

Texts = Iterable[str] | Path | Sequence[Path]


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
    """The results of all runs, as they end, in processes of one thread each, as many as there are
    cores. Whoever stops asking stops them, saved; ``resume`` makes what is missing.
    """
    there = Folder(Path(folder))
    wanted = grid.checked(tried, seeds)
    files, given = files_or_texts(texts)
    learning = changed(config or TrainConfig(), wanted)
    cutting = {"holdout": holdout}
    if resume:
        options = gone_on_with(there, wanted, learning, cutting)
    else:
        options = Options(wanted, files, (), places_of(files), learning, {}, cutting, None, "")
    material = Material(
        files,
        options.files[1],
        names=options.sources,
        valid_names=options.valid,
        places=options.places,
        texts=given,
        reading=options.reading,
        cutting=options.cutting,
        start_from=options.start_from,
        fingerprint=options.fingerprint,
    )
    splits = Splits(material)
    for settings in wanted.combinations:
        planned(settings, wanted, options.learning, splits)
    found = splits.of(wanted.seeds[0]).corpus.fingerprint
    options = replace(options, fingerprint=found)
    material = replace(material, fingerprint=found)
    return _results(there, options, material, processes or cores(), resume)


def _results(
    folder: Folder, options: Options, material: Material, processes: int, resume: bool
) -> Iterator[Result]:
    with folder.held():
        if resume:
            folder.read_rows()
            folder.forget_lost()
        else:
            folder.check_free(options.grid)
        folder.write_options(options)
        trials = [one for one in options.grid.trials if not folder.is_done(one.name)]
        tasks = [Task(one, options.learning, str(folder.model_of(one.name))) for one in trials]
        with Processes(material, processes) as at_work:
            for event in at_work.events(tasks):
                if isinstance(event, Ended):
                    folder.add(event.result)
                    yield event.result


def gone_on_with(
    folder: Folder, wanted: grid.Grid, learning: dict[str, Any], cutting: dict[str, Any]
) -> Options:
    """The sweep in the folder, with what is added; ResumeError where it is to be another one.

    What only the command line can ask for, such as a text to hold out, stays as it was.
    """
    had = folder.read_options()
    for gone in filter(is_stream, had.valid):
        raise ResumeError(
            f"{folder.path} held out {name_of(gone)}", "Go on with it on the command line."
        )
    if (whole(TrainConfig, had.learning), whole(CorpusConfig, had.cutting)) != (
        whole(TrainConfig, learning),
        whole(CorpusConfig, had.cutting | cutting),
    ):
        raise ResumeError(
            f"the sweep in {folder.path} was begun with other settings",
            "Give the same, or sweep anew into another folder.",
        )
    return grown(had, wanted)


def files_or_texts(texts: Texts) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The names of files, or else the texts."""
    if isinstance(texts, str):
        raise SettingError(
            "a str is one text, and a corpus has many",
            f"Give a list of texts, or Path({texts[:40]!r}) to read a file.",
        )
    if isinstance(texts, Path):
        texts = [texts]
    if isinstance(texts, Sequence) and texts and all(isinstance(one, Path) for one in texts):
        return tuple(map(str, texts)), None
    return (), tuple(checked(texts))


def whole(config: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, those that were not given as they usually are."""
    return {name: given.get(name, one.default) for name, one in settings_of(config).items()}


def changed(config: TrainConfig, wanted: grid.Grid) -> dict[str, Any]:
    """What a configuration says that differs from what is usual."""
    usual = whole(TrainConfig, {})
    given = {name: getattr(config, name) for name in usual if name not in FIXED}
    said = {name: value for name, value in given.items() if value != usual[name]}
    for name in said:
        if name in wanted.tried:
            raise SettingError(
                f"{name} is tried, and given one value as well", "Leave one of them out."
            )
    return said


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
