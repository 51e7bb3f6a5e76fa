"""The members of any ZIP, as their headers tell: to find our way in it, not to believe it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from io import FileIO
from typing import NamedTuple

_HEADER = struct.Struct("<4s5H3I2H")
_ZIP64 = 1


class Found(NamedTuple):
    """A member as the file has it."""

    name: str
    stored: bool  # neither compressed nor encrypted
    checksum: int
    content_at: int
    size: int


class End(NamedTuple):
    """Where the members end, and whether the directory comes right after them."""

    complete: bool


def walk(file: FileIO) -> Iterator[Found | End]:
    """The members in their order, up to the first header that makes no sense; then the End."""
    at = 0
    while True:
        header = bytes_at(file, at, _HEADER.size)
        if not header.startswith(b"PK\3\4") or len(header) < _HEADER.size:
            yield End(complete=header.startswith(b"PK\1\2"))
            return
        _, _, flags, method, _, _, checksum, packed, size, name_size, extra_size = _HEADER.unpack(
            header
        )
        name = bytes_at(file, at + len(header), name_size).decode("utf-8", "replace")
        extra = bytes_at(file, at + len(header) + name_size, extra_size)
        if len(extra) >= 20 and extra.startswith(struct.pack("<H", _ZIP64)):
            size, packed = struct.unpack_from("<2Q", extra, 4)
        content_at = at + len(header) + name_size + extra_size
        yield Found(name, method == 0 and not flags & 1, checksum, content_at, size)
        at = content_at + packed


def bytes_at(file: FileIO, at: int, count: int) -> bytes:
    """That many bytes, or those that there are."""
    found = b""
    if not 0 <= at < os.fstat(file.fileno()).st_size:  # to seek too far would be an OSError
        return found
    file.seek(at)
    while more := file.read(count - len(found)):
        found += more
    return found
