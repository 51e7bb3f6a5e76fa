"""Runs in processes of their own on this machine, some at a time, each with one thread.

    with Processes(material, 2) as processes:
        for event in processes.events(tasks):
            ...

A process makes one run after the other. One that dies is told of, and its run is made once more,
from where it was saved, in a new one. Leaving stops all of them: each finishes its step and saves.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from types import TracebackType

from charrnn.sweeping import messages
from charrnn.sweeping.one_run import Ended, Moved, Task
from charrnn.sweeping.result import failed, from_json
from charrnn.sweeping.shared_data import Material
from charrnn.sweeping.worker import heard

TICK = 0.1  # seconds after which whoever watches may look at something else
TRIES = 2  # for a run whose process dies
CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
CODE += "from charrnn.sweeping.worker import main; main()"
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
            messages.write(self.process.stdin.fileno(), what)

    def _listen(self, outbox: Outbox) -> None:
        assert self.process.stdout is not None
        for message in messages.read(self.process.stdout.fileno()):
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
