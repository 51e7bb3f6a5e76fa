"""System calls that fail or kill the caller, by strace."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest

from tests.child import CHARRNN

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")


def strace(fault: str, command: Sequence[str] = CHARRNN) -> list[str]:
    """Return a command that runs the program with a fault such as "fsync:error=EIO"."""
    call = fault.partition(":")[0]
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    return [*traced, "-e", f"inject={fault}", *command]
