"""Processors and memory that this process may use.

Threads of NumPy's matrix library beside processes of charrnn would wait for each other, so the
library gets one thread, by variables of the environment that are set before NumPy is imported.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_CORES: Final = 8  # that a command uses unless it is asked for more
ONE_THREAD: Final = {  # for each library, before NumPy is imported
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1"
    for name in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")
}


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_for(wanted: int | None) -> int:
    """Return the number of processes that are wanted, or that suit this machine."""
    return wanted or min(cores(), MOST_CORES)


def available() -> int | None:
    """Return the bytes that this process may use; None if unknown."""
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next((1024 * int(at.split()[1]) for at in lines if "MemAvailable" in at), None)
    return None
