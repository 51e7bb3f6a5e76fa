"""Runs of a sweep in processes of this machine, or on the workers of a Dask cluster.

A process gets lines of JSON, {"material": ...}, {"task": ...}, {"task": ...}, and sends back
{"share": 0.25}, {"result": ...}. At the end of its pipe it finishes its step, saves and ends, so it
never outlives the sweep, even a killed one. If it dies, its run is repeated from its last save.
Dask workers get the texts once and send back the model file of each run; they need no shared disk.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from charrnn.cluster.worker import cached, check_wanted, own_folder, report
from charrnn.corpus.files import byte_blocks, is_of_script, path_of
from charrnn.errors import CharrnnError
from charrnn.json_lines import parse, write
from charrnn.model_file import saving
from charrnn.sweeping.grid import Result, Trial, failure, from_json
from charrnn.sweeping.run import Advanced, Ended, Material, Splits, Task, make_run
from charrnn.system import ONE_THREAD

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster


Message = dict[str, Any]

OFTEN = 0.2  # seconds between two reports of progress
TICK = 0.1  # seconds after which a caller of ``events`` gets control again
TRIES = 2  # for a run whose process crashes
CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
CODE += "from charrnn.sweeping.processes import main; main()"
OF_TERMINAL = [  # signals that a terminal sends to all processes started from it
    getattr(signal, name) for name in ("SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
HANDLED = [*OF_TERMINAL, signal.SIGTERM]


def read(file: int) -> Iterator[Message]:
    """Yield objects as they come, until the other side closes its end. Skip other lines.

    Python's buffers are not used: their locks would hang a thread that waits here at exit.
    """
    pieces: list[bytes] = []
    while block := os.read(file, 1 << 16):
        *lines, rest = block.split(b"\n")
        for line in lines:
            with suppress(ValueError):  # such as what sitecustomize prints
                yield parse(b"".join([*pieces, line]), largest=math.inf)
            pieces = []
        pieces.append(rest)


def main() -> None:
    """Make the runs that arrive on standard input, in a process of its own."""
    stop = threading.Event()
    for number in OF_TERMINAL:  # the sweep handles them and closes the pipe
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if hasattr(signal, "pthread_sigmask"):  # blocked until here by ``signals_blocked``
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    out = os.dup(1)
    os.write(out, b"\n")  # ends a line that another module may have begun
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # other output must not mix with messages
    inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def listen() -> None:
        for message in read(0):
            inbox.put(message)
        stop.set()
        inbox.put(None)

    threading.Thread(target=listen, daemon=True).start()
    first = inbox.get()
    with suppress(BrokenPipeError):
        if first is not None:
            work(Material.from_json(first["material"]), inbox, stop, out)


def work(
    material: Material, inbox: queue.SimpleQueue[Message | None], stop: threading.Event, out: int
) -> None:
    """Make one run after another, until no more are requested."""
    splits: Splits | None = None
    while (message := inbox.get()) is not None and not stop.is_set():
        task = Task(**{**message["task"], "trial": Trial(**message["task"]["trial"])})
        splits = splits or Splits(material)
        reported = 0.0
        run = make_run(task, splits)
        for event in run:
            if isinstance(event, Ended):
                write(out, {"result": event.result.as_json()})
            elif stop.is_set():
                run.close()
            elif time.monotonic() > reported + OFTEN:
                reported = time.monotonic()
                write(out, {"share": event.share})


@dataclass(frozen=True)
class Lost:
    """The process of a run has died; the run is repeated."""

    name: str
    why: str


Event = Advanced | Ended | Lost


class Worker:
    def __init__(self, material: Material, outbox: Outbox) -> None:
        self.task: Task | None = None
        command = [sys.executable, "-P", "-c", CODE, json.dumps(sys.path)]
        pipe, env = subprocess.PIPE, os.environ | ONE_THREAD
        with signals_blocked():
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0, env=env)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

        def listen() -> None:
            for message in read(self._out.fileno()):
                outbox.put((self, message))
            outbox.put((self, None))

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()
        self._send({"material": asdict(material)})

    def begin(self, task: Task) -> None:
        self.task = task
        self._send({"task": asdict(task)})

    def stop(self) -> None:
        """Let the process end: now if it is idle, else after its step."""
        self._in.close()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit status."""
        self.stop()
        status = self.process.wait()
        self._listener.join()
        self._out.close()
        return status

    def _send(self, message: Message) -> None:
        with suppress(OSError):  # the process has ended, which the listener handles
            write(self._in.fileno(), message)


Outbox = queue.SimpleQueue[tuple[Worker, Message | None]]


class Processes:
    """The processes of a sweep. Leaving the context ends them."""

    def __init__(self, material: Material, count: int) -> None:
        self.material, self.count = material, count
        self.is_stopping = False
        self._workers: list[Worker] = []
        self._outbox: Outbox = queue.SimpleQueue()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        for worker in self._workers:
            if kind is not None and issubclass(kind, KeyboardInterrupt):
                worker.process.kill()
        for worker in self._workers:
            worker.wait()

    def stop(self) -> None:
        """Let each run finish its step and save, and begin no more."""
        self.is_stopping = True
        for worker in self._workers:
            worker.stop()

    def events(self, tasks: Iterable[Task]) -> Iterator[Event | None]:
        """Make the runs, and yield events as they happen and None every now and then."""
        waiting = deque(tasks)
        losses: Counter[str] = Counter()
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
                status = worker.wait()
                if task is None or self.is_stopping:
                    continue
                if not status:  # something has stopped the process, and may stop us next
                    waiting.appendleft(task)
                    yield None
                    continue
                losses[task.trial.name] += 1
                why = status_in_words(status)
                if losses[task.trial.name] < TRIES:
                    waiting.appendleft(task)
                    yield Lost(task.trial.name, why)
                else:
                    yield Ended(failure(task.trial, f"its process {why}, {TRIES} times"))
            elif "result" in message:
                worker.task = None
                if waiting and not self.is_stopping:
                    worker.begin(waiting.popleft())
                else:
                    worker.stop()
                yield Ended(from_json(message["result"]))
            elif task is not None:
                yield Advanced(task.trial.name, float(message["share"]))


def status_in_words(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Start processes in here with their signals blocked until they can handle them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def make(piece: tuple[Task, bytes | None], material: Material) -> tuple[Result, bytes | None]:
    """Make a run on a worker, from its model file if there is one. Return the result and file."""
    task, saved = piece
    with own_folder() as folder:
        file = Path(folder, "model.npz")
        if saved is not None:
            file.write_bytes(saved)
        reported, result = 0.0, None
        splits = cached(material.key, lambda: Splits(material))
        with closing(make_run(replace(task, file=str(file)), splits)) as run:
            for event in run:
                if isinstance(event, Ended):
                    result = event.result
                    break
                check_wanted()
                if time.monotonic() > reported + OFTEN:
                    reported = time.monotonic()
                    report({"name": event.name, "share": event.share})
        assert result is not None
        if result.error is not None:  # names the file as the user does
            result = replace(result, error=result.error.replace(str(file), task.model))
        return result, file.read_bytes() if file.exists() else None


def share_runs(
    cluster: Cluster, tasks: Iterable[Task], material: Material, show: Callable[[Advanced], None]
) -> Iterator[Ended]:
    """Let the workers make the runs. Yield each as it ends, once its model file is written."""

    unreadable: list[Ended] = []

    def pieces() -> Iterator[tuple[Task, bytes | None]]:
        for task in tasks:
            try:
                saved = Path(task.model).read_bytes() if os.path.exists(task.model) else None
            except OSError as error:
                unreadable.append(Ended(failure(task.trial, f"{task.model}: {error.strerror}")))
                continue
            yield replace(task, home=os.path.realpath(task.model)), saved

    cluster.listen(lambda message: show(Advanced(message["name"], message["share"])))
    start = [] if material.start_from is None else [material.start_from]
    names = (*material.files, *material.valid_files, *start)
    contents = {name: Path(path_of(name)).read_bytes() for name in names}
    contents |= {name: b"".join(byte_blocks(name)) for name in filter(is_of_script, names)}
    shared = cluster.share(replace(material, contents=contents, key=uuid4().hex))
    outcomes = cluster.as_completed(make, pieces(), shared, lambda piece: piece[0].trial.name)
    for (task, _), outcome, error in outcomes:
        if error is not None:
            yield Ended(failure(task.trial, error.what))
            continue
        result, content = outcome
        try:
            if content is not None:
                with saving.locked(task.model):
                    saving.replace(task.model, len(content), [content])
        except CharrnnError as busy_or_full:
            result = failure(task.trial, busy_or_full.what)
        yield Ended(result)
    yield from unreadable
