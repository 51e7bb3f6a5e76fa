"""Hide from a child of a test what Windows does not have: its folder goes on PYTHONPATH."""

import os
import signal
import subprocess
import sys
from typing import Any

MODULES = ("fcntl", "termios", "resource")
ABSENT = {os: ("fork", "memfd_create", "sched_getaffinity"), signal: ("SIGHUP", "pthread_sigmask")}


class Popen(subprocess.Popen[Any]):
    def __init__(self, *line: Any, pass_fds: Any = (), **how: Any) -> None:
        assert not pass_fds, "pass_fds not supported on Windows."
        super().__init__(*line, **how)


subprocess.Popen = Popen  # type: ignore[misc]
for module in MODULES:
    sys.modules[module] = None  # type: ignore[assignment]  # importing it raises ImportError
for home, names in ABSENT.items():
    for name in names:
        if hasattr(home, name):
            delattr(home, name)
