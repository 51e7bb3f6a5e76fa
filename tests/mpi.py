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
# Who it is stands in a file, and it is saved all the time, not only at check-ups.
OURS = (
    "import os, pathlib;"
    "number = os.environ['PMI_RANK'];"
    "pathlib.Path(number + '.part').write_text(str(os.getpid()));"
    "os.replace(number + '.part', number + '.pid');"
    "from charrnn.model_file import saver; "
    "saver.OFTEN = saver.SELDOM = saver.COSTLY = 0;"
)
RUN = "from charrnn.__main__ import run; run()"


def ranks(count: int, code: str = "") -> list[str]:
    """What starts so many, which do this first."""
    return [str(MPIEXEC), "-n", str(count), *PYTHON, "-c", OURS + code + RUN]


def others(code: str, *args: str, folder: Path | None = None) -> list[str]:
    """What starts two, before the arguments of the first; the second does this as well, then the
    same with these arguments. It is in another folder, if one is named.
    """
    second = [":", "-n", "1", *(["-wdir", str(folder)] if folder else [])]
    return [*second, *PYTHON, "-c", OURS + code + RUN, *args]


@contextmanager
def going(
    program: Program, count: int, *args: Arg, by: list[str] | None = None, env: Changes = NOTHING
) -> Iterator[Child]:
    """So many at work; none is left in the end."""
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
    """The process of a rank."""
    return int((program / f"{number}.pid").read_text())


def all_gone(program: Program, count: int) -> None:
    """Wait until nothing is left of so many ranks."""
    wait_until(lambda: not any(is_there(pid(program, number)) for number in range(count)))


def is_there(number: int) -> bool:
    """Whether a process is at work; one that nobody has buried is not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
