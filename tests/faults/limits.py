"""Limits that a child accepts before it starts."""

from __future__ import annotations

import resource
from collections.abc import Callable

MEBIBYTE = 1 << 20


def limited(**limits: int) -> Callable[[], None]:
    """For Popen's preexec_fn: limited(AS=...) for memory, limited(FSIZE=...) for files."""

    def accept() -> None:
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))

    return accept
