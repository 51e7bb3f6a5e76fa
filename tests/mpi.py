"""Several processes of the program, started by the mpiexec that is beside this Python."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.child import NOTHING, PYTHON, Arg, Changes, Child, wait_until
from tests.program import Program

MPIEXEC = Path(sys.executable).parent / "mpiexec"
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or not MPIEXEC.exists(),
    reason="mpi4py is not installed, or mpich beside it: pip install '.[test]'",
)
# Each rank writes its pid to a file, and saves at every check-up.
OURS = (
    "import os, pathlib;"
    "number = os.environ['PMI_RANK'];"
    "pathlib.Path(number + '.part').write_text(str(os.getpid()));"
    "os.replace(number + '.part', number + '.pid');"
    "from charrnn.model_file import checkpoint as c; "
    "c.OFTEN = c.SELDOM = c.COSTLY = 0;"
)
RUN = "from charrnn.__main__ import run; run()"


def ranks(count: int, code: str = "") -> list[str]:
    """Return the mpiexec command for this many ranks, which first run this code."""
    return [str(MPIEXEC), "-n", str(count), *PYTHON, "-c", OURS + code + RUN]


def others(code: str, *args: str, folder: Path | None = None) -> list[str]:
    """Return arguments of mpiexec for one more rank, which also runs this code, perhaps in
    another folder.
    """
    second = [":", "-n", "1", *(["-wdir", str(folder)] if folder else [])]
    return [*second, *PYTHON, "-c", OURS + code + RUN, *args]


@contextmanager
def going(
    program: Program, count: int, *args: Arg, by: list[str] | None = None, env: Changes = NOTHING
) -> Iterator[Child]:
    """Run this many ranks in the background; kill them at the end of the block."""
    for path in program.folder.glob("*.pid"):
        path.unlink()
    try:
        with program.going(*args, by=by or ranks(count), env=env) as child:
            yield child
    finally:
        for number in range(count):
            with suppress(OSError, ValueError):
                os.kill(pid(program, number), signal.SIGKILL)


def pid(program: Program, number: int) -> int:
    """Return the process of a rank."""
    return int((program / f"{number}.pid").read_text())


def all_gone(program: Program, count: int) -> None:
    """Wait until all these ranks have ended."""
    wait_until(lambda: not any(is_there(pid(program, number)) for number in range(count)))


def is_there(number: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
