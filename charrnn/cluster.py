"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in map_in_order(executor, score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import charrnn
from charrnn.errors import ClusterError, MissingPackageError
from charrnn.system import ONE_THREAD

Work = Callable[[Any, Any], Any]  # on the shared value and a group

AHEAD = 3  # groups a worker that are sent before the oldest result is back
TICK = 0.5  # seconds between two looks at the workers
PATIENCE = 10.0  # seconds for a scheduler to answer, and to have a worker
KEPT = "What is done so far is kept."
LOST = {  # the errors of pools and of Dask
    "BrokenProcessPool": "a worker process was killed",
    "KilledWorker": "workers of the scheduler were killed",
    **dict.fromkeys(("CancelledError", "FutureCancelledError"), "the scheduler is gone"),
    **dict.fromkeys(("CommClosedError", "ClosedClientError"), "the scheduler is gone"),
}
OF_TERMINAL = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}
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
    while True:
        try:
            ahead = AHEAD if in_order else 1  # or a worker has several long runs, another none
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
            result = future.result()
        except Exception as error:
            what = LOST.get(type(error).__name__)
            if what is None:
                raise
            raise ClusterError(what, KEPT) from None
        yield result


@contextmanager
def open_executor(shared: Any, cores: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """Open workers that all get the shared value; they end with the block."""

    def work_at_once(function: Work, group: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(shared, group))
        return future

    if scheduler is not None:
        with _open_dask(shared, scheduler) as executor:
            yield executor
    elif cores > 1:
        with _open_pool(shared, cores) as executor:
            yield executor
    else:
        yield Executor(work_at_once, lambda: 0)


@contextmanager
def _open_pool(shared: Any, cores: int) -> Iterator[Executor]:
    """Open processes of this machine, which end with this process, however it ends."""
    os.environ.update(ONE_THREAD)
    context = multiprocessing.get_context("spawn")
    end, alive = context.Pipe(duplex=False)
    pool: Any = ProcessPoolExecutor(cores, context, _begin_process, (end, shared))
    main, mask = sys.modules["__main__"], getattr(signal, "pthread_sigmask", lambda *_: ())
    started: set[int | None] = set()

    def submit(function: Work, group: Any) -> Future[Any]:
        sys.modules["__main__"] = ModuleType("__main__")  # or a process would run the script again
        before = mask(signal.SIG_BLOCK, OF_TERMINAL)  # or Ctrl-C ends it before it can ignore that
        try:
            future: Future[Any] = pool.submit(_work_in_process, function, group)
            return future
        finally:
            sys.modules["__main__"] = main
            mask(signal.SIG_SETMASK, before)

    def workers() -> int:
        running = {process.pid for process in multiprocessing.active_children()}
        if not started <= running:
            raise ClusterError(LOST["BrokenProcessPool"], KEPT)
        started.update(running)
        return cores

    try:
        yield Executor(submit, workers)
    finally:
        alive.close()  # which ends the processes
        with suppress(AttributeError):  # or the pool waits for the rest of a result
            pool._result_queue._writer.close()
        pool.shutdown(cancel_futures=True)
        end.close()


def _begin_process(end: Connection, shared: Any) -> None:
    """Prepare a process of the pool. Its parent handles the signals of the terminal."""

    def wait_for_end() -> None:
        with suppress(OSError, EOFError):
            end.poll(None)
        os._exit(0)

    for number in OF_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=wait_for_end, daemon=True).start()
    _shared.append(shared)


def _work_in_process(function: Work, group: Any) -> Any:
    return function(_shared[0], group)


@contextmanager
def _open_dask(shared: Any, scheduler: str) -> Iterator[Executor]:
    """Open the workers of a scheduler, typed as its address or as the file it wrote."""
    logging.disable()  # of workers that come and go
    client = _connect(scheduler)
    seen = time.monotonic()

    def workers() -> int:
        nonlocal seen
        count = 0
        with suppress(OSError, TimeoutError):
            count = len(client.nthreads())
        if client.status != "running":
            raise ClusterError(LOST["CancelledError"], KEPT)
        seen = time.monotonic() if count else seen
        if time.monotonic() - seen > PATIENCE:
            raise ClusterError(f"the scheduler at {scheduler} has no workers", f"Start one. {KEPT}")
        return count

    try:
        while not workers():
            time.sleep(TICK)
        pool, value = client.get_executor(pure=False), client.scatter(shared, broadcast=True)
        yield Executor(lambda *work: pool.submit(_work_for_client, VERSIONS, value, *work), workers)
    finally:
        with suppress(Exception):  # the results are in
            client.close(timeout=1)
        logging.disable(logging.NOTSET)


def _connect(scheduler: str) -> Any:
    """Return a client. No signal is heeded in here: half a client ends in a traceback."""
    try:
        from distributed import Client
        from distributed.core import rpc
        from distributed.security import Security
    except ImportError:
        raise MissingPackageError("Dask", "distributed") from None

    async def kind_of_server() -> str:
        args = Security().get_connection_args("client")
        async with rpc(address, connection_args=args) as server:
            return str((await server.identity())["type"])

    try:
        address = scheduler
        if os.path.isfile(scheduler):
            address = str(json.loads(Path(scheduler).read_bytes())["address"])
        kind = asyncio.run(asyncio.wait_for(kind_of_server(), PATIENCE))
        if kind == "Scheduler":  # a client would wait for ever for another server
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about other versions of packages
                return Client(address, timeout=PATIENCE, set_as_default=False)
        reason = f"it is a {kind}"
    except Exception as error:  # another server may answer anything
        reason = type(error).__name__
    hint = "Give the address, such as tcp://HOST:8786, or the file of a scheduler that runs."
    raise ClusterError(f"no Dask scheduler answers at {scheduler} ({reason})", hint)


def _work_for_client(versions: str, shared: Any, function: Work, group: Any) -> Any:
    if versions != VERSIONS:
        what = f"a worker has {VERSIONS}, this machine {versions}"
        raise ClusterError(what, "Install the same versions on all machines.")
    with _one_at_a_time:
        return function(shared, group)
