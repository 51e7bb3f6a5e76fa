"""Threads: ours, never the matrix library's.

BLAS gets one thread, always: with another number of them it adds up in another order, and the last
bits differ. The lanes of a batch are shared out to threads of our own instead, which also take
the elementwise work along, and whose sums are added in a fixed order. NumPy reads these variables
when it is imported, which then takes half as long.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charrnn.cli.console import Console

BLAS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
ENOUGH = 4  # beyond that they mostly wait for each other, at Python's lock


def prepare(threads: int | None = None) -> int:
    """How many threads to work with. To be called before anything imports numpy."""
    for name in BLAS:
        os.environ[name] = "1"
    return threads or min(cores(), ENOUGH)


def note_if_refused(console: Console) -> None:
    """Say so where the system had no threads for us."""
    from charrnn.network.thread_pool import Threads

    if Threads.were_refused:
        console.note("the system starts no more threads: one does all the work, as well as several")


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
