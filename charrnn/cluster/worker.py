"""What runs on a worker. It looks now and then whether anybody still wants it, and may tell how far
it is:

    def work(piece):
        for step in ...:
            task.check_wanted()
            task.report({"step": step})

A worker cannot stop a thread: who is cancelled, or has lost its client, has to notice. Outside of
a cluster both do nothing, so that the same function works anywhere.

What a worker makes ready once and uses for many pieces: in each of its threads one of its own,
for what draws and reads has buffers that two cannot share.

What has to be the same on all machines, so that their results are those of one."""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from charrnn.errors import CharrnnError, ClusterError
from charrnn.system import loaded

if TYPE_CHECKING:
    from distributed import Worker


Made = TypeVar("Made")

_cache_here = threading.local()


def prepared(key: str, make: Callable[[], Made]) -> Made:
    """What was made under this key in this thread, if it was the last; else it is made."""
    if getattr(_cache_here, "key", None) != key:
        _cache_here.key, _cache_here.made = (
            None,
            None,
        )  # two of them may be more than there is memory for
        _cache_here.made = make()
        _cache_here.key = key
    made: Made = _cache_here.made
    return made


THE_SAME = "Install the same on all machines."


@dataclass(frozen=True)
class Likeness:
    """What a process computes with."""

    charrnn: str  # a hash of its source: two checkouts may have one version
    numpy: str
    threads: int  # of the matrix library; 1 where that cannot be asked

    def check(self, other: Likeness, worker: str) -> None:
        """ClusterError where the other, of a worker, would come to other results."""
        if self.charrnn != other.charrnn:
            raise ClusterError(f"worker {worker} has another charrnn than there is here", THE_SAME)
        if self.numpy != other.numpy:
            raise ClusterError(
                f"worker {worker} has numpy {other.numpy}, and here is {self.numpy}", THE_SAME
            )
        if other.threads > 1:
            raise ClusterError(
                f"worker {worker} multiplies matrices with {other.threads} threads,"
                " whose sums are rounded otherwise",
                "Start it with OMP_NUM_THREADS=1, as dask worker does by itself if it has a nanny.",
            )


def here() -> Likeness:
    """That of this process."""
    library = loaded()
    threads = 1 if library is None else library.get()
    return Likeness(_code(), np.__version__, threads)


@cache
def _code() -> str:
    home = Path(__file__).parent.parent
    found = blake2b(digest_size=8)
    for file in sorted(home.rglob("*.py")):
        found.update(file.relative_to(home).as_posix().encode() + b"\0")
        found.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()


OFTEN: Final = 0.2  # seconds between two looks
DEPTH: Final = 20  # calls of a traceback that are sent
WANTED: Final = ("executing", "long-running", "resumed")  # states of a task of Dask

_here = threading.local()  # the task that runs in this thread


class Unwanted(Exception):  # noqa: N818  nothing is wrong
    """Nobody waits for this task any more."""


@dataclass(frozen=True)
class Failed:
    """An error on its way as a result: some that Dask cannot send leave the client waiting."""

    packed: bytes

    @classmethod
    def of(cls, error: Exception, worker: str) -> Failed:
        """That of a task that ran on this worker; a bug comes with where it was."""
        if not isinstance(error, CharrnnError):
            error.add_note(f"on worker {worker}:\n{traceback.format_exc(-DEPTH)}")
        error.__traceback__ = error.__cause__ = error.__context__ = None
        try:
            packed = pickle.dumps(error)
            pickle.loads(packed)
        except Exception:
            packed = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(packed)

    @property
    def error(self) -> Exception:
        """The error."""
        error: Exception = pickle.loads(self.packed)
        return error


class Running:
    """A task at work on this worker."""

    def __init__(self, worker: Worker, topic: str) -> None:
        self.worker = worker
        self.topic = topic
        self._key = worker.get_current_task()
        self._looked = time.monotonic()

    def check(self) -> None:
        """Unwanted where nobody waits for it; it looks no more often than is of use."""
        now = time.monotonic()
        if now - self._looked < OFTEN:
            return
        self._looked = now
        state = self.worker.state.tasks.get(self._key)
        if state is None or state.state not in WANTED:
            raise Unwanted


def run(
    function: Callable[..., Any],
    packed: bytes,
    shared: Any,
    client: Likeness,
    topic: str,
) -> Any:
    """What ``function`` makes of a pickled piece, on a worker that is like the client."""
    from distributed import get_worker

    worker, piece = get_worker(), pickle.loads(packed)
    client.check(here(), worker.address)
    _here.task = Running(worker, topic)
    try:
        return function(piece) if shared is None else function(piece, shared)
    except Unwanted:
        raise
    except Exception as error:
        return Failed.of(error, worker.address)
    finally:
        del _here.task


def check_wanted() -> None:
    """End this task, by an exception, where nobody waits for it any more."""
    running: Running | None = getattr(_here, "task", None)
    if running is not None:
        running.check()


def report(message: Mapping[str, Any]) -> None:
    """Tell the client something: names and plain values."""
    running: Running | None = getattr(_here, "task", None)
    if running is not None:
        running.worker.log_event(running.topic, dict(message))


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the files of this task, for a while. Should the worker be killed, Dask clears it
    away with the worker's own.
    """
    running: Running | None = getattr(_here, "task", None)
    parent = None if running is None else running.worker.local_directory
    return tempfile.TemporaryDirectory(prefix="charrnn-", dir=parent)
