"""``charrnn`` run as the tests need it: in this process, in a child, or on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from charrnn.cli import app, faults

HOME = Path(__file__).parent.parent
CHARRNN = [sys.executable, "-W", "error", "-m", "charrnn"]
OURS = ("PYTHON", "CHARRNN", "LC_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(OURS)} | {
    "PYTHONPATH": str(HOME),
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
}
NOTHING: Mapping[str, str] = {}


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
        with pytest.raises(SystemExit) as end, faults.told():
            app.main([str(arg) for arg in args])
        assert isinstance(end.value.code, int)
        said = self._capture.readouterr()
        return Ran(end.value.code, said.out, said.err)


def in_a_child(
    *args: str | Path,
    env: Mapping[str, str] = NOTHING,
    cwd: Path | None = None,
    typed: bytes = b"",
) -> Ran:
    """Run it as a user does, with no stream a terminal; stdin is a pipe with what was typed."""
    done = subprocess.run(
        [*CHARRNN, *map(str, args)],
        input=typed,
        capture_output=True,
        cwd=cwd,
        env={**PLAIN, **env},
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def going(*args: str | Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A child at work; killed if it does not end by itself."""
    with subprocess.Popen(
        [*CHARRNN, *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=PLAIN,
        **how,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def on_a_terminal(
    *args: str | Path, columns: int = 80, env: Mapping[str, str] = NOTHING
) -> tuple[int, str]:
    """Run it with all streams on a pseudo-terminal: the status, and every byte that came."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with subprocess.Popen(
        [*CHARRNN, *map(str, args)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**PLAIN, **env},
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 65536):
                seen += block
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(ours)
    return process.returncode, seen.decode("utf-8").replace("\r\n", "\n")


def wait_for(child: subprocess.Popen[bytes], words: str) -> None:
    """Read what a child says until it says this."""
    assert child.stderr is not None
    said = []
    while words not in (line := child.stderr.readline().decode()):
        said.append(line)
        assert line, f"it never said {words!r}: {''.join(said)}"
