"""Child processes of a test, from start to certain end; and the files that are touched."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self
from unittest import mock

import pytest

from charrnn.system.cores import ONE_THREAD

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
UNLIMITED: dict[str, str | None] = dict.fromkeys(ONE_THREAD)  # NumPy has the threads it likes
PATIENCE = 120.0  # seconds before a test gives up; a busy machine is slow


@dataclass(frozen=True)
class Result:
    """The exit status, as a shell shows it, and the output of the program."""

    status: int
    out: str
    err: str
    out_bytes: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The single JSON object on stdout."""
        return dict(json.loads(self.out))

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    def says(self, *pieces: str) -> Self:
        """Assert success, and that stderr contains each of these pieces."""
        assert "Traceback" not in self.err
        assert (self.status, [p for p in pieces if p not in self.err]) == (0, []), self.err
        return self


def result(status: int, out: bytes, err: bytes) -> Result:
    return Result(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), out)


def status_of(code: int) -> int:
    """Return the exit status as a shell shows it: 128 + N after signal N."""
    return code if code >= 0 else 128 - code


@dataclass(frozen=True)
class Child:
    """A running program, and its output so far, in unnamed files unless the test chooses others."""

    process: subprocess.Popen[bytes]
    folder: Path
    stdout: IO[bytes]
    stderr: IO[bytes]

    @property
    def out(self) -> str:
        return written(self.stdout).decode("utf-8", "replace")

    @property
    def err(self) -> str:
        return written(self.stderr).decode("utf-8", "replace")

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is met; fail if the process ends without it."""

        def is_met() -> bool:
            is_over = self.process.poll() is not None
            holds = condition()
            assert holds or not is_over, self.err
            return holds

        wait_until(is_met)

    def until_saved(self) -> None:
        self.until((self.folder / "model.npz").exists)

    def type(self, typed: bytes) -> None:
        """Write into the pipe that is the child's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(typed)
        self.process.stdin.flush()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> Result:
        """Wait for the end of the process and return its result."""
        status = status_of(self.process.wait(PATIENCE))
        return result(status, written(self.stdout), written(self.stderr))


@contextmanager
def started(line: Sequence[Arg], env: Changes, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process. At the end kill its process group, if it is still there."""
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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        how = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err} | how
        with started(line, env, cwd=folder, **how) as process:
            yield Child(process, folder, out, err)


def finished(
    line: Sequence[Arg], folder: Path, env: Changes, stdin: bytes | None, **how: Any
) -> Result:
    """Run a child without a terminal to its end. Bytes for stdin go through a pipe."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams["stdin"] = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    with started(line, env, cwd=folder, **streams | how) as process:
        out, err = process.communicate(stdin, timeout=PATIENCE)
    return result(status_of(process.returncode), out or b"", err or b"")


@contextmanager
def pseudo_terminal(columns: int) -> Iterator[tuple[int, int]]:
    """Open a terminal of this width: our end, and that of the program."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def on_a_terminal(line: Sequence[Arg], folder: Path, env: Changes, columns: int) -> tuple[int, str]:
    """Run a child with all streams on a pseudo-terminal; return its status and output."""
    with pseudo_terminal(columns) as (ours, theirs):
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        with started(line, env, cwd=folder, **streams) as process:
            os.close(theirs)
            seen = read_screen(ours)
            status = status_of(process.wait(PATIENCE))
    return status, seen


def read_screen(terminal: int) -> str:
    """Return the output on a terminal until its other end is closed."""
    seen = b""
    with suppress(OSError):  # how Linux says that it is closed
        while select.select([terminal], [], [], PATIENCE)[0]:
            block = os.read(terminal, 65536)
            if not block:
                break
            seen += block
    return seen.decode("utf-8").replace("\r\n", "\n")


def answer(code: str) -> str:
    """Run this code in a child of Python, and return what it prints."""
    ended = finished([*PYTHON, "-c", code], HOME, NOTHING, None)
    assert ended.status == 0, ended.err
    return ended.out


def surroundings(env: Changes) -> dict[str, str]:
    """Return the plain environment with these changes; None removes a variable."""
    return {name: value for name, value in (PLAIN | dict(env)).items() if value is not None}


def written(file: IO[bytes]) -> bytes:
    """Return the content of a file without moving its position, which the child shares."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll a condition until it holds; fail after PATIENCE seconds."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < PATIENCE, "nothing happened"
        time.sleep(0.005 if waited < 0.2 else 0.02)  # to poll costs the child time


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[Path, Child]]:
    """Start a scheduler and workers without nannies; yield its file and its process."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    dask_worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    local = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    env = {"PYTHONPATH": str(HOME), "OPENBLAS_NUM_THREADS": "1"}
    with going([*dask, *local, "--port", "0"], folder, env) as scheduler:
        scheduler.until(lambda: file.exists() and file.stat().st_size > 0)
        one = [*dask_worker, *local, "--nthreads", "1", "--no-nanny"]
        with ExitStack() as stack:
            for worker in [stack.enter_context(going(one, folder, env)) for _ in range(workers)]:
                worker.until(lambda worker=worker: "Registered to" in worker.err)  # type: ignore[misc]
            yield file, scheduler


def children_of(process: int) -> list[int]:
    file = Path(f"/proc/{process}/task/{process}/children")
    return list(map(int, file.read_text().split())) if file.exists() else []


needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")


def strace(fault: str, command: Sequence[str] = CHARRNN) -> list[str]:
    """Return a command that runs the program with a fault such as "fsync:error=EIO"."""
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={fault.partition(':')[0]}"]
    return [*traced, "-e", f"inject={fault}", *command]


def is_running(process: int) -> bool:
    """Return True unless a process has ended, and is not even a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def program_with(code: str) -> list[str]:
    """Return the program after some lines of Python that change it."""
    return [*PYTHON, "-c", f"{code}\nfrom charrnn.__main__ import run\nrun()"]


# Which files are opened or looked at, whoever asks for them

EVENTS = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.truncate")
OF_PYTHON = (sys.prefix, os.path.dirname(os.__file__), str(HOME), "/proc", "/sys")
names_by_block: list[set[str]] = []


def note(event: str, given: tuple[Any, ...]) -> None:
    """Note the names that a call is about."""
    if names_by_block and event in EVENTS:
        for name in given[: 1 + (event == "os.rename")]:
            if isinstance(name, str | bytes | os.PathLike):
                path = os.path.abspath(os.fsdecode(name))
                names_by_block[-1].update([path] * (not path.startswith(OF_PYTHON)))


sys.addaudithook(note)  # of what is opened, listed or changed; it cannot be removed


@contextmanager
def touched() -> Iterator[set[str]]:
    """Yield the paths that are touched in this block, but for those of Python and the system."""

    def asked(usual: Any, name: Any, *how: Any, **more: Any) -> Any:
        note("open", (name,))
        return usual(name, *how, **more)

    with ExitStack() as stack:
        for function in ("stat", "lstat", "access", "readlink"):
            usual = getattr(os, function)
            stack.enter_context(mock.patch.object(os, function, partial(asked, usual)))
        names_by_block.append(set())
        stack.callback(names_by_block.pop)
        yield names_by_block[-1]
