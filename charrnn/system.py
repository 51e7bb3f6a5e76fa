"""NumPy's matrix library held to one thread while we work, whoever imported it and when.

Lanes are shared out to threads of our own, which also take the elementwise work along. Threads of
the library's beside them only wait for each other: a run from Python would be up to a hundred times
as slow. Its number of threads can be changed while it runs, through the library itself, which NumPy
has loaded already. (The command line sets it before NumPy is imported, which is quicker.)

How much memory there is for this process, as far as the system tells.

One seed, many uses: each draws from a stream that is named by its number, and by what follows.

numpy.random.default_rng([seed, ORDER, epoch])"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

NAMES = (  # in OpenBLAS as NumPy's wheels carry it, and as systems and conda have it
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
    "MKL_{}_Num_Threads",
)


class Library(NamedTuple):
    """The two functions of the library that count."""

    get: Callable[[], int]
    set: Callable[[int], None]


@contextmanager
def single_threaded() -> Iterator[None]:
    """The matrix library has one thread in here, and afterwards as many as it had."""
    library = loaded()
    before = 1 if library is None else library.get()
    if library is None or before == 1:
        yield
        return
    library.set(1)
    try:
        yield
    finally:
        library.set(before)


@cache
def loaded() -> Library | None:
    """The library that NumPy multiplies with, if it is one that we know how to speak to."""
    for path in _candidates():
        with suppress(OSError):
            library = ctypes.CDLL(path)
            for name in NAMES:
                names = [name.format(word) for word in ("get", "set")]
                if name.startswith("MKL"):
                    names[0] = "MKL_Get_Max_Threads"
                if all(hasattr(library, one) for one in names):
                    return Library(*(getattr(library, one) for one in names))
    return None


def _candidates() -> Iterator[str | None]:
    """Files of libraries that are loaded already, to be opened by their names once more."""
    with suppress(OSError):  # Linux
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.partition("/")[2]
            if any(word in Path(path).name for word in ("openblas", "mkl_rt")):
                yield f"/{path}"
    home = Path(np.__file__).parent
    for folder in (home.parent / "numpy.libs", home / ".dylibs"):
        yield from map(str, sorted(folder.glob("*openblas*")))


UNLIMITED = 1 << 60
CGROUPS = Path("/sys/fs/cgroup")


def available() -> int | None:
    """The bytes that this process could have in all, those that it has among them."""
    return min(_limits(), default=None)


def give_back() -> None:
    """Give what is free here to the system, where the C library can: it would keep it for later."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _limits() -> Iterator[int]:
    """What is free on the machine, in the container and by the limits of the shell."""
    used = _table(Path("/proc/self/status"))
    resident, mapped = used.get("VmRSS", 0), used.get("VmSize", 0)
    free = _table(Path("/proc/meminfo")).get("MemAvailable")
    if free is not None:
        yield free + resident
    else:
        with suppress(ValueError, OSError, AttributeError):
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield from _of_container()
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if 0 <= limit < UNLIMITED:
            yield limit - mapped + resident


def _of_container() -> Iterator[int]:
    """The limits of our control group, and of the container around it."""
    groups = []
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        groups = [line.rpartition(":/")[2] for line in lines if line.startswith("0:")]
    for group in ("", *groups):
        for file in (CGROUPS / group / "memory.max", CGROUPS / "memory/memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # "max" is no limit
                yield int(file.read_text())


def _table(file: Path) -> dict[str, int]:
    """The bytes in a table of lines like "MemAvailable:  123 kB"."""
    found = {}
    with suppress(OSError):
        for line in file.read_text().splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                found[name] = 1024 * int(value.removesuffix(" kB"))
    return found


# 0 is the split of a corpus: default_rng(seed) is default_rng([seed, 0]).
WEIGHTS: Final = 1
REGULARIZATION: Final = 2  # then the step
ORDER: Final = 3  # then the epoch
OWN_INPUTS: Final = 4  # then the step
