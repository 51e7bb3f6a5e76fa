"""Tasks for workers, which import them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from charrnn.cluster import worker
from charrnn.errors import CorpusError


def twice(number: int) -> int:
    """A quick task."""
    return 2 * number


def times(number: int, factor: int) -> int:
    """A quick task with a shared value."""
    return number * factor


def fail_at_three(number: int) -> int:
    """A task that fails for one piece."""
    if number == 3:
        raise CorpusError("piece three is wrong", "Mend it.", "text")
    return number


def fall(depth: int) -> int:
    """A bug with a long traceback."""
    return fall(depth + 1)


def die(_: object) -> None:
    """A task that kills its worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: str) -> str:
    """A task that kills its worker the first time."""
    if not Path(mark).exists():
        Path(mark).touch()
        die(mark)
    return mark


def go_on(folder: str) -> None:
    """Run until the client cancels it. One file marks the begin, another the end."""
    me = Path(folder) / str(os.getpid())
    me.with_suffix(".begun").touch()
    try:
        while True:
            worker.check_wanted()
            time.sleep(0.01)
    finally:
        me.with_suffix(".over").touch()


def cpu() -> float:
    """Return the CPU seconds of this process."""
    return time.process_time()


def meet(folder: str) -> int:
    """Wait until another worker runs this task, too."""
    Path(folder, str(os.getpid())).touch()
    while len(list(Path(folder).iterdir())) < 2:
        worker.check_wanted()
        time.sleep(0.01)
    return os.getpid()


def tell(number: int) -> int:
    """Send a report to the client."""
    worker.report({"number": number})
    return number
