"""A web page to a file: all of it, or none and the reason why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from charrnn.errors import SaveError
from charrnn.model_file import container
from charrnn.model_file.replacement import replace


def check(path: Path) -> None:
    """Find out before the work, not after it, whether the file can be written."""
    with _told(path):
        container.check_writable(path, 0)


def write(path: Path, page: Iterator[bytes]) -> None:
    """Write the page as it comes, under another name until it is complete."""
    with _told(path):
        replace(path, 0, page)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except SaveError as error:
        cause = error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else error.what
        raise SaveError(
            f"{path} cannot be written: {reason}", "Name another file with --html."
        ) from error
