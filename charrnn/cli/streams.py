"""Standard input, output and error made fit for use, whatever the caller left of them.

stdout carries the result: UTF-8 with plain newlines in every locale, and a write that fails is
an error. stderr carries the conversation: what cannot be said there is left out, and work goes on.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from charrnn.errors import CharrnnError


class Forgiving:
    """A stream that is never a reason to stop: what it cannot take is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Reporting:
    """A stream whose failures are known errors; that a reader left is BrokenPipeError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _known():
            return self._stream.write(text)

    def flush(self) -> None:
        with _known():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if os.name == "nt" and error.errno == errno.EINVAL:  # what Windows says of a closed pipe
            raise BrokenPipeError from None
        raise CharrnnError(
            f"cannot write to standard output: {error.strerror}",
            "Make room, or send the output elsewhere.",
        ) from error


def prepare() -> None:
    """Put streams that behave in place of the three, once."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file opened would take its place, and our messages
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not isinstance(sys.stderr, Forgiving):
        sys.stderr = cast(TextIO, Forgiving(sys.stderr))
    if sys.stdout is None:
        raise CharrnnError("standard output is closed", "Send it to a file, or to /dev/null.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    if not isinstance(sys.stdout, Reporting):
        sys.stdout = cast(TextIO, Reporting(sys.stdout))


def finish() -> None:
    """Hand over what stdout still holds back: a full disk often shows only here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Let go of a stdout that takes no more, or Python would try it once again at the very end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
