"""A sweep made ready: the corpus read, every combination of settings looked at, the plan shown.

Whatever can be known to fail is found out here, before the first run begins.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn import memory
from charrnn.cli.console import Console
from charrnn.cli.hints import in_words_of_the_command_line
from charrnn.cli.prepare_training import check_checkups, model_to_start_from
from charrnn.cli.sweep_options import begun_with, gone_on_with
from charrnn.corpus.sources import byte_blocks, is_stream, name_of
from charrnn.corpus.warnings import Warned, warnings
from charrnn.cost import check_memory, text_bytes
from charrnn.errors import CorpusError, ModelFileError, NewerModelError, ResumeError, SettingError
from charrnn.sweeping.folder import Folder
from charrnn.sweeping.folder import Options as Begun
from charrnn.sweeping.forecast import Planned, planned, seconds_of
from charrnn.sweeping.grid import Trial, in_words
from charrnn.sweeping.one_run import Task
from charrnn.sweeping.shared_data import Material, Split, Splits

if TYPE_CHECKING:
    from charrnn.cli.sweep import Options


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
    check_memory(found.plan.memory_bytes, memory.available(), text_bytes(corpus))
    return found


def fitting(at_once: int, sweep: PreparedSweep) -> int:
    """As many runs at once as there is memory for, the largest ones together; one at least."""
    available = memory.available()
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
