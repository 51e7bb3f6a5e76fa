"""A file that a command writes beside stdout: whole or not at all, and over nothing by chance."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from charrnn.cli.options import would_replace
from charrnn.errors import SaveError, SettingError
from charrnn.model_file.replacement import check_writable, replace


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
