"""A file that a command writes beside stdout: whole or not at all, and over nothing by chance.

What this program wrote is known by how it begins; all else is replaced with --force alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from charrnn.cli.options import would_replace
from charrnn.errors import CharrnnError, SaveError, SettingError
from charrnn.model_file.replacement import check_writable, replace

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


class OutputFile:
    """A path, and the option that named it, if it was one."""

    def __init__(self, path: Path, option: str, *, force: bool) -> None:
        self.path, self._option, self._force = path, option, force
        self._another = f"Name another file with {option}" if option else "Name another file"

    def check(self, *sources: str) -> None:
        """Find out before the work, not after it, whether the file can be written, and raise
        SettingError where it would take the place of one of these.
        """
        if any(would_replace(self.path, source) for source in sources):
            raise SettingError(
                f"{self._option or 'it'} would write over {self.path}", "Name a file of its own."
            )
        if os.path.lexists(self.path) and not self._force:
            raise SaveError(
                f"{self.path} is there already",
                f"{self._another}, or add --force to replace it.",
            )
        with self._refused():
            check_writable(self.path, 0)

    def write(self, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write so many bytes under another name, and rename it when it is complete."""
        with self._refused():
            replace(self.path, size, pieces)

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except SaveError as error:
            cause = error.__cause__
            reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else error.what
            raise SaveError(
                f"{self.path} cannot be written: {reason}",
                f"{self._another}.",
            ) from error
