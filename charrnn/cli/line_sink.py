"""Where lines go: a file, a pipe whose reader may leave, or a stream that others write to as well.

A pipe is opened to be written to alone, or nobody would hear that its last reader has left; and so
that it never blocks, or a reader who sleeps would keep us from hearing a signal. What is one of our
own streams is written to through that: opened anew, it would have a place of its own to write at,
and one would write over the other.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

FILE = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
STREAMS = (1, 2)  # stdout, stderr
PATIENCE = 5.0  # seconds that a pipe may have no reader before we believe that none will come
GRACE = 1.0  # seconds that a reader is given once everything is to end
TICK = 0.05  # seconds after which we look again


class NoReaderError(Exception):
    """Nobody reads the pipe."""


class LineSink:
    """It takes lines, and keeps them if it is a file."""

    def __init__(self, path: Path) -> None:
        """OSError where that cannot be opened."""
        self._file = _opened(path)
        is_stream = any(_is_same(path, stream) for stream in STREAMS)
        self.is_file = stat.S_ISREG(os.fstat(self._file).st_mode) and not is_stream

    def lines(self) -> Iterator[bytes]:
        """What the file holds."""
        with open(self._file, "rb", closefd=False) as file:
            yield from file

    def truncate(self, size: int) -> None:
        """Cut the file off there."""
        os.truncate(self._file, size)

    def write(self, line: bytes, is_over: Callable[[], bool]) -> None:
        """Write the line; NoReaderError where nobody takes it, or not in time once all is over."""
        waited = 0.0
        while line:
            try:
                line = line[os.write(self._file, line) :]
            except BrokenPipeError:
                raise NoReaderError from None
            except BlockingIOError:
                waited += TICK if is_over() else 0
                if waited > GRACE:
                    raise NoReaderError from None
                select.select([], [self._file], [], TICK)

    def sync(self) -> None:
        """Make sure that what was written outlasts a power cut, where that can be had."""
        with suppress(OSError):
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _opened(path: Path) -> int:
    with suppress(FileNotFoundError):
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return _pipe(path)
    for stream in STREAMS:
        if _is_same(path, stream):
            return os.dup(stream)
    return os.open(path, FILE, 0o666)


def _pipe(path: Path) -> int:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
        time.sleep(TICK)


def _is_same(path: Path, stream: int) -> bool:
    with suppress(OSError):  # one of them is not there
        return os.path.samestat(os.stat(path), os.fstat(stream))
    return False
