"""NumPy's matrix library held to one thread while we work, whoever imported it and when.

Lanes are shared out to threads of our own, which also take the elementwise work along. Threads of
the library's beside them only wait for each other: a run from Python would be up to a hundred times
as slow. Its number of threads can be changed while it runs, through the library itself, which NumPy
has loaded already. (The command line sets it before NumPy is imported, which is quicker.)
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
