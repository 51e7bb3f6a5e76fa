"""What this program wrote is known by how it begins; all else is replaced with --force alone."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from charrnn.errors import CharrnnError

HEAD = 1 << 16  # bytes from the beginning: more than a head has, with the names of many files


def may_be_replaced(path: Path, is_ours: Callable[[bytes], bool], *, force: bool) -> bool:
    """Whether nobody loses anything: no file is there, an empty one, or one of ours by its head."""
    try:
        mode = path.stat().st_mode
    except OSError:  # what writes there will say what is wrong
        return True
    if force or not stat.S_ISREG(mode):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return not head or is_ours(head)


def check_may_be_replaced(
    path: Path, is_ours: Callable[[bytes], bool], *, force: bool, option: str
) -> None:
    """Raise CharrnnError where somebody would lose a file."""
    if not may_be_replaced(path, is_ours, force=force):
        raise CharrnnError(
            f"{path} is there already, and is nothing that charrnn has written",
            f"Name another file with {option}, or replace it with --force.",
        )
