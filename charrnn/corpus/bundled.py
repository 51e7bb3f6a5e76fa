"""The corpora that come with the program, by name."""

from __future__ import annotations

import os
from pathlib import Path

NAMES = ("dinosaurs", "given-names", "reber", "verses")

_HERE = Path(__file__).parent
FOLDERS = (_HERE.parent / "data", _HERE.parent.parent / "data")  # installed; in a checkout


def path_of(source: str) -> str:
    """The file that is meant: a corpus of ours, unless there is a file of that name."""
    if source in NAMES and not os.path.lexists(source):
        for folder in FOLDERS:
            file = folder / f"{source}.txt"
            if file.is_file():
                return str(file)
    return source
