"""A real Dask scheduler and real workers on the loopback address."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from charrnn.cluster.opening import ANY_PORT, LOOPBACK
from tests.child import PLAIN, Changes, wait_until

HERE = [f"--host={LOOPBACK}", "--no-dashboard", f"--dashboard-address={ANY_PORT}"]
SOON = {  # settings of Dask for connections within this machine
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
}
IDLE = {  # settings of Dask with which idle processes need a quarter of the time
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
}


def need_dask() -> None:
    """Skip a test module if Dask is not installed. To import it takes half a second."""
    if find_spec("distributed") is None:
        pytest.skip("Dask is not installed: pip install '.[cluster]'", allow_module_level=True)


class Machines:
    """A scheduler and worker processes; each worker stands for a machine."""

    def __init__(self, folder: Path, env: Changes = SOON) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.env = env
        self.started: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []  # the worker processes among them

    def start(self, *args: str, env: Changes | None = None) -> subprocess.Popen[bytes]:
        """Start a process of Dask."""
        given = PLAIN | IDLE | dict(self.env) | dict(env or {})
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *args],
                env={name: value for name, value in given.items() if value is not None},
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def schedule(self, *more: str) -> subprocess.Popen[bytes]:
        """Start the scheduler and wait until it accepts connections."""
        where = f"--scheduler-file={self.file}"
        process = self.start("scheduler", *HERE, "--port=0", where, *more)
        wait_until(lambda: bool(self.file.exists() and self.file.read_text()))
        return process

    def work(
        self, *more: str, nanny: bool = False, env: Changes | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a worker process with one thread; a nanny starts it anew when it dies."""
        where = [f"--scheduler-file={self.file}", f"--local-directory={self.folder}"]
        how = ["--nthreads=1", "--memory-limit=1GB", "--death-timeout=30"]
        if not nanny:
            how.append("--no-nanny")
        process = self.start("worker", *where, *how, *HERE, *more, env=env)
        self.workers.append(process)
        return process

    def until_there_are(self, count: int) -> None:
        """Wait until this many workers are connected."""
        from distributed import Client

        with Client(self.address, timeout="30s", set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)

    def lose_a_machine(self) -> None:
        """Kill the first worker process, and all that it has started."""
        kill_session(self.workers.pop(0).pid)

    def kill_a_worker(self) -> None:
        """Kill a worker, not its nanny, as soon as one has started."""
        found: list[int] = []

        def is_there() -> bool:
            found[:] = [worker for machine in self.workers for worker in children_of(machine.pid)]
            return bool(found)

        wait_until(is_there)
        os.kill(found[0], signal.SIGKILL)

    @property
    def address(self) -> str:
        """The address of the scheduler."""
        return str(json.loads(self.file.read_text())["address"])

    def end(self) -> None:
        """Kill all processes and their children."""
        for process in self.started:
            with process:
                kill_session(process.pid)


def children_of(nanny: int) -> list[int]:
    """Return the worker processes of a nanny."""
    return [pid for pid in processes_of(nanny) if "spawn_main" in command_of(pid)]


def command_of(process: int) -> str:
    """Return the command line of a process; "" if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def processes_of(leader: int) -> list[int]:
    """Return the processes of a session, the leader included."""
    running = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [process for process in running if session_of(process) == leader]


def kill_session(leader: int) -> None:
    """Kill all processes of a session."""
    for process in processes_of(leader):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def session_of(process: int) -> int | None:
    """Return the session of a process; None if it has ended."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None


@contextmanager
def machines(
    folder: Path, workers: int, env: Changes = SOON, *, nanny: bool = False
) -> Iterator[Machines]:
    """Run a scheduler and workers until the end of the block."""
    made = Machines(folder, env)
    try:
        made.schedule()
        for _ in range(workers):
            made.work(nanny=nanny)
        yield made
    finally:
        made.end()


def when_three_are_there(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]
) -> list[int]:
    """Call a function when the third result arrives. Return a list that grows with each result."""
    from charrnn.cluster.pool import Cluster

    taken: list[int] = []
    given = Cluster._result

    def counted(self: Cluster, *args: Any) -> Any:
        taken.append(len(taken))
        if len(taken) == 3:
            happens()
        return given(self, *args)

    monkeypatch.setattr(Cluster, "_result", counted)
    return taken


def small_pieces(monkeypatch: pytest.MonkeyPatch, samples: int = 5, symbols: int = 20) -> None:
    """Cut work into pieces of so many samples and symbols."""
    from charrnn.cluster import pool
    from charrnn.scoring import pieces

    for name in ("FIRST_PIECE", "LARGEST_PIECE"):
        monkeypatch.setattr(pool, name, samples)
    monkeypatch.setattr(pieces, "PIECE", symbols)
