"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in map_in_order(executor, score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import islice
from multiprocessing import connection
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

import charrnn
from charrnn.errors import CharrnnError, ClusterError
from charrnn.system import Child, end_children, start_child

Work = Callable[[Any, Any], Any]  # on the shared value and a group

AHEAD = 3  # groups a worker that are sent before the oldest result is back
TICK = 0.5  # seconds between two looks at the workers of a scheduler
PATIENCE = 30.0  # seconds for a scheduler to answer, and to have a worker
KILLED, GONE = "a worker process was killed", "the scheduler is gone"
LOST = (  # errors of Dask
    *("KilledWorker", "CancelledError", "FutureCancelledError"),
    *("CommClosedError", "ClosedClientError", "TimeoutError"),
)
KEPT = "What is done so far is kept."
VERSIONS = f"charrnn {charrnn.__version__} and numpy {np.__version__}"

_one_at_a_time = threading.Lock()  # a worker of Dask has threads, which share buffers and BLAS


class Here(NamedTuple):
    """This process as a place to work."""

    shared: Any


class Executor(NamedTuple):
    """Other processes as a place to work."""

    submit: Callable[[Work, Any], Future[Any]]  # the work on a group
    watch: Callable[[list[Future[Any]]], int]  # wait a while for results; count the workers


def map_in_order(
    executor: Here | Executor, function: Work, groups: Iterable[Any], *, in_order: bool = True
) -> Iterator[Any]:
    """Return an iterator over the results of all groups, in order or as they come."""
    if isinstance(executor, Here):
        return map(partial(function, executor.shared), groups)
    return _map_ahead(executor, function, groups, in_order)


def _map_ahead(
    executor: Executor, function: Work, groups: Iterable[Any], in_order: bool
) -> Iterator[Any]:
    """Yield the results of all groups, and send a few groups ahead."""
    ahead = AHEAD if in_order else 1  # or a worker has several long runs, another none
    pending: list[Future[Any]] = []
    groups = iter(groups)
    workers = executor.watch(pending)
    while True:
        room = max(1, ahead * workers) - len(pending)
        for group in islice(groups, max(0, room)):
            pending.append(executor.submit(function, group))  # noqa: PERF401  one at a time
        if not pending:
            return
        wanted = pending[:1] if in_order else pending
        while not (done := [future for future in wanted if future.done()]):
            workers = executor.watch(wanted)
        pending.remove(done[0])
        yield done[0].result()


def open_executor(
    shared: Any, cores: int = 1, scheduler: str | None = None
) -> AbstractContextManager[Here | Executor]:
    """Open workers that all get the shared value; they end with the block."""
    if scheduler is not None:
        return _open_dask(shared, scheduler)
    if cores > 1 and os.name == "posix":  # elsewhere a process inherits no pipe
        return _open_pool(shared, cores)
    return nullcontext(Here(shared))


@contextmanager
def _open_pool(shared: Any, cores: int) -> Iterator[Executor]:
    """Open processes of this machine, each with a pipe that closes if the process is killed."""
    children: list[Child] = []
    waiting: dict[Any, deque[Future[Any]]] = {}  # by pipe, in the order of the groups

    def submit(function: Work, group: Any) -> Future[Any]:
        messages = [(function, group)]
        if len(children) < cores:
            children.append(start_child("charrnn.workers:serve"))
            pipe, messages = children[-1][1], [shared, *messages]
        else:
            pipe = min(waiting, key=lambda pipe: len(waiting[pipe]))
        future: Future[Any] = Future()
        waiting.setdefault(pipe, deque()).append(future)
        with suppress(OSError):  # the process was killed; watch() will find that
            for message in messages:
                pipe.send(message)
        return future

    def watch(_: list[Future[Any]]) -> int:
        busy: list[Any] = [pipe for pipe, futures in waiting.items() if futures]
        ready: list[Any] = connection.wait(busy) if busy else []
        try:
            for pipe in ready:
                result, error = pipe.recv()
                future = waiting[pipe].popleft()
                future.set_exception(error) if error else future.set_result(result)
        except (EOFError, OSError):
            raise ClusterError(KILLED, KEPT) from None
        return cores

    try:
        yield Executor(submit, watch)
    finally:
        end_children(children)


def serve(file: int) -> None:
    """Work on the groups that come through a pipe, until the parent ends."""
    pipe, messages = connection.Connection(file), SimpleQueue[bytes]()

    def read() -> None:  # beside the work, so that the parent can send ahead, and its end is seen
        with suppress(EOFError, OSError):
            while True:
                messages.put(pipe.recv_bytes())
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    shared = pickle.loads(messages.get())
    while True:
        try:
            function, group = pickle.loads(messages.get())
            pipe.send((function(shared, group), None))
        except Exception as error:
            if not isinstance(error, CharrnnError):
                error.add_note(traceback.format_exc())  # a pipe drops tracebacks
            with suppress(OSError):  # the parent has ended, and read() ends this process
                pipe.send((None, error))


@contextmanager
def _open_dask(shared: Any, scheduler: str) -> Iterator[Executor]:
    """Open the workers of a scheduler, typed as its address or as the file it wrote."""
    client, seen = _connect(scheduler), time.monotonic()
    ask = partial(client.sync, callback_timeout=PATIENCE)  # or its methods would wait for ever

    def watch(wanted: list[Future[Any]]) -> int:
        nonlocal seen
        wait(wanted, TICK, FIRST_COMPLETED)
        if client.status != "running":
            raise ClusterError(GONE, KEPT)
        count = len(ask(client.nthreads))
        seen = time.monotonic() if count else seen
        if time.monotonic() - seen > PATIENCE:
            raise ClusterError(f"the scheduler at {scheduler} has no workers", f"Start one. {KEPT}")
        return count

    try:
        while not watch([]):
            time.sleep(TICK)
        for versions in ask(client.run, _versions).values():
            if versions != VERSIONS:
                what = f"a worker has {versions}, this machine {VERSIONS}"
                raise ClusterError(what, "Install the same versions on all machines.")
        # To broadcast the value can hang while a worker joins.
        value = ask(client.scatter, shared, hash=False, callback_timeout=10 * PATIENCE)
        submit = client.get_executor(pure=False).submit
        yield Executor(partial(submit, _work_for_client, value), watch)
    except Exception as error:
        if type(error).__name__ not in LOST:
            raise
        is_there = client.status == "running" and not isinstance(error, TimeoutError)
        raise ClusterError(KILLED if is_there else GONE, KEPT) from None
    finally:
        with suppress(Exception):  # the results are in
            client.close(timeout=1)


def _connect(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise CharrnnError("Dask is not installed", "pip install distributed") from None
    logging.disable()  # of workers that come and go
    warnings.filterwarnings("ignore", module="distributed")  # about other packages' versions

    class Connection(Client):  # type: ignore[misc]
        def __del__(self) -> None:
            """Do nothing: Dask's would wait for a lock that its own thread can hold."""

    place = {"scheduler_file" if os.path.isfile(scheduler) else "address": scheduler}
    try:
        return Connection(timeout=PATIENCE, set_as_default=False, **place)
    except Exception as error:
        what = f"no Dask scheduler answers at {scheduler} ({type(error).__name__})"
        hint = "Give its address, such as tcp://HOST:8786, or the file that it wrote."
        raise ClusterError(what, hint) from None


def _versions() -> str:
    return VERSIONS


def _work_for_client(shared: Any, function: Work, group: Any) -> Any:
    with _one_at_a_time:
        return function(shared, group)
