"""Limits for child processes."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable

MEBIBYTE = 1 << 20
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2  # of Linux


def limited(**limits: int) -> Callable[[], None]:
    """Return a preexec_fn for Popen that sets limits: AS= for memory, FSIZE= for files."""

    def accept() -> None:
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))

    return accept


def unprivileged() -> None:
    """As preexec_fn: make file permissions apply to root, too."""
    if os.geteuid() == 0:
        import ctypes

        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
