"""What mpiexec tells the processes that it starts: in the environment, before MPI is loaded.

Signals that come before the program is ready for them: kept until it is, and obeyed then.

While Python imports, a handler that raises would do harm: some modules take any exception for a
missing part, and some leave theirs half made. So the very first thing is a handler that takes
notes, and `signals.ending` looks at these once there is somebody to tell the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType

from charrnn.errors import SettingError

RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
RANK_HERE = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")  # of this machine
READING = 0.3  # seconds
GIVING_WAY = 2.0  # seconds, in which the first of a machine gets as far as the others


def processes() -> int:
    """How many were started at once; 1 where mpiexec has started none, or does not say."""
    return _first(SIZE) or 1 if _first(RANK) is not None else 1


def check_alone() -> None:
    """Raise SettingError where others were started beside this one, who would all do the same."""
    if _first(RANK) is not None and _first(SIZE) != 1:
        raise SettingError(
            "mpiexec has started several processes, and each would write the same model",
            "Add --mpi, so that they learn as one, or start one without mpiexec.",
        )


def let_others_speak() -> None:
    """Before an error is told: give way to the first on this machine, who may have found the same,
    and then ends all.
    """
    number = _first(RANK_HERE)
    if _is_before_mpi() and (_first(RANK) if number is None else number):
        time.sleep(GIVING_WAY)


def end_all(status: int) -> None:
    """After an error was told: let no other wait for this process, which has not come to MPI.

    The mpiexec of MPICH looks at nobody's status, but does as it is told; others do look.
    """
    file = _first(("PMI_FD",))
    if file is not None and _is_before_mpi():
        let_it_be_read()
        with suppress(OSError):
            os.write(file, f"cmd=abort exitcode={status}\n".encode())


def let_it_be_read() -> None:
    """mpiexec throws away what was said if it has not come to read it when it ends all."""
    time.sleep(READING)


def _is_before_mpi() -> bool:
    is_one = _first(RANK) is not None and sys.argv[1:2] == ["train"]
    return is_one and "mpi4py.MPI" not in sys.modules


def _first(names: Iterable[str]) -> int | None:
    """The first of these variables that holds a number."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdecimal()), None)


NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has no SIGHUP, others no SIGBREAK
ALL = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
_arrived: list[int] = []
_is_ready = False


def keep() -> None:
    """From here on take a note of each."""
    for number in ours():
        signal.signal(number, _note)


def ours() -> list[int]:
    """Those that the parent had not ignored."""
    return [number for number in ALL if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def first() -> int | None:
    """The first that came, now that it can be obeyed."""
    global _is_ready
    _is_ready = True
    return _arrived.pop(0) if _arrived else None


def _note(number: int, _frame: FrameType | None) -> None:
    if _is_ready:  # and over by now: nothing is left that would look
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _arrived.append(number)
