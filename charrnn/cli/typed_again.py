"""The texts of a run as they are typed to go on with it; some are gone once they were read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from charrnn.corpus.bundled import path_of
from charrnn.corpus.sources import is_stream
from charrnn.model_file.schema import CorpusRecord


def typed_again(sources: Sequence[str], valid: Sequence[str]) -> list[str]:
    """What to type for them; nothing where all can be read again."""
    if not any(is_stream(name) for name in (*sources, *valid)):
        return []
    return [
        *(anew(name, "CORPUS") for name in sources),
        *(part for name in valid for part in ("--valid", anew(name, "FILE"))),
    ]


def can_be_read_again(record: CorpusRecord) -> bool:
    """Whether the corpus is in files that are there: no pipe, nor texts of Python."""
    return bool(record.files) and all(os.path.isfile(path_of(file)) for file in record.files)


def fed(line: str, again: Sequence[str], sources: Sequence[str]) -> str:
    """The line, with a file as standard input if that is among what is typed again."""
    return f"{line} < {'CORPUS' if '-' in sources else 'FILE'}" if "-" in again else line


def anew(name: str, place: str) -> str:
    """The name to type once more, or what stands for another."""
    return place if is_stream(name) and name != "-" else name
