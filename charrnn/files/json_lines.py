"""Files of JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def parse_line(line: bytes | str) -> dict[str, Any]:
    """Return the object on a line of JSON. Raise ValueError for anything else."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("not an object")
    return row


class LineFile:
    """A file of JSON lines, each appended whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab+", buffering=0)  # noqa: SIM115

    def lines(self) -> list[bytes]:
        """Return the lines of the file with their ends. The last one may be torn."""
        size = self._file.seek(0, os.SEEK_END)  # 0 for a device, which may be endless
        self._file.seek(0)
        return self._file.read(size).splitlines(keepends=True)

    def truncate(self, size: int) -> None:
        """Drop everything after the first ``size`` bytes."""
        if size < self._file.seek(0, os.SEEK_END):
            self._file.truncate(size)

    def keep(self, kept: list[bytes], lines: list[bytes]) -> None:
        """Of the lines of the file, keep some; others may have the file open, and go on writing."""
        if len(kept) == len(lines):
            return
        same = next(i for i, line in enumerate(lines) if kept[i : i + 1] != [line])
        size, rest = sum(map(len, kept[:same])), b"".join(kept[same:])
        if rest:
            with open(self._path, "r+b") as file:  # the other one writes at its end alone
                file.seek(size)
                file.write(rest)
        self.truncate(size + len(rest))

    def drop_torn_line(self) -> None:
        lines = self.lines()
        self.keep([line for line in lines if line.endswith(b"\n")], lines)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line. If that fails, raise OSError and leave the file as it was."""
        size = self._file.seek(0, os.SEEK_END)
        line = json.dumps(row, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            with suppress(OSError):
                self.truncate(size)
            raise

    def sync(self) -> None:
        """Make the lines outlast a power cut, if the filesystem can do that."""
        with suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
