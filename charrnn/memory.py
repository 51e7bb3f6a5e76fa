"""How much memory there is for this process, as far as the system tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

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
