"""Code that runs on a worker: compare versions, draw samples, score pieces, cache, report.

A worker cannot stop a thread, so a task checks regularly whether its client still wants the result.
Outside of a cluster, ``check_wanted`` and ``report`` do nothing.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

import numpy as np

from charrnn.errors import CharrnnError, ClusterError
from charrnn.model import Model
from charrnn.sampling.sampler import Conditions, Fragment, Sample, SampleConfig, Sampler, redraw
from charrnn.scoring.predictor import combine
from charrnn.system import matrix_library

if TYPE_CHECKING:
    from distributed import Worker

SAME_INSTALL: Final = "Install the same versions on all machines."
POLL: Final = 0.2  # seconds between two checks whether the result is wanted
DEPTH: Final = 20  # calls of a traceback that are sent
WANTED: Final = ("executing", "long-running", "resumed")  # Dask's states of a wanted task
CHECK_WORK: Final = 1 << 33  # multiply-adds between two checks whether a score is still wanted

Made = TypeVar("Made")
Work = Callable[..., Any]  # on a piece, and on a shared value if there is one

_cache = threading.local()  # key and value of the last ``cached`` call in this thread
_thread = threading.local()  # the task of this thread


@dataclass(frozen=True)
class Environment:
    """The versions and threads that decide the last bit of a result."""

    charrnn: str  # a hash of the source, because two checkouts can share a version
    numpy: str
    threads: int  # of the BLAS library; 1 if unknown

    def check(self, other: Environment, name: str) -> None:
        """Raise ClusterError if a worker's environment would give different results."""
        if self.charrnn != other.charrnn:
            what = f"worker {name} has a different charrnn than this machine"
            raise ClusterError(what, SAME_INSTALL)
        if self.numpy != other.numpy:
            what = f"worker {name} has numpy {other.numpy}, this machine {self.numpy}"
            raise ClusterError(what, SAME_INSTALL)
        if other.threads > 1:
            many = f"{other.threads} threads, which changes the rounding"
            hint = "Start it with OMP_NUM_THREADS=1 (dask worker sets this itself with a nanny)."
            raise ClusterError(f"worker {name} multiplies matrices with {many}", hint)


def environment() -> Environment:
    library = matrix_library()
    return Environment(_source_hash(), np.__version__, 1 if library is None else library.get())


@cache
def _source_hash() -> str:
    home = Path(__file__).parent.parent
    digest = blake2b(digest_size=8)
    for file in sorted(home.rglob("*.py")):
        digest.update(file.relative_to(home).as_posix().encode() + b"\0")
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def cached(key: str, make: Callable[[], Made]) -> Made:
    """Return the value that this thread made last under this key; make it if the key is new.
    Threads do not share values, because samplers and scorers have buffers.
    """
    if getattr(_cache, "key", None) != key:
        _cache.key = _cache.value = None  # free the old value first: two may not fit in memory
        _cache.value = make()
        _cache.key = key
    value: Made = _cache.value
    return value


class Unwanted(Exception):  # noqa: N818  not an error
    """Stops a task whose result is no longer wanted."""


@dataclass(frozen=True)
class Failed:
    """An error as a result, because the client hangs on errors that Dask cannot send."""

    packed: bytes

    @classmethod
    def of(cls, error: Exception, address: str) -> Failed:
        """Pack the error of a task; a bug keeps its traceback as a note."""
        if not isinstance(error, CharrnnError):
            error.add_note(f"on worker {address}:\n{traceback.format_exc(-DEPTH)}")
        error.__traceback__ = error.__cause__ = error.__context__ = None
        try:
            packed = pickle.dumps(error)
            pickle.loads(packed)
        except Exception:  # an error class of any library may fail to pickle
            packed = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(packed)


class Task:
    """The task that runs in this thread of a worker."""

    def __init__(self, worker: Worker, topic: str) -> None:
        self.worker, self.topic = worker, topic
        self.key = worker.get_current_task()
        self.checked = time.monotonic()


def run(function: Work, packed: bytes, shared: Any, client: Environment, topic: str) -> Any:
    """Run a function on a pickled piece, on a worker whose environment equals the client's."""
    from distributed import get_worker

    worker, piece = get_worker(), pickle.loads(packed)
    client.check(environment(), worker.address)
    _thread.task = Task(worker, topic)
    try:
        return function(piece) if shared is None else function(piece, shared)
    except Unwanted:
        raise
    except Exception as error:
        return Failed.of(error, worker.address)
    finally:
        del _thread.task


def check_wanted() -> None:
    """Raise Unwanted if the client no longer waits for the result of this task."""
    task: Task | None = getattr(_thread, "task", None)
    if task is None or time.monotonic() - task.checked < POLL:
        return
    task.checked = time.monotonic()
    state = task.worker.state.tasks.get(task.key)
    if state is None or state.state not in WANTED:
        raise Unwanted


def report(message: Mapping[str, Any]) -> None:
    """Send a message of names and plain values to the client."""
    task: Task | None = getattr(_thread, "task", None)
    if task is not None:
        task.worker.log_event(task.topic, dict(message))


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder for this task. Dask removes it if the worker is killed."""
    task: Task | None = getattr(_thread, "task", None)
    parent = None if task is None else task.worker.local_directory
    return tempfile.TemporaryDirectory(prefix="charrnn-", dir=parent)


@dataclass(frozen=True, eq=False)
class SamplingJob:
    """The models and settings of sampling; sent to each worker once."""

    models: tuple[Model, ...]  # slim
    config: SampleConfig  # with a seed
    prime: str = ""
    use: str | None = None
    conditions: Conditions | None = None
    key: str = field(default_factory=lambda: uuid4().hex)

    def sampler(self) -> CancellableSampler:
        predictor = combine([model.predictor(self.use) for model in self.models])
        return CancellableSampler(predictor, self.config, self.prime)


class CancellableSampler(Sampler):
    """A sampler that stops when its result is no longer wanted."""

    def fragments(self, numbers: Sequence[int], attempt: int = 0) -> Iterator[Fragment]:
        for piece in super().fragments(numbers, attempt):
            check_wanted()
            yield piece


def draw(numbers: range, job: SamplingJob) -> tuple[list[Sample | None], float]:
    """Draw the samples of these numbers on a worker; stop early after too many failures. Return the
    samples, None for each failure, and the seconds it took.
    """
    began = time.monotonic()
    samples = list(redraw(cached(job.key, job.sampler), numbers, job.conditions))
    return samples, time.monotonic() - began
