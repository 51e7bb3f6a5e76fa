"""The program ``charrnn`` in a folder of its own, as tests run it."""

import io
import os
import random
import stat
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, chdir, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

from charrnn.cli import app, console
from charrnn.files import model_file
from charrnn.files.model_contents import Checkpoint
from tests import child as children
from tests.child import CHARRNN, NOTHING, Arg, Changes, Child, Result

AT_START = ("PYTHON", "LC_", "LANG")  # variables that Python reads when it starts
WORDS = [
    *("anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"),
    *("ida", "jo", "karl", "lena", "mia", "nora", "otto", "paula"),
]
NAMES = "\n".join(WORDS * 4) + "\n"
SMALL = ("--hidden", "3", "--layers", "1", "--epochs", "1")  # trains in milliseconds
BUILT: Any = {name: cache(getattr(app, name)) for name in ("program", "load")}  # help changes them
seldom = partial(pytest.param, marks=pytest.mark.long)  # a row that runs only with --long


class Program:
    """The program and its folder, with names.txt. It runs in this process unless child=True."""

    def __init__(self, folder: Path, *, child: bool = False) -> None:
        self.folder = folder
        self.child = child  # the default of child= in run()
        self.write("names.txt", NAMES)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def files(self) -> dict[str, tuple[int, object]]:
        """Return the mode and content of each file and folder."""
        found: dict[str, tuple[int, object]] = {}
        for path in sorted(self.folder.rglob("*")):
            mode = path.lstat().st_mode
            is_link, is_file = stat.S_ISLNK(mode), stat.S_ISREG(mode)
            content = os.readlink(path) if is_link else path.read_bytes() if is_file else None
            found[os.fspath(path)] = (mode, content)
        return found

    def run(
        self,
        *args: Arg,
        child: bool | None = None,
        by: Sequence[str] | None = None,
        stdin: bytes | None = None,
        env: Changes = NOTHING,
        cwd: Path | None = None,
        **how: Any,
    ) -> Result:
        """Run a command to its end, without a terminal.

        With by= or further arguments of Popen it runs as a child process.
        """
        folder = cwd or self.folder
        if not by and not how and not (self.child if child is None else child):
            buffers = io.BytesIO(), io.BytesIO()
            out, err = stream(buffers[0], "strict"), stream(buffers[1], "backslashreplace")
            with standard_input(stdin) as pipe:
                status = in_this_process(args, folder, pipe, out, err, env)
            return children.result(status, *(buffer.getvalue() for buffer in buffers))
        return children.finished([*(by or CHARRNN), *args], folder, env, stdin, **how)

    def train(self, *args: Arg, **how: Any) -> Result:
        """Train a small network for one epoch; later arguments win."""
        return self.run("train", *SMALL, *args, **how)

    def refuses(self, *args: Arg, what: str, hint: str, status: int = 1, **how: Any) -> Result:
        """Assert that a command fails with this error and hint and changes no file."""
        before = self.files()
        ended = self.run(*args, **how)
        assert_refusal(ended, what, hint, status)
        assert self.files() == before
        return ended

    def terminal(
        self, *args: Arg, columns: int = 80, by: Sequence[str] | None = None, env: Changes = NOTHING
    ) -> tuple[int, str]:
        """Run a command on a pseudo-terminal; return its status and output."""
        if by or self.child or any(name.startswith(AT_START) for name in env):
            line = [*(by or CHARRNN), *args]
            return children.on_a_terminal(line, self.folder, env, columns)
        with children.pseudo_terminal(columns) as (ours, theirs), ExitStack() as stack:
            screen = stack.enter_context(ThreadPoolExecutor(1)).submit(children.read_screen, ours)
            stack.callback(os.close, theirs)
            streams = (os.fdopen(os.dup(theirs), mode, encoding="utf-8") for mode in "rww")
            stdin, out, err = (stack.enter_context(stream) for stream in streams)
            status = in_this_process(args, self.folder, stdin, out, err, env)
        return status, screen.result()

    def going(
        self, *args: Arg, by: Sequence[str] = CHARRNN, **how: Any
    ) -> AbstractContextManager[Child]:
        """Run a command in the background; kill it at the end of the block."""
        return children.going([*by, *args], self.folder, NOTHING, **how)


def in_this_process(
    args: Sequence[Arg], folder: Path, stdin: IO[str], out: IO[str], err: IO[str], env: Changes
) -> int:
    """Run a command in this process, which saves the start-up. A bug raises its exception."""
    with ExitStack() as stack:
        ours = {name: os.environ[name] for name in os.environ if name.startswith("CHARRNN")}
        changed = children.surroundings(ours | dict(env))
        stack.enter_context(mock.patch.dict(os.environ, changed, clear=True))
        stack.enter_context(chdir(folder))
        typed = ["charrnn", *map(os.fsdecode, args)]
        streams: dict[str, Any] = {"stdin": stdin, "stdout": out, "stderr": err}
        stack.enter_context(mock.patch.multiple(sys, argv=typed, **streams))
        if {*typed[1:2]} & {*app.COMMANDS} and not {"-h", "--help"} & {*typed}:
            stack.enter_context(mock.patch.multiple(app, **BUILT))
        end = stack.enter_context(pytest.raises(SystemExit))
        stack.enter_context(console.report_errors())
        app.main(typed[1:])
    assert isinstance(end.value.code, int)
    return end.value.code


@contextmanager
def standard_input(typed: bytes | None) -> Iterator[IO[str]]:
    """Open a pipe that holds these bytes, or the null device."""
    source: int | str = os.devnull
    if typed is not None:
        assert len(typed) <= 1 << 16, "a pipe holds no more"
        source, writer = os.pipe()
        os.write(writer, typed)
        os.close(writer)
    with open(source, encoding="utf-8") as stdin:
        yield stdin


def stream(buffer: io.BytesIO, errors: str) -> io.TextIOWrapper:
    """Return a text stream in memory that behaves as a pipe."""
    return io.TextIOWrapper(buffer, "utf-8", errors, newline="", write_through=True)


def assert_refusal(ended: Result, what: str, hint: str, status: int = 1) -> None:
    """Assert that stderr ends with this error, then this hint, each in one line."""
    assert "Traceback" not in ended.err, ended.err
    assert ended.err.count("charrnn: error: ") == 1, ended.err
    error, advice, nothing = ended.err.split("\n")[-3:]
    assert nothing == ""
    assert error.startswith("charrnn: error: "), ended.err
    assert what in error
    assert hint in advice
    assert ended.status == status


def chance(seed: int | None = None) -> random.Random:
    """Return a source of chance. Its seed is printed, and pytest shows it where a test fails."""
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"seed {seed}")
    return random.Random(seed)


SIZE = ("--hidden", "6", "--layers", "1", "--bptt", "6", "--batch", "4", "--cores", "1")
BRIEF = (*SIZE, "--epochs", "2")


def summary_of(program: Program, *options: str | Path) -> dict[str, Any]:
    """Train, which must succeed, and return the summary."""
    return program.run("train", "names.txt", *BRIEF, "--force", "--json", *options).says().json


def plan_of(program: Program, *options: str | Path) -> dict[str, Any]:
    return program.run("train", "names.txt", "--dry-run", "--json", *options).says().json


def saved_by(program: Program, *options: str | Path) -> Checkpoint:
    summary_of(program, *options)
    return model_file.load(program / "model.npz")


def assert_no_temporary_files(program: Program) -> None:
    assert not [path.name for path in program.folder.iterdir() if path.name.startswith(".")]


def lines_of(program: Program) -> int:
    """Return the number of lines of metrics, about one a step."""
    path = program / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
