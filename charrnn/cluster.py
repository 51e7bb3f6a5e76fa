"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in map_in_order(executor, score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

import charrnn
from charrnn.errors import ClusterError, MissingPackageError
from charrnn.system import ONE_THREAD

Work = Callable[[Any, Any], Any]  # on the shared value and a group

AHEAD = 3  # groups a worker that are sent before the oldest result is back
TICK = 0.5  # seconds between two looks at the workers
PATIENCE = 30.0  # seconds for a scheduler to answer, and to have a worker
ATTEMPTS = 3  # to connect
KILLED, GONE = "a worker process was killed", "the scheduler is gone"
LOST = {  # the errors of pools and of Dask
    **dict.fromkeys(("BrokenProcessPool", "KilledWorker"), KILLED),
    **dict.fromkeys(("CancelledError", "FutureCancelledError"), GONE),
    **dict.fromkeys(("CommClosedError", "ClosedClientError"), GONE),
}
KEPT = "What is done so far is kept."
VERSIONS = f"charrnn {charrnn.__version__} and numpy {np.__version__}"

_shared: list[Any] = []  # the shared value, in a process of the pool
_one_at_a_time = threading.Lock()  # a worker of Dask has threads, which share buffers and BLAS


class Executor(NamedTuple):
    """A place to work."""

    submit: Callable[[Work, Any], Future[Any]]  # the work on a group
    workers: Callable[[], int]  # count them, or raise ClusterError if they are lost


def map_in_order(
    executor: Executor, function: Work, groups: Iterable[Any], *, in_order: bool = True
) -> Iterator[Any]:
    """Yield the results of all groups, in order or as they come; send a few groups ahead."""
    pending: list[Future[Any]] = []
    groups = iter(groups)
    ahead = AHEAD if in_order else 1  # or a worker has several long runs, another none
    try:
        while True:
            room = max(1, ahead * executor.workers()) - len(pending)
            for group in islice(groups, max(0, room)):
                pending.append(executor.submit(function, group))  # noqa: PERF401  one at a time
            if not pending:
                return
            wanted = pending[:1] if in_order else pending
            while not (done := wait(wanted, TICK, FIRST_COMPLETED).done):
                executor.workers()
            future = done.pop()
            pending.remove(future)
            yield future.result()
    except Exception as error:
        what = LOST.get(type(error).__name__)
        if what is None:
            raise
        raise ClusterError(what, KEPT) from None


def open_executor(
    shared: Any, cores: int = 1, scheduler: str | None = None
) -> AbstractContextManager[Executor]:
    """Open workers that all get the shared value; they end with the block."""
    if scheduler is not None:
        return _open_dask(shared, scheduler)
    if cores > 1:
        return _open_pool(shared, cores)
    return nullcontext(Executor(partial(_work_at_once, shared), lambda: 0))


def _work_at_once(shared: Any, function: Work, group: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(function(shared, group))
    return future


@contextmanager
def _open_pool(shared: Any, cores: int) -> Iterator[Executor]:
    """Open processes of this machine, which end with this process, however it ends."""
    os.environ.update(ONE_THREAD)
    context = multiprocessing.get_context("spawn")
    pool: Any = ProcessPoolExecutor(cores, context, _begin_process, (shared,))
    started: set[Any] = set()

    def submit(function: Work, group: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a process inherits it
        try:
            future: Future[Any] = pool.submit(_work_in_process, function, group)
            started.update(multiprocessing.active_children())  # before it can be killed
            return future
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def workers() -> int:
        if not started <= set(multiprocessing.active_children()):
            raise ClusterError(KILLED, KEPT)  # the pool does not notice it within a result
        return cores

    try:
        yield Executor(submit, workers)
    finally:
        for process in multiprocessing.active_children():
            process.kill()
        pool._result_queue._writer.close()  # or the pool waits for the rest of a result
        pool.shutdown(cancel_futures=True)


def _begin_process(shared: Any) -> None:
    """Keep the shared value, and end when the parent ends."""
    _shared.append(shared)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()  # type: ignore[union-attr]
    os._exit(0)


def _work_in_process(function: Work, group: Any) -> Any:
    return function(_shared[0], group)


@contextmanager
def _open_dask(shared: Any, scheduler: str) -> Iterator[Executor]:
    """Open the workers of a scheduler, typed as its address or as the file it wrote."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError("Dask", "distributed") from None
    logging.disable()  # of workers that come and go
    warnings.filterwarnings("ignore", module="distributed")  # about other packages' versions
    try:
        client = _connect(Client, scheduler)
    except Exception as error:
        what = f"no Dask scheduler answers at {scheduler} ({type(error).__name__})"
        hint = "Give the address, such as tcp://HOST:8786, or the file of a scheduler that runs."
        raise ClusterError(what, hint) from None
    seen = time.monotonic()

    def workers() -> int:
        nonlocal seen
        count = 0
        with suppress(OSError, TimeoutError):
            count = len(client.nthreads())
        if client.status != "running":
            raise ClusterError(GONE, KEPT)
        seen = time.monotonic() if count else seen
        if time.monotonic() - seen > PATIENCE:
            raise ClusterError(f"the scheduler at {scheduler} has no workers", f"Start one. {KEPT}")
        return count

    try:
        while not workers():
            time.sleep(TICK)
        for versions in client.run(_versions).values():
            if versions != VERSIONS:
                what = f"a worker has {versions}, this machine {VERSIONS}"
                raise ClusterError(what, "Install the same versions on all machines.")
        pool = client.get_executor(pure=False)
        value = client.scatter(shared, hash=False)  # to broadcast it can hang while a worker joins
        yield Executor(partial(pool.submit, _work_for_client, value), workers)
    finally:
        with suppress(Exception):  # the results are in
            client.close(timeout=1)


def _connect(kind: Any, scheduler: str) -> Any:
    """Return a client. Its greeting fails an assertion if a worker comes at the same moment."""
    place = {"scheduler_file" if os.path.isfile(scheduler) else "address": scheduler}
    for _ in range(ATTEMPTS - 1):
        with suppress(AssertionError):
            return kind(timeout=PATIENCE, set_as_default=False, **place)
    return kind(timeout=PATIENCE, set_as_default=False, **place)


def _versions() -> str:
    return VERSIONS


def _work_for_client(shared: Any, function: Work, group: Any) -> Any:
    with _one_at_a_time:
        return function(shared, group)
