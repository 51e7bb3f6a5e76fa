"""Whether what is about to be written would take the place of a text that is read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from charrnn.corpus.bundled import path_of


def would_replace(path: Path, source: str) -> bool:
    """Whether the source leads to this file, or would as soon as something is written there."""
    file = 0 if source == "-" else path_of(source)  # standard input may well be a file
    try:
        return os.path.samefile(file, path) and os.path.isfile(path)  # a terminal loses nothing
    except OSError:  # one of them is not there
        with suppress(OSError):  # nor is the folder that we are in
            return source != "-" and os.path.realpath(source) == os.path.realpath(path)
        return False
    except ValueError:  # the model of a stranger says that it learned from "\0"
        return False
