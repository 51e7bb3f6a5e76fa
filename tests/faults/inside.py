"""Command lines run in this process, a hundred times as many in the same time."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.faults.room import Ended, Room
from tests.running import Arg, status_of

# For tests of a variety that has been tried from outside as well.
in_this_process = pytest.mark.usefixtures("in_this_process")


class Here(Room):
    """A room in which command lines are run in this process."""

    def run(self, *args: Arg, program: list[str] | None = None, **how: Any) -> Ended:
        assert program is None, "another program takes a process of its own"
        assert not how, "that takes a process of its own"
        return run(self.folder, *(arg.decode() if isinstance(arg, bytes) else arg for arg in args))


def run(folder: Path, *args: str | Path) -> Ended:
    """Run a command line in a folder. What is a bug comes out as the exception that it is."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = status_of(*args)
    return Ended(status, out.getvalue().encode(), err.getvalue())
