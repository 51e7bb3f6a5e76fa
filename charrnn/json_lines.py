"""JSON Lines: files and pipes with one JSON object a line, and the only reader of JSON from files.

A line is appended whole or not at all. A kill may tear the last line, which is then cut off.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from charrnn.model_file.saving import take_if_supported

APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
LARGEST = 1 << 26  # bytes of an object in a file


def parse(line: bytes | str, largest: float = LARGEST) -> dict[str, Any]:
    """Return the object on a line. Raise ValueError if it is too large or anything else."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            raise ValueError("a key stands twice")
        return values

    if len(line) > largest:
        raise ValueError(f"more than {largest:,} bytes")
    try:
        row = json.loads(line, object_pairs_hook=unique)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(row, dict):
        raise ValueError("not an object")
    return row


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the object in a file, as ``parse`` does."""
    with open(path, "rb") as file:
        return parse(file.read(LARGEST + 1))


def write(file: int, row: Mapping[str, Any]) -> None:
    left = memoryview(json.dumps(row, allow_nan=False).encode() + b"\n")
    while left:
        left = left[os.write(file, left) :]


class LineFile:
    """An open file that takes lines; also a pipe or another stream, which keeps none."""

    def __init__(self, file: int, *, is_shared: bool = False) -> None:
        """Take over an open file. A shared one has other writers and is never cut."""
        self._file = file
        self.keeps_lines = stat.S_ISREG(os.fstat(file).st_mode) and not is_shared

    @staticmethod
    def at(path: Path) -> LineFile:
        return LineFile(os.open(path, APPENDING, 0o666))

    def lock(self) -> bool:
        """Keep other runs out of the file, and return True, or False if one is in it."""
        return not self.keeps_lines or take_if_supported(self._file)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file with their ends. The last one may be torn."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            yield from file

    def cut(self, size: int) -> None:
        """Drop everything after the first ``size`` bytes."""
        os.truncate(self._file, size)

    def cut_torn_line(self) -> None:
        with open(self._file, "rb", closefd=False) as file:
            if not file.seek(0, os.SEEK_END):
                return
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.seek(0)
                self.cut(file.read().rfind(b"\n") + 1)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line. If that fails, raise OSError and leave the file as it was."""
        size = os.fstat(self._file).st_size
        try:
            write(self._file, row)
        except OSError:
            if self.keeps_lines:
                with suppress(OSError):
                    self.cut(size)
            raise

    def sync(self) -> None:
        """Make the lines outlast a power cut, if the filesystem can do that."""
        with suppress(OSError):
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)
