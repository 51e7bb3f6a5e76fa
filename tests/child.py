"""A process of its own for a test: what surrounds it, what it has said, and its certain end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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
Changes = Mapping[str, str | None]
NOTHING: Changes = {}
PATIENCE = 60.0  # seconds, after which a child hangs; on a busy machine much is slow


@dataclass(frozen=True)
class Result:
    """How the program ended, and what it wrote."""

    status: int
    out: str
    err: str
    out_bytes: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        whole: dict[str, Any] = json.loads(self.out)
        return whole

    @property
    def lines(self) -> list[str]:
        """The lines of stdout."""
        return self.out.splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    def says(self, *pieces: str) -> None:
        """Assert that all went well, and that stderr has each of these."""
        assert "Traceback" not in self.err
        assert (self.status, [p for p in pieces if p not in self.err]) == (0, []), self.err


def result(status: int, out: bytes, err: bytes) -> Result:
    """A result from the bytes that were written."""
    return Result(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), out)


@dataclass(frozen=True)
class Child:
    """The program at work; where its streams are not chosen they go to files without a name."""

    process: subprocess.Popen[bytes]
    folder: Path
    stdout: IO[bytes]
    stderr: IO[bytes]

    @property
    def out(self) -> str:
        """What it has written to stdout so far."""
        return written(self.stdout).decode("utf-8", "replace")

    @property
    def err(self) -> str:
        """What it has said so far."""
        return written(self.stderr).decode("utf-8", "replace")

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until that is so."""
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert condition(), self.err

    def until_saved(self, name: str = "model.npz") -> None:
        """Wait until there is a model."""
        self.until((self.folder / name).exists)

    def open_pipe(self, path: Path) -> IO[bytes]:
        """The pipe that it reads, to write to; who just opens one waits for ever for the dead."""
        ends: list[int] = []

        def is_open() -> bool:
            with suppress(OSError):  # nobody reads it yet
                if not ends:
                    ends.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            return bool(ends)

        self.until(is_open)
        return os.fdopen(ends[0], "wb")

    def send(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> Result:
        """Wait for its end."""
        status = self.process.wait(PATIENCE)
        return result(status, written(self.stdout), written(self.stderr))


@contextmanager
def started(line: Sequence[Arg], env: Changes, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process; in the end it is killed if it is still there, with all that it started."""
    # A group of its own, so that what a shell or strace has started is killed with them;
    # not a session of its own, in which nothing could be stopped by Ctrl-Z.
    with subprocess.Popen(line, env=surroundings(env), process_group=0, **how) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def going(line: Sequence[Arg], folder: Path, env: Changes, **how: Any) -> Iterator[Child]:
    """A child at work."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        how = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err} | how
        with started(line, env, cwd=folder, **how) as process:
            yield Child(process, folder, out, err)


def finished(
    line: Sequence[Arg], folder: Path, env: Changes, stdin: bytes | IO[bytes] | None, **how: Any
) -> Result:
    """How a child ended that had no stream on a terminal; bytes are typed into a pipe."""
    typed = stdin if isinstance(stdin, bytes) else None
    if stdin is None:
        how["stdin"] = subprocess.DEVNULL
    else:
        how["stdin"] = stdin if typed is None else subprocess.PIPE
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(line, env, cwd=folder, **streams | how) as process:
        out, err = process.communicate(typed, timeout=PATIENCE)
    return result(process.returncode, out or b"", err or b"")


def on_a_terminal(line: Sequence[Arg], folder: Path, env: Changes, columns: int) -> tuple[int, str]:
    """A child with all streams on a pseudo-terminal: its status, and every byte that came."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with started(line, env, cwd=folder, **streams) as process:
        os.close(theirs)
        seen = read_to_the_end(ours)
        os.close(ours)
        status = process.wait(PATIENCE)
    return status, seen


def read_to_the_end(terminal: int) -> str:
    """What was seen on a terminal until its other end was closed."""
    seen = b""
    with suppress(OSError):  # how Linux says that it is closed
        while block := os.read(terminal, 65536):
            seen += block
    return seen.decode("utf-8").replace("\r\n", "\n")


def answer(code: str, *args: Arg, stdin: bytes | IO[bytes] | None = None) -> str:
    """What Python prints that runs this code to a good end."""
    ended = finished([*PYTHON, "-c", code, *args], HOME, NOTHING, stdin)
    assert ended.status == 0, ended.err
    return ended.out


def surroundings(env: Changes) -> dict[str, str]:
    """The plain environment with these changes; what is None is taken away."""
    return {name: value for name, value in (PLAIN | dict(env)).items() if value is not None}


def written(file: IO[bytes]) -> bytes:
    """All that is in a file, wherever somebody else has come in it."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again, for as long as patience lasts."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)
