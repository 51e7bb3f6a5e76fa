"""Where the files of a corpus are, beside their names as they were typed.

While a run is in memory that is an absolute path; in a model file it is relative to the folder of
that file. So a model is used from any folder, it may move together with its corpus, and a file that
is given away names nobody's home.
"""

from __future__ import annotations

import os
from contextlib import suppress

from charrnn.corpus.bundled import path_of

NOWHERE = ""  # standard input, what comes with the program, and what older files do not tell


def place_of(name: str) -> str:
    """Where the file of that name is, seen from here."""
    if name == "-" or path_of(name) != name:
        return NOWHERE
    with suppress(OSError):  # the folder that we are in may be gone
        folder, base = os.path.split(os.path.abspath(name))
        return os.path.join(os.path.realpath(folder), base)
    return NOWHERE


def found(name: str, place: str) -> str:
    """The file to read: the one that it was, else whatever has its name here."""
    if not place or not os.path.exists(place):
        return name
    with suppress(OSError, ValueError):
        if os.path.samefile(name, place):
            return name  # which is how a user knows it
    return place


def seen_from(model: str | os.PathLike[str], place: str) -> str:
    """The way from a model file to that place; nowhere, if there is none."""
    if not place:
        return NOWHERE
    with suppress(OSError, ValueError):  # another drive
        return os.path.relpath(place, _folder(model)).replace(os.sep, "/")
    return NOWHERE


def reached_from(model: str | os.PathLike[str], way: str) -> str:
    """Where that way leads."""
    if not way:
        return NOWHERE
    with suppress(OSError):
        return os.path.normpath(os.path.join(_folder(model), way))
    return NOWHERE


def _folder(model: str | os.PathLike[str]) -> str:
    return os.path.dirname(os.path.realpath(model))
