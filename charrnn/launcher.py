"""Ranks of mpiexec and threads of BLAS, which must be set up before numpy is imported.

mpiexec puts the rank of each process in its environment, before MPI is loaded. BLAS always gets one
thread: with another number it adds in another order, and the last bits differ. Threads of our own
share the lanes of a batch and add their results in a fixed order.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from charrnn.system import ONE_THREAD, cores

RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
READING = 0.3  # seconds in which mpiexec reads our messages: it drops the rest when it ends ranks


def processes() -> int:
    return _number_in(SIZE) or 1 if _number_in(RANK) is not None else 1


def is_one_of_several() -> bool:
    """Return True unless this process is alone, as far as is known."""
    return _number_in(RANK) is not None and _number_in(SIZE) != 1


def wait_for_first_rank() -> None:
    """Give rank 0 of this machine time to report an error that all ranks have."""
    local = _number_in(LOCAL_RANK)
    if _is_before_mpi() and (_number_in(RANK) if local is None else local):
        time.sleep(2.0)  # until rank 0 gets as far as this rank


def end_all(status: int) -> None:
    """End the other ranks after an error, before MPI is loaded: they would wait for this one.

    The mpiexec of MPICH ignores the exit status of a process, but obeys this command.
    """
    file = _number_in(("PMI_FD",))
    if file is not None and _is_before_mpi():
        time.sleep(READING)
        with suppress(OSError):
            os.write(file, f"cmd=abort exitcode={status}\n".encode())


def _is_before_mpi() -> bool:
    is_rank = _number_in(RANK) is not None and sys.argv[1:2] == ["train"]
    return is_rank and "mpi4py.MPI" not in sys.modules


def _number_in(names: Iterable[str]) -> int | None:
    """Return the number in the first of these environment variables that holds one."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdecimal()), None)


ENOUGH = 4  # threads: more of them mostly wait for Python's lock


def set_threads(threads: int | None = None) -> int:
    """Give BLAS one thread, before numpy is imported; return the number of our own threads."""
    os.environ.update(ONE_THREAD)
    return threads or min(cores(), ENOUGH)
