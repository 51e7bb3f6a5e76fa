"""Limits that a child accepts before it starts."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable

MEBIBYTE = 1 << 20
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2  # of Linux


def limited(**limits: int) -> Callable[[], None]:
    """For Popen's preexec_fn: limited(AS=...) for memory, limited(FSIZE=...) for files."""

    def accept() -> None:
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))

    return accept


def unprivileged() -> None:
    """For preexec_fn: root no longer reads and writes what its permissions do not allow."""
    if os.geteuid() == 0:
        import ctypes

        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
