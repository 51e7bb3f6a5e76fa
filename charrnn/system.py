"""The threads of NumPy's matrix library, the memory of this process, and its random streams.

Threads of the matrix library beside our own would wait for each other: a run can be a hundred times
slower. So the library gets one thread. The command line sets that before it imports NumPy, and
Python calls the library that NumPy has loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

NAMES = (  # of OpenBLAS in NumPy's wheels, and of the libraries of systems and conda
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
    "MKL_{}_Num_Threads",
)
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


def set_threads(wanted: int | None = None) -> int:
    """Give BLAS one thread, before numpy is imported; return the number of processes."""
    os.environ.update(ONE_THREAD)
    return cores_for(wanted)


class Library(NamedTuple):
    get: Callable[[], int]  # the number of threads
    set: Callable[[int], None]


@contextmanager
def single_threaded() -> Iterator[None]:
    """Give the matrix library one thread inside, and its former number afterwards."""
    library = matrix_library()
    before = 1 if library is None else library.get()
    if library is not None and before != 1:
        library.set(1)
    try:
        yield
    finally:
        if library is not None and before != 1:
            library.set(before)


@cache
def matrix_library() -> Library | None:
    """Return the matrix library of NumPy, if it is OpenBLAS or MKL."""
    import ctypes

    import numpy as np

    paths = []
    with suppress(OSError):  # Linux: the loaded libraries
        lines = Path("/proc/self/maps").read_text().splitlines()
        files = [Path("/" + line.partition("/")[2]) for line in lines]
        paths += [file for file in files if "openblas" in file.name or "mkl_rt" in file.name]
    home = Path(np.__file__).parent
    for folder in (home.parent / "numpy.libs", home / ".dylibs"):
        paths += sorted(folder.glob("*openblas*"))
    for path in paths:
        with suppress(OSError):
            library = ctypes.CDLL(str(path))
            for pattern in NAMES:
                names = [pattern.format(word) for word in ("get", "set")]
                if pattern.startswith("MKL"):
                    names[0] = "MKL_Get_Max_Threads"
                if all(hasattr(library, name) for name in names):
                    return Library(*(getattr(library, name) for name in names))
    return None


def available() -> int | None:
    """Return the bytes that this process may use in all; None if unknown."""
    return min(_limits(), default=None)


def give_back() -> None:
    """Return freed memory to the system, if the C library can."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _limits() -> Iterator[int]:
    """Yield the limits of the machine, the container and the shell."""
    used = _table(Path("/proc/self/status"))
    resident, mapped = used.get("VmRSS", 0), used.get("VmSize", 0)
    free = _table(Path("/proc/meminfo")).get("MemAvailable")
    if free is not None:
        yield free + resident
    else:
        with suppress(ValueError, OSError, AttributeError):
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    groups = [""]  # that of the container, and ours
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        groups += [line.rpartition(":/")[2] for line in lines if line.startswith("0:")]
    for file in (*(f"{group}/memory.max" for group in groups), "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max": unlimited
            yield int(Path(f"/sys/fs/cgroup/{file}").read_text())
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if 0 <= limit < 1 << 60:  # more is unlimited
            yield limit - mapped + resident


def _table(file: Path) -> dict[str, int]:
    """Return the bytes in a table of lines like "MemAvailable:  123 kB"."""
    sizes = {}
    with suppress(OSError):
        for line in file.read_text().splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                sizes[name] = 1024 * int(value.removesuffix(" kB"))
    return sizes


# Each use of a seed has a stream of its own: default_rng([seed, ORDER, epoch]). The split of a
# corpus is number 0, because default_rng(seed) is default_rng([seed, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step
