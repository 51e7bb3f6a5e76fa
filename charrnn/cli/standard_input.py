"""Whether a text comes in at standard input, where none was named."""

from __future__ import annotations

import os
import select
import stat
import sys
from io import BufferedReader

from charrnn.cli.console import Console

SOON = 1.0  # seconds until we say what we wait for


def has_text(console: Console) -> bool:
    """Whether it is a pipe or a file with something in it.

    A terminal has nothing, nor has /dev/null, which a job of cron is given. What a pipe holds does
    not depend on when it comes, so there we wait for the first byte or the end.
    """
    try:
        file = sys.stdin.fileno()
        mode = os.fstat(file).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
            return False
        if os.name != "nt":
            os.set_blocking(file, True)
            if not select.select([file], [], [], SOON)[0]:
                console.note("waiting for text from standard input")
        stream = sys.stdin.buffer
        if isinstance(stream, BufferedReader) and stream.peek(1):
            return True
    except (AttributeError, OSError, ValueError):  # closed, not for reading, or a stand-in
        return False
    console.note("standard input is empty: what was held out in training is read")
    return False
