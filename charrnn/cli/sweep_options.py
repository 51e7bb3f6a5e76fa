"""What a sweep is begun with, and what may be asked of one that is gone on with.

Values and seeds may be added. Whatever else is given has to be what it was, and so has the corpus,
or its runs could not be compared.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from charrnn.cli.hints import option_for
from charrnn.corpus.file_locations import place_of
from charrnn.errors import ResumeError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import settings_of
from charrnn.settings.training import TrainConfig
from charrnn.sweeping.folder import Folder, grown, places_of
from charrnn.sweeping.folder import Options as Begun
from charrnn.sweeping.grid import Grid, value_in_words

if TYPE_CHECKING:
    from charrnn.cli.sweep import Options

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
                shown = in_words(name, then[name]) if name in then else "left it open"
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
    shown = in_words(name, value)
    return shown if isinstance(value, bool) else f"{option_for(name)} {shown}"


def in_words(name: str, value: object) -> str:
    """Its value; where there are but two, the option that stands for it."""
    if isinstance(value, bool):
        return option_for(name, denied=not value)
    return value_in_words(value)
