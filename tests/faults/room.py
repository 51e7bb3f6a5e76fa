"""A folder in which the program is run as a user runs it, and which a refusal leaves as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests import running
from tests.running import CHARRNN, PATIENCE, Arg

SMALL = ("--hidden", "3", "--layers", "1", "--epochs", "1")  # trains in no time


@dataclass(frozen=True)
class Ended:
    """How the program ended, and what it wrote."""

    status: int
    out: bytes
    err: str

    def says(self, *pieces: str) -> None:
        """Assert that all went well, and that stderr has each of these."""
        assert "Traceback" not in self.err
        assert (self.status, [p for p in pieces if p not in self.err]) == (0, []), self.err


class Room:
    """A folder, and the program in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, content: str | bytes) -> Path:
        """A file with that content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, *args: Arg, program: list[str] | None = None, **how: Any) -> Ended:
        """Run it to its end, with no stream a terminal."""
        done = running.finished(*args, program=program or CHARRNN, **{"cwd": self.folder} | how)
        return Ended(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def train(self, *args: Arg, **how: Any) -> Ended:
        """Train a network that is small, for an epoch, unless the arguments say otherwise."""
        return self.run("train", *SMALL, *args, **how)

    def refuses(
        self, *args: Arg, what: str | list[str], hint: str, status: int = 1, **how: Any
    ) -> Ended:
        """Run it; it says what is wrong and what to do, and all files are as they were."""
        before = self.files()
        ended = self.run(*args, **how)
        is_refusal(ended, what, hint, status)
        assert self.files() == before
        return ended

    def files(self) -> dict[str, tuple[int, object]]:
        """Everything there is in the folder: what kind it is, its mode, its content."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            status = path.lstat()
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            found[os.fspath(path)] = (status.st_mode, content)
        return found

    @contextmanager
    def going(self, *args: Arg, program: list[str] | None = None, **how: Any) -> Iterator[Child]:
        """The program at work; killed in the end if it is still there."""
        with (
            open(self.folder / "stdout", "wb") as out,
            open(self.folder / "stderr", "wb") as err,
            running.going(
                *args,
                program=program or CHARRNN,
                **dict[str, Any](cwd=self.folder, stdout=out, stderr=err) | how,
            ) as process,
        ):
            yield Child(process, self.folder)

    def on_a_terminal(self, *args: Arg, **how: Any) -> tuple[int, str]:
        """Run it with all streams on a pseudo-terminal: the status, and what was seen there."""
        return running.on_a_terminal(*args, **{"cwd": self.folder} | how)


@dataclass(frozen=True)
class Child:
    """The program at work, its streams going to files."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def err(self) -> str:
        """What it has said so far."""
        return (self.folder / "stderr").read_text("utf-8", "replace")

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

    def end(self) -> Ended:
        """Wait for its end."""
        status = self.process.wait(PATIENCE)
        return Ended(status, (self.folder / "stdout").read_bytes(), self.err)


def is_refusal(ended: Ended, what: str | list[str], hint: str, status: int = 1) -> None:
    """Assert that it ended with one line that says what is wrong, and one that says what to do."""
    assert "Traceback" not in ended.err, ended.err
    lines = ended.err.split("\n")
    assert len(lines) > 2, ended.err
    error, advice, nothing = lines[-3:]
    assert nothing == ""
    assert ended.err.count("charrnn: error: ") == 1, ended.err
    assert error.startswith("charrnn: error: "), ended.err
    for piece in [what] if isinstance(what, str) else what:
        assert piece in error
    assert hint in advice
    assert ended.status == status


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again, for as long as patience lasts."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)
