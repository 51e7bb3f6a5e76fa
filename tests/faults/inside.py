"""Command lines run in this process, a hundred times as many in the same time."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from charrnn.cli import app, faults
from tests.faults.room import Ended


def run(folder: Path, *args: str | Path) -> Ended:
    """Run a command line in a folder. What is a bug comes out as the exception that it is."""
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            with faults.told():
                app.main([str(arg) for arg in args])
        except SystemExit as end:
            status = end.code
    assert isinstance(status, int)
    return Ended(status, out.getvalue().encode(), err.getvalue())
