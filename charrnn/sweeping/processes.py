"""Runs in processes of their own on this machine, some at a time, each with one thread.

    with Processes(material, 2) as processes:
        for event in processes.events(tasks):
            ...

A process makes one run after the other. One that dies is told of, and its run is made once more,
from where it was saved, in a new one. Leaving stops all of them: each finishes its step and saves.

What a sweep and its processes say to each other: objects of JSON, one a line.

A process that makes one run of a sweep after the other, as it is told to.

    told        {"material": ...}, {"task": ...}, {"task": ...}, and in the end nothing more
    tells       {"share": 0.25}, ..., {"result": ...}

Where nothing more can come, because the sweep stops or is no longer there, it finishes its step,
saves, and ends. So it outlives nobody, however that one ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from charrnn.sweeping.grid import failed, from_json
from charrnn.sweeping.run import Ended, Material, Moved, Task


def line_of(what: Mapping[str, Any]) -> bytes:
    """The object on a line."""
    return json.dumps(what).encode() + b"\n"


def write(file: int, what: Mapping[str, Any]) -> None:
    """Write it to an open file; BrokenPipeError where nobody reads there any more."""
    left = memoryview(line_of(what))
    while left:
        left = left[os.write(file, left) :]


def read(file: int) -> Iterator[dict[str, Any]]:
    """The objects as they come, until the other side has closed its end.

    Nothing is read through Python's buffers: a thread may wait here when Python ends.
    """
    pieces: list[bytes] = []
    while block := os.read(file, 1 << 16):
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield json.loads(b"".join([*pieces, line]))
            pieces = []
        pieces.append(rest)


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

    for message in read(STDIN):
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
    from charrnn.sweeping.grid import Trial
    from charrnn.sweeping.run import Ended, Splits, Task, learned, material_of

    splits: Splits | None = None
    while (message := inbox.get()) is not None and not stop.is_set():
        task = Task(**{**message["task"], "trial": Trial(**message["task"]["trial"])})
        splits = splits or Splits(material_of(material))
        told = 0.0
        run = learned(task, splits)
        for event in run:
            if isinstance(event, Ended):
                write(said, {"result": event.result.as_json()})
            elif stop.is_set():
                run.close()
            elif time.monotonic() > told + OFTEN:
                told = time.monotonic()
                write(said, {"share": event.share})


TICK = 0.1  # seconds after which whoever watches may look at something else
TRIES = 2  # for a run whose process dies
CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
CODE += "from charrnn.sweeping.processes import main; main()"
THREADS = ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")


@dataclass(frozen=True)
class Lost:
    """A process has died in the middle of a run, which is made once more."""

    name: str
    why: str


Event = Moved | Ended | Lost


class Worker:
    """A process, and the run that it is at."""

    def __init__(self, material: Material, outbox: Outbox) -> None:
        self.task: Task | None = None
        command = [sys.executable, "-P", "-c", CODE, json.dumps(sys.path)]
        with _held_back():
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env=os.environ | _one_thread(),
            )
        self._listener = threading.Thread(target=self._listen, args=(outbox,), daemon=True)
        self._listener.start()
        self._say({"material": asdict(material)})

    def begin(self, task: Task) -> None:
        """Let it make that run."""
        self.task = task
        self._say({"task": asdict(task)})

    def stop(self) -> None:
        """Let it come to its end: now if it has nothing to do, else after its step."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Wait for its end; the exit status."""
        self.stop()
        status = self.process.wait()
        self._listener.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def _say(self, what: dict[str, object]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it is gone, which its silence tells
            write(self.process.stdin.fileno(), what)

    def _listen(self, outbox: Outbox) -> None:
        assert self.process.stdout is not None
        for message in read(self.process.stdout.fileno()):
            outbox.put((self, message))
        outbox.put((self, None))


Outbox = queue.SimpleQueue[tuple[Worker, dict[str, object] | None]]


class Processes:
    """Some processes, which are gone when this is left."""

    def __init__(self, material: Material, count: int) -> None:
        self.material, self.count = material, count
        self.is_stopping = False
        self._workers: list[Worker] = []
        self._outbox: Outbox = queue.SimpleQueue()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):  # at once
            for one in self._workers:
                one.process.kill()
        for one in self._workers:
            one.end()

    def stop(self) -> None:
        """Let every run finish its step and save; what has not begun is left."""
        self.is_stopping = True
        for one in self._workers:
            one.stop()

    def events(self, tasks: Iterable[Task]) -> Iterator[Event | None]:
        """Make these runs. What happens is told as it does; nothing, once in a while."""
        waiting = deque(tasks)
        lost: Counter[str] = Counter()
        while self._workers or (waiting and not self.is_stopping):
            while waiting and len(self._workers) < self.count and not self.is_stopping:
                worker = Worker(self.material, self._outbox)
                self._workers.append(worker)
                worker.begin(waiting.popleft())
            try:
                worker, message = self._outbox.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            task = worker.task
            if message is None:
                self._workers.remove(worker)
                status = worker.end()
                if task is None or self.is_stopping:
                    continue
                if not status:  # somebody has asked it to stop, and may ask us next
                    waiting.appendleft(task)
                    yield None
                    continue
                lost[task.trial.name] += 1
                why = how_it_ended(status)
                if lost[task.trial.name] < TRIES:
                    waiting.appendleft(task)
                    yield Lost(task.trial.name, why)
                else:
                    yield Ended(failed(task.trial, f"its process {why}, {TRIES} times"))
            elif "result" in message:
                worker.task = None
                if waiting and not self.is_stopping:
                    worker.begin(waiting.popleft())
                else:
                    worker.stop()
                yield Ended(from_json(message["result"]))  # type: ignore[arg-type]
            elif task is not None:
                yield Moved(task.trial.name, float(message["share"]))  # type: ignore[arg-type]


def how_it_ended(status: int) -> str:
    """The exit status of a process in words."""
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _one_thread() -> dict[str, str]:
    """Variables by which a matrix library, whichever it is, has one thread."""
    return {f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1" for name in THREADS}


@contextmanager
def _held_back() -> Iterator[None]:
    """What is started in here begins with signals held back, until it is ready for them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
