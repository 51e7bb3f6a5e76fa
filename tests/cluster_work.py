"""What workers are given to do in tests: they import it by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from charrnn.cluster import worker
from charrnn.errors import CorpusError


def twice(number: int) -> int:
    """Something quick."""
    return 2 * number


def times(number: int, factor: int) -> int:
    """The same with what is shared."""
    return number * factor


def fail_at_three(number: int) -> int:
    """What goes wrong for one piece."""
    if number == 3:
        raise CorpusError("piece three is wrong", "Mend it.", "text", line=3)
    return number


def fall(depth: int) -> int:
    """A bug, whose traceback is long."""
    return fall(depth + 1)


def die(_: object) -> None:
    """What no worker survives."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: str) -> str:
    """The same, the first time."""
    if not Path(mark).exists():
        Path(mark).touch()
        die(mark)
    return mark


def go_on(folder: str) -> None:
    """Never end, until nobody wants it; a file says that it has begun, another that it is over."""
    me = Path(folder) / str(os.getpid())
    me.with_suffix(".begun").touch()
    try:
        while True:
            worker.check_wanted()
            time.sleep(0.01)
    finally:
        me.with_suffix(".over").touch()


def cpu() -> float:
    """The seconds that this process has computed."""
    return time.process_time()


def meet(folder: str) -> int:
    """Wait until another worker is at work, too."""
    Path(folder, str(os.getpid())).touch()
    while len(list(Path(folder).iterdir())) < 2:
        worker.check_wanted()
        time.sleep(0.01)
    return os.getpid()


def tell(number: int) -> int:
    """Report something."""
    worker.report({"number": number})
    return number
