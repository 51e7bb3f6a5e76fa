"""How the program ends.

0    done                          2    wrong usage, or a value out of range
1    a known failure               130  Ctrl-C       143  SIGTERM       129  SIGHUP
3    something is above --above
141  the reader of stdout left (128 + SIGPIPE, as cat and grep end)
"""

from __future__ import annotations

from typing import NamedTuple

FAILURE = 1
USAGE = 2
ABOVE = 3
INTERRUPTED = 130
READER_LEFT = 141


class Fault(NamedTuple):
    """How the program ends: a status, and what to say; nothing is said of an empty one."""

    status: int
    what: str = ""
    hint: str = ""
