"""Processors and memory that this process may use.

Threads of NumPy's matrix library beside processes of charrnn would wait for each other, and change
the last bits. So the program and its children give the library one thread. Elsewhere the threads
belong to the person, and training is left to children.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

NUMPY_IS_LATER: Final = "numpy" not in sys.modules  # ``charrnn`` imports this file first
MOST_CORES: Final = 8  # that a command uses unless it is asked for more
ONE_THREAD: Final = {  # for each library, before NumPy is imported
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1"
    for name in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")
}

ROOT: Final = Path("/")
# What a control group, of version 2 or 1, has cached of files; "total_" includes groups inside
CACHED: Final = ("active_file", "inactive_file"), ("total_active_file", "total_inactive_file")


def limit_threads() -> None:
    """Give NumPy's matrix library one thread, unless the person has chosen; before NumPy."""
    for name, one in ONE_THREAD.items():
        os.environ.setdefault(name, one)


def has_one_thread() -> bool:
    """Return whether NumPy's matrix library is known to have one thread in this process."""
    return NUMPY_IS_LATER and os.environ | ONE_THREAD == os.environ


def cores(root: Path = ROOT) -> int:
    """Return the number of whole cores that this process may use, by affinity and quota."""
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    for group in _groups(root, "cpu"):
        files = "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"  # of version 2, and of 1
        numbers = [number for file in files for number in _numbers(group / file)]
        if len(numbers) == 2 and numbers[0] > 0:  # a quota of time and its period; -1: no quota
            count = min(count, numbers[0] // numbers[1])
    return max(1, count)


def cores_for(wanted: int | None) -> int:
    """Return the number of processes that are wanted, or that suit this machine."""
    return wanted or min(cores(), MOST_CORES)


def available(root: Path = ROOT) -> int | None:
    """Return the bytes that this process may use; None if unknown."""
    free = [1024 * size for size in _numbers(root / "proc/meminfo", "MemAvailable:")]
    for group in _groups(root, "memory"):  # of version 2, or 1
        limits = _numbers(group / "memory.max") or _numbers(group / "memory.limit_in_bytes")
        used = _numbers(group / "memory.current") or _numbers(group / "memory.usage_in_bytes")
        if limits and used:
            cached = max(sum(_numbers(group / "memory.stat", *names)) for names in CACHED)
            free.append(limits[0] - used[0] + cached)  # what is cached of files is free
    with suppress(ImportError):  # on Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]  # of addresses: ulimit -v
        if limit != resource.RLIM_INFINITY:
            free += [limit - 1024 * size for size in _numbers(root / "proc/self/status", "VmSize:")]
    return max(0, min(free)) if free else None


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the control group of this process and of the groups around it."""
    with suppress(OSError, ValueError):  # the last: a name that is not UTF-8
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)  # version 2 names no controllers
            if controllers and controller not in controllers.split(","):
                continue
            top = root / "sys/fs/cgroup" / (controller if controllers else "")
            group = top / name.lstrip("/")
            yield from [group, *group.parents[: len(group.parts) - len(top.parts)]]


def _numbers(file: Path, *names: str) -> list[int]:
    """Return the whole numbers in a file of the system, or those after these names."""
    with suppress(OSError):
        words = file.read_text().split()
        if names:
            words = [words[words.index(name) + 1] for name in names if name in words]
        return [int(word) for word in words if word.removeprefix("-").isdigit()]
    return []
