"""What mpiexec tells the processes that it starts: in the environment, before MPI is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from charrnn.errors import SettingError

RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
RANK_HERE = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")  # of this machine


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


def is_unheard() -> bool:
    """Whether this is one of several, and the first of them on its machine speaks for it."""
    number = _first(RANK_HERE)
    return bool(_first(RANK) if number is None else number) and sys.argv[1:2] == ["train"]


def _first(names: Iterable[str]) -> int | None:
    """The first of these variables that holds a number."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdecimal()), None)
