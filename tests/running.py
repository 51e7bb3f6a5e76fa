"""``charrnn`` run as the tests need it: in this process, in a child, or on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from charrnn.cli import app, faults

Arg = str | bytes | Path

HOME = Path(__file__).parent.parent
PYTHON = [sys.executable, "-W", "error"]
CHARRNN = [*PYTHON, "-m", "charrnn"]
OURS = ("PYTHON", "CHARRNN", "LC_", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS")
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(OURS)} | {
    "PYTHONPATH": str(HOME),
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
}
NOTHING: Mapping[str, str | None] = {}
PATIENCE = 60.0  # seconds; on a busy machine much is slow


@dataclass(frozen=True)
class Ran:
    """How it ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        whole: dict[str, Any] = json.loads(self.out)
        return whole


class Here:
    """Runs command lines in this process, which saves the start."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *args: str | Path) -> Ran:
        status = status_of(*args)
        said = self._capture.readouterr()
        return Ran(status, said.out, said.err)


def status_of(*args: str | Path) -> int:
    """How a command line ends in this process; what is a bug comes out as the exception it is."""
    with pytest.raises(SystemExit) as end, faults.told():
        app.main([str(arg) for arg in args])
    assert isinstance(end.value.code, int)
    return end.value.code


def in_a_child(
    *args: Arg,
    env: Mapping[str, str | None] = NOTHING,
    cwd: Path | None = None,
    typed: bytes = b"",
) -> Ran:
    """Run it as a user does, with no stream a terminal; stdin is a pipe with what was typed."""
    done = finished(*args, env=env, cwd=cwd, input=typed)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def finished(
    *args: Arg,
    program: Sequence[str] = CHARRNN,
    env: Mapping[str, str | None] = NOTHING,
    **how: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Run it in a child to its end, with no stream a terminal."""
    if "input" not in how:
        how["stdin"] = subprocess.DEVNULL
    return subprocess.run(
        [*program, *args],
        capture_output=True,
        env=surroundings(env),
        timeout=PATIENCE,
        check=False,
        **how,
    )


@contextmanager
def going(
    *args: Arg,
    program: Sequence[str] = CHARRNN,
    env: Mapping[str, str | None] = NOTHING,
    **how: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """A child at work; killed in the end if it is still there."""
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL} | how
    line: list[Arg] = [*program, *args]
    with subprocess.Popen(line, env=surroundings(env), **streams) as child:
        try:
            yield child
        finally:
            child.kill()


def on_a_terminal(
    *args: Arg, columns: int = 80, env: Mapping[str, str | None] = NOTHING, **how: Any
) -> tuple[int, str]:
    """Run it with all streams on a pseudo-terminal: the status, and every byte that came."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with going(*args, env=env, **streams | how) as child:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while block := os.read(ours, 65536):
                seen += block
        os.close(ours)
        status = child.wait(PATIENCE)
    return status, seen.decode("utf-8").replace("\r\n", "\n")


def surroundings(env: Mapping[str, str | None]) -> dict[str, str]:
    """The plain environment with these changes; what is None is taken away."""
    return {name: value for name, value in (PLAIN | dict(env)).items() if value is not None}
