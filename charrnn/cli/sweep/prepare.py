"""Prepare a sweep: read the corpus and plan all runs, so that errors come before any run begins."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from charrnn import system
from charrnn.cli.console import Console
from charrnn.cli.errors import in_words_of_the_command_line, option_for, typed
from charrnn.cli.sweep.options import Options
from charrnn.cli.train.prepare import check_checkups, model_to_start_from
from charrnn.corpus.checks import Warned, warnings
from charrnn.corpus.files import byte_blocks, is_stream, model_at, name_of, place_of
from charrnn.errors import CorpusError, ModelFileError, NewerModelError, ResumeError, SettingError
from charrnn.plan import check_memory, text_bytes
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import check_agreement, settings_of
from charrnn.settings.training import TrainConfig
from charrnn.sweeping.grid import Result, Trial, grid_of, in_words
from charrnn.sweeping.run import Material, Planned, Split, Splits, estimate_seconds, plan_settings
from charrnn.sweeping.sweep import Folder, Record

Tried = dict[str, tuple[Any, ...]]

ELSEWHERE = "Leave it out to resume, or begin a sweep in another folder with -o."


def new_record(options: Options, tried: Tried) -> Record:
    texts, path = (options.sources, options.valid), options.start_from
    start = None if path is None else place_of(model_at(path)) or str(path)
    places = tuple(map(place_of, (*options.sources, *options.valid)))
    material = Material(*texts, places, options.reading, options.cutting, start, "", *texts)
    return Record(grid_of(tried, options.seeds or (0,)), options.learning, material)


def resume_record(options: Options, tried: Tried, folder: Folder) -> Record:
    """Return the record of the folder with added values. Raise ResumeError for other settings."""
    had = folder.read_record()
    m = had.material
    for config, wanted, recorded in (
        (TrainConfig, options.learning, had.learning),
        (Reading, options.reading, m.reading),
        (CorpusConfig, options.cutting, m.cutting),
    ):
        for name in wanted:
            if name in had.grid.tried:
                raise ResumeError(f"{option_for(name)} is tried in {folder.path}", ELSEWHERE)
        before = {name: recorded.get(name, s.default) for name, s in settings_of(config).items()}
        check_agreement(folder.path, before, wanted, ELSEWHERE, show=typed)
    start = options.start_from
    if start is not None and place_of(model_at(start)) != m.start_from:
        raise ResumeError(f"--from {start} contradicts {folder.path}", ELSEWHERE)
    check_streams(m, options, folder)
    grid = grid_of(tried or had.grid.tried, options.seeds or had.grid.seeds)
    if options.sources and not all(map(os.path.exists, (*m.files, *m.valid_files))):
        valid = options.valid or m.valid  # the corpus has moved
        places = tuple(map(place_of, (*options.sources, *valid)))
        m = replace(m, sources=options.sources, valid=valid, places=places)
    files, valid_files = options.sources or m.files, options.valid or m.valid_files
    m = replace(m, files=files, valid_files=valid_files)
    return replace(had.extend(grid), material=m)


@dataclass(frozen=True)
class PreparedSweep:
    folder: Folder
    record: Record
    split: Split  # of the first seed
    combinations: list[Planned]
    warnings: list[Warned]
    at_once: int = 1  # the number of runs

    @property
    def largest(self) -> int:
        """The bytes of memory of the largest run."""
        return max(combination.plan.memory_bytes for combination in self.combinations)

    @property
    def trials(self) -> list[Trial]:
        return self.record.grid.trials

    @property
    def missing(self) -> list[Trial]:
        return [task.trial for task in self.folder.tasks(self.record)]

    @property
    def results(self) -> list[Result]:
        return [*filter(None, (self.folder.result_of(trial.name) for trial in self.trials))]

    def seconds_of(self, trial: Trial) -> float:
        return next(c.seconds for c in self.combinations if c.settings == trial.settings)

    @property
    def seconds_left(self) -> float:
        each = [self.seconds_of(trial) for trial in self.missing]
        return max(sum(each) / max(1, min(self.at_once, len(each))), max(each, default=0.0))


def prepare_sweep(
    options: Options, tried: Tried, folder: Folder, spool: Path, console: Console
) -> PreparedSweep:
    """Return the sweep. Texts from pipes are copied to ``spool``, to be read more than once."""
    console.note_if_waiting((*options.sources, *options.valid))
    record = resume_record(options, tried, folder) if options.resume else new_record(options, tried)
    files, valid_files = (
        tuple(on_disk(name, spool) for name in names)
        for names in (record.material.files, record.material.valid_files)
    )
    material = replace(record.material, files=files, valid_files=valid_files)
    model_to_start_from(options.start_from, console)  # for its notes and its hint on --from
    try:
        splits = Splits(material)
    except NewerModelError:
        raise
    except ModelFileError as error:  # the model was there when the sweep began
        hint = "Put back the model to start from, or begin a sweep in another folder."
        raise ModelFileError(error.what, hint, "start from") from error
    split = splits.of(record.grid.seeds[0])
    plans = [plan_of(settings, record, splits) for settings in record.grid.combinations]
    seconds = estimate_seconds([each.plan for each in plans], split.corpus)
    plans = [replace(each, seconds=took) for each, took in zip(plans, seconds, strict=True)]
    material = replace(material, fingerprint=split.corpus.fingerprint)
    record = replace(record, material=material)
    return PreparedSweep(folder, record, split, plans, warnings(split.corpus))


def check_streams(had: Material, options: Options, folder: Folder) -> None:
    """Raise an error if a text cannot be read again and is not named."""
    if not options.sources and not had.sources:
        hint = "Resume it in Python: charrnn.sweep(..., resume=True)."
        raise ResumeError(f"{folder.path} was trained on texts from Python", hint)
    for verb, hint, named, sources in (
        ("learned from", "CORPUS, or - for standard input", options.sources, had.sources),
        ("held out", "--valid FILE, or --valid - for standard input", options.valid, had.valid),
    ):
        stream = next(filter(is_stream, sources), None)
        if stream is not None and not named:
            what = f"{folder.path} {verb} {name_of(stream)}, which cannot be read again"
            raise CorpusError(what, f"Give it the same text again: {hint}.")


def plan_of(settings: dict[str, Any], record: Record, splits: Splits) -> Planned:
    """Return the plan of a combination. Errors name the combination."""
    try:
        planned = plan_settings(settings, record.grid, record.learning, splits)
        config = planned.plan.config
        check_checkups(config, (planned.plan.steps or 0) // config.check_every + 1)
    except SettingError as error:
        what, hint = in_words_of_the_command_line(error)
        raise SettingError(f"{in_words(settings)}: {what}" if settings else what, hint) from error
    corpus = splits.of(record.grid.seeds[0]).corpus
    hint = "" if record.material.start_from is None else "Try a smaller [batch] or [bptt]."
    check_memory(planned.plan.memory_bytes, system.available(), text_bytes(corpus), hint)
    return planned


def runs_in_memory(at_once: int, sweep: PreparedSweep) -> int:
    """Return how many of the largest runs fit into memory: from one to ``at_once``."""
    available = system.available()
    if available is None:
        return at_once
    here = text_bytes(sweep.split.corpus)  # this process holds the corpus, too
    return max(1, min(at_once, (available - here) // sweep.largest))


def on_disk(name: str, spool: Path) -> str:
    """Return a file that can be read again: the same, or a copy of what a pipe holds."""
    with suppress(OSError, ValueError):
        if name != "-" and not stat.S_ISFIFO(os.stat(name).st_mode):
            return name
    if name != "-" and not os.path.exists(name):
        return name  # a corpus of the package, or a missing file, which is reported on reading
    path = spool / str(len(list(spool.iterdir())))
    with path.open("wb") as file:
        for block in byte_blocks(name):
            file.write(block)
    return str(path)
