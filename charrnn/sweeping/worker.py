"""A process that makes one run of a sweep after the other, as it is told to.

    told        {"material": ...}, {"task": ...}, {"task": ...}, and in the end nothing more
    tells       {"share": 0.25}, ..., {"result": ...}

Where nothing more can come, because the sweep stops or is no longer there, it finishes its step,
saves, and ends. So it outlives nobody, however that one ended.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from contextlib import suppress
from typing import Any

OFTEN = 0.2  # seconds from one word of how far it is to the next
STDIN, STDOUT = 0, 1


def main() -> None:
    """Make the runs that are asked for."""
    stop = threading.Event()
    for number in signals_of_a_terminal():  # who started us hears them, and tells us
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if hasattr(signal, "pthread_sigmask"):  # held back while there was nobody to hear them
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heard())
    said = os.dup(STDOUT)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT)  # whatever else is printed is no word of ours
    inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(inbox, stop), daemon=True).start()
    first = inbox.get()
    with suppress(BrokenPipeError):
        if first is not None:
            work(first["material"], inbox, stop, said)


def signals_of_a_terminal() -> list[int]:
    """Those that a terminal sends to all that were started from it."""
    names = ("SIGINT", "SIGHUP", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def heard() -> list[int]:
    """All that a worker has something to do about."""
    return [*signals_of_a_terminal(), signal.SIGTERM]


def listen(inbox: queue.SimpleQueue[dict[str, Any] | None], stop: threading.Event) -> None:
    """Take in what is said; in the end, or once nobody is there to say more, stop."""
    from charrnn.sweeping import messages

    for message in messages.read(STDIN):
        inbox.put(message)
    stop.set()
    inbox.put(None)


def work(
    material: dict[str, Any],
    inbox: queue.SimpleQueue[dict[str, Any] | None],
    stop: threading.Event,
    said: int,
) -> None:
    """Make one run after the other, until no more are asked for."""
    from charrnn.sweeping import messages
    from charrnn.sweeping.grid import Trial
    from charrnn.sweeping.one_run import Ended, Task, learned
    from charrnn.sweeping.shared_data import Splits, material_of

    splits: Splits | None = None
    while (message := inbox.get()) is not None and not stop.is_set():
        task = Task(**{**message["task"], "trial": Trial(**message["task"]["trial"])})
        splits = splits or Splits(material_of(material))
        told = 0.0
        run = learned(task, splits)
        for event in run:
            if isinstance(event, Ended):
                messages.write(said, {"result": event.result.as_json()})
            elif stop.is_set():
                run.close()
            elif time.monotonic() > told + OFTEN:
                told = time.monotonic()
                messages.write(said, {"share": event.share})
