"""A sweep made ready: the corpus read, every combination of settings looked at, the plan shown.

Whatever can be known to fail is found out here, before the first run begins.

What a sweep is begun with, and what may be asked of one that is gone on with.

Values and seeds may be added. Whatever else is given has to be what it was, and so has the corpus,
or its runs could not be compared."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn import system
from charrnn.cli.console import Console
from charrnn.cli.errors import in_words_of_the_command_line, option_for
from charrnn.cli.train.prepare import check_checkups, model_to_start_from
from charrnn.corpus.checks import Warned, warnings
from charrnn.corpus.files import byte_blocks, is_stream, name_of, place_of
from charrnn.errors import CorpusError, ModelFileError, NewerModelError, ResumeError, SettingError
from charrnn.plan import check_memory, text_bytes
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import settings_of
from charrnn.settings.training import TrainConfig
from charrnn.sweeping.folder import Folder, grown, places_of
from charrnn.sweeping.folder import Options as Begun
from charrnn.sweeping.grid import Grid, Trial, in_words, value_in_words
from charrnn.sweeping.run import Material, Planned, Split, Splits, Task, planned, seconds_of

if TYPE_CHECKING:
    from charrnn.cli.sweep.options import Options


ELSEWHERE = "Leave it out to go on, or sweep anew into another folder with -o."


def begun_with(options: Options, tried: dict[str, tuple[Any, ...]]) -> Begun:
    """What a new sweep is to be."""
    start = options.start_from
    return Begun(
        Grid(tried, options.seeds or (0,)),
        options.sources,
        options.valid,
        places_of((*options.sources, *options.valid)),
        options.learning,
        options.reading,
        options.cutting,
        None if start is None else place_of(str(start)) or str(start),
        "",
    )


def gone_on_with(options: Options, tried: dict[str, tuple[Any, ...]], folder: Folder) -> Begun:
    """The sweep in the folder, with what is added; ResumeError where it is to be another one."""
    had = folder.read_options()
    given = [
        (TrainConfig, options.learning, had.learning),
        (Reading, options.reading, had.reading),
        (CorpusConfig, options.cutting, had.cutting),
    ]
    for config, wanted, then in given:
        for name, value in wanted.items():
            if name in had.grid.tried:
                raise ResumeError(f"{option_for(name)} is tried in {folder.path}", ELSEWHERE)
            usual = settings_of(config)[name].default
            if value != then.get(name, usual):
                shown = options_in_words(name, then[name]) if name in then else "left it open"
                raise ResumeError(
                    f"{typed(name, value)} contradicts {folder.path}, which has {shown}",
                    ELSEWHERE,
                )
    start = options.start_from
    if start is not None and place_of(str(start)) != had.start_from:
        raise ResumeError(f"--from {start} contradicts {folder.path}", ELSEWHERE)
    seeds = options.seeds or had.grid.seeds
    return named_anew(grown(had, Grid(tried or had.grid.tried, seeds)), options)


def named_anew(had: Begun, options: Options) -> Begun:
    """The same with the names that the corpus has now, if it is no longer where it was."""
    if not options.sources or all(os.path.exists(one) for part in had.files for one in part):
        return had
    valid = options.valid or had.valid
    places = places_of((*options.sources, *valid))
    return Begun(**{**vars(had), "sources": options.sources, "valid": valid, "places": places})


def typed(name: str, value: object) -> str:
    """A setting as it is typed."""
    shown = options_in_words(name, value)
    return shown if isinstance(value, bool) else f"{option_for(name)} {shown}"


def options_in_words(name: str, value: object) -> str:
    """Its value; where there are but two, the option that stands for it."""
    if isinstance(value, bool):
        return option_for(name, denied=not value)
    return value_in_words(value)


@dataclass(frozen=True)
class PreparedSweep:
    """A sweep that may begin."""

    folder: Folder
    begun: Begun
    material: Material
    split: Split  # of the first seed
    combinations: list[Planned]
    warnings: list[Warned]
    at_once: int = 1  # how many runs

    @property
    def largest(self) -> int:
        """The bytes of memory that the largest run takes."""
        return max(one.plan.memory_bytes for one in self.combinations)

    @property
    def trials(self) -> list[Trial]:
        """All runs of it."""
        return self.begun.grid.trials

    @property
    def missing(self) -> list[Trial]:
        """Those that are still to be made."""
        return [one for one in self.trials if not self.folder.is_done(one.name)]

    @property
    def tasks(self) -> list[Task]:
        """What is to be done."""
        of = self.folder.model_of
        return [Task(one, self.begun.learning, str(of(one.name))) for one in self.missing]

    def seconds_of(self, trial: Trial) -> float:
        """What that run will take."""
        return next(one.seconds for one in self.combinations if one.settings == trial.settings)

    @property
    def seconds_left(self) -> float:
        """What all will take that is still to be done."""
        each = [self.seconds_of(one) for one in self.missing]
        return max(sum(each) / max(1, min(self.at_once, len(each))), max(each, default=0.0))


def prepared(
    options: Options,
    tried: dict[str, tuple[Any, ...]],
    folder: Folder,
    spool: Path,
    console: Console,
) -> PreparedSweep:
    """The sweep; the text of a pipe goes into a file of ``spool``, to be read more than once."""
    console.note_if_waiting((*options.sources, *options.valid))
    if options.resume:
        begun = gone_on_with(options, tried, folder)
        files = read_again(begun, options, folder)
    else:
        begun = begun_with(options, tried)
        files = options.sources, options.valid
    read, read_valid = (tuple(on_disk(name, spool) for name in names) for names in files)
    material = Material(
        read,
        read_valid,
        names=begun.sources,
        valid_names=begun.valid,
        places=begun.places,
        reading=begun.reading,
        cutting=begun.cutting,
        start_from=begun.start_from,
        fingerprint=begun.fingerprint,
    )
    splits = splits_of(material, options, console)
    split = splits.of(begun.grid.seeds[0])
    found = [looked_at(settings, begun, splits) for settings in begun.grid.combinations]
    seconds = seconds_of([one.plan for one in found], split.corpus)
    found = [replace(one, seconds=took) for one, took in zip(found, seconds, strict=True)]
    begun = replace(begun, fingerprint=split.corpus.fingerprint)
    material = replace(material, fingerprint=split.corpus.fingerprint)
    return PreparedSweep(folder, begun, material, split, found, warnings(split.corpus))


def read_again(
    begun: Begun, options: Options, folder: Folder
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to read for sources and valid; an error where that is nothing which is still there."""
    if not options.sources and not begun.sources:
        raise ResumeError(
            f"{folder.path} learned from texts that Python gave it",
            "Go on from Python, with charrnn.sweep(..., resume=True).",
        )
    same_again = "Give it the same text again:"
    for did, hint, named, had in (
        ("learned from", "CORPUS, or - for standard input", options.sources, begun.sources),
        ("held out", "--valid FILE, or --valid - for standard input", options.valid, begun.valid),
    ):
        gone = next(filter(is_stream, had), None)
        if gone is not None and not named:
            raise CorpusError(f"{folder.path} {did} {name_of(gone)}", f"{same_again} {hint}.")
    sources, valid = begun.files
    return options.sources or sources, options.valid or valid


def splits_of(material: Material, options: Options, console: Console) -> Splits:
    """The corpus of each seed, and the model to start from, of which train says all there is."""
    model_to_start_from(options.start_from, console)
    try:
        return Splits(material)
    except NewerModelError:
        raise
    except ModelFileError as error:  # it was there when the sweep began
        hint = "Put back the model that each run starts from, or sweep anew into another folder."
        raise ModelFileError(error.what, hint, "start from") from error


def looked_at(settings: dict[str, Any], begun: Begun, splits: Splits) -> Planned:
    """What these settings come to; an error says which they are."""
    try:
        found = planned(settings, begun.grid, begun.learning, splits)
        config = found.plan.config
        check_checkups(config, (found.plan.steps or 0) // config.check_every + 1)
    except SettingError as error:
        what, hint = in_words_of_the_command_line(error)
        which = in_words(settings) if settings else ""
        raise SettingError(f"{which}: {what}" if which else what, hint) from error
    corpus = splits.of(begun.grid.seeds[0]).corpus
    check_memory(found.plan.memory_bytes, system.available(), text_bytes(corpus))
    return found


def fitting(at_once: int, sweep: PreparedSweep) -> int:
    """As many runs at once as there is memory for, the largest ones together; one at least."""
    available = system.available()
    if available is None:
        return at_once
    here = text_bytes(sweep.split.corpus)  # which this process holds, too
    return max(1, min(at_once, (available - here) // sweep.largest))


def on_disk(name: str, spool: Path) -> str:
    """A file that can be read by several, and again; what comes out of a pipe becomes one."""
    with suppress(OSError, ValueError):
        if name != "-" and not stat.S_ISFIFO(os.stat(name).st_mode):
            return name
    if name != "-" and not os.path.exists(name):
        return name  # a corpus of ours; or it is not there, which whoever reads it says best
    path = spool / str(len(list(spool.iterdir())))
    with path.open("wb") as file:
        for block in byte_blocks(name):
            file.write(block)
    return str(path)
