"""``charrnn`` in a folder of its own, run in the one way in which the tests run it."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

from charrnn.cli import app, errors
from tests import child as children
from tests.child import CHARRNN, NOTHING, Arg, Changes, Child, Result

__all__ = ["CHARRNN", "SMALL", "Child", "Program", "Result", "is_refusal"]

SMALL = ("--hidden", "3", "--layers", "1", "--epochs", "1")  # trains in no time


class Program:
    """The program, and a folder in which it is run; in this process unless a child is asked for."""

    def __init__(self, folder: Path, *, child: bool = False) -> None:
        self.folder = folder
        self.command = CHARRNN
        self.child = child  # whether a process of its own is what is asked for where nobody says

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, content: str | bytes) -> Path:
        """A file with that content."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

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

    def run(
        self,
        *args: Arg,
        child: bool | None = None,
        by: Sequence[str] | None = None,
        stdin: bytes | IO[bytes] | None = None,
        env: Changes = NOTHING,
        cwd: Path | None = None,
        **how: Any,
    ) -> Result:
        """Run it to its end, with no stream a terminal.

        What is run by something else, or with more of what Popen takes, is a child.
        """
        folder = cwd or self.folder
        if not by and not how and not (self.child if child is None else child):
            return in_this_process(args, folder, stdin, env)
        return children.finished([*(by or self.command), *args], folder, env, stdin, **how)

    def train(self, *args: Arg, **how: Any) -> Result:
        """Train a network that is small, for an epoch, unless the arguments say otherwise."""
        return self.run("train", *SMALL, *args, **how)

    def refuses(
        self, *args: Arg, what: str | list[str], hint: str, status: int = 1, **how: Any
    ) -> Result:
        """Run it; it says what is wrong and what to do, and all files are as they were."""
        before = self.files()
        ended = self.run(*args, **how)
        is_refusal(ended, what, hint, status)
        assert self.files() == before
        return ended

    def terminal(
        self, *args: Arg, columns: int = 80, by: Sequence[str] | None = None, env: Changes = NOTHING
    ) -> tuple[int, str]:
        """Run it with all streams on a pseudo-terminal: the status, and what was seen there."""
        return children.on_a_terminal([*(by or self.command), *args], self.folder, env, columns)

    @contextmanager
    def going(
        self, *args: Arg, by: Sequence[str] | None = None, env: Changes = NOTHING, **how: Any
    ) -> Iterator[Child]:
        """The program at work; killed in the end if it is still there."""
        with children.going([*(by or self.command), *args], self.folder, env, **how) as child:
            yield child


def in_this_process(
    args: Sequence[Arg], folder: Path, stdin: bytes | IO[bytes] | None, env: Changes
) -> Result:
    """Run a command line here, which saves the start; a bug comes out as the exception it is."""
    out, err = stream(b""), stream(b"", "backslashreplace")
    typed = stdin if isinstance(stdin, bytes) else b"" if stdin is None else stdin.read()
    with ExitStack() as stack:
        stack.enter_context(changed_environment(env))
        stack.enter_context(chdir(folder))
        stack.enter_context(mock.patch.object(sys, "stdin", stream(typed)))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        end = stack.enter_context(pytest.raises(SystemExit))
        stack.enter_context(errors.report_errors())
        app.main([os.fsdecode(arg) for arg in args])
    assert isinstance(end.value.code, int)
    return children.result(end.value.code, contents(out), contents(err))


def stream(content: bytes, errors: str = "strict") -> io.TextIOWrapper:
    """A stream of text in memory, as Python makes one of a pipe."""
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", errors, newline="", write_through=True)


def contents(file: io.TextIOWrapper) -> bytes:
    """The bytes that were written."""
    assert isinstance(file.buffer, io.BytesIO)
    return file.buffer.getvalue()


@contextmanager
def changed_environment(env: Changes) -> Iterator[None]:
    """Work with these variables changed; what is None is taken away."""
    with mock.patch.dict(os.environ, {k: v for k, v in env.items() if v is not None}):
        for name in env:
            if env[name] is None:
                os.environ.pop(name, None)
        yield


def is_refusal(ended: Result, what: str | list[str], hint: str, status: int = 1) -> None:
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
