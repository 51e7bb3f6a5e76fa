"""What a sweep and its processes say to each other: objects of JSON, one a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any


def line_of(what: Mapping[str, Any]) -> bytes:
    """The object on a line."""
    return json.dumps(what).encode() + b"\n"


def write(file: int, what: Mapping[str, Any]) -> None:
    """Write it to an open file; BrokenPipeError where nobody reads there any more."""
    left = memoryview(line_of(what))
    while left:
        left = left[os.write(file, left) :]


def read(file: int) -> Iterator[dict[str, Any]]:
    """The objects as they come, until the other side has closed its end.

    Nothing is read through Python's buffers: a thread may wait here when Python ends.
    """
    pieces: list[bytes] = []
    while block := os.read(file, 1 << 16):
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield json.loads(b"".join([*pieces, line]))
            pieces = []
        pieces.append(rest)
