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
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from queue import SimpleQueue
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
ERRORS_OF_DASK = {
    "KilledWorker": KILLED,
    **dict.fromkeys(("CancelledError", "FutureCancelledError"), GONE),
    **dict.fromkeys(("CommClosedError", "ClosedClientError"), GONE),
}
KEPT = "What is done so far is kept."
VERSIONS = f"charrnn {charrnn.__version__} and numpy {np.__version__}"

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
        what = ERRORS_OF_DASK.get(type(error).__name__)
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
    """Open processes of this machine, each with a pipe of its own.

    A thread waits for each result. The pipe of a killed process is closed, so none waits for ever.
    """
    os.environ.update(ONE_THREAD)
    threads = ThreadPoolExecutor(cores)
    processes: list[Any] = []
    idle: SimpleQueue[Any] = SimpleQueue()  # pipes, and what to send before the first group

    def submit(function: Work, group: Any) -> Future[Any]:
        if len(processes) < cores:
            process, pipe = _start_process()
            processes.append(process)
            idle.put((pipe, [shared]))
        return threads.submit(call, function, group)

    def call(function: Work, group: Any) -> Any:
        pipe, first = idle.get()
        try:
            for message in (*first, (function, group)):
                pipe.send(message)
            result, error = pipe.recv()
        except (EOFError, OSError):
            raise ClusterError(KILLED, KEPT) from None
        finally:
            idle.put((pipe, []))
        if error is not None:
            raise error
        return result

    try:
        yield Executor(submit, lambda: cores)
    finally:
        for process in processes:
            process.kill()
        threads.shutdown(cancel_futures=True)
        for process in processes:
            process.join()


def _start_process() -> tuple[Any, Any]:
    """Start a process that Ctrl-C does not reach, and return it with the pipe to it."""
    resource_tracker.ensure_running()  # which unblocks signals, when it starts
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=_serve, args=(other,), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a process inherits it
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        other.close()
    return process, pipe


def _serve(pipe: Any) -> None:
    """Work on the groups that come through a pipe, until the parent ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        shared = pipe.recv()
        while True:
            function, group = pipe.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = function(shared, group), None
            except Exception as error:
                answer = None, error
            pipe.send(answer)


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()  # type: ignore[union-attr]
    os._exit(0)


@contextmanager
def _open_dask(shared: Any, scheduler: str) -> Iterator[Executor]:
    """Open the workers of a scheduler, typed as its address or as the file it wrote."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError("Dask", "distributed") from None
    logging.disable()  # of workers that come and go
    warnings.filterwarnings("ignore", module="distributed")  # about other packages' versions

    class Connection(Client):  # type: ignore[misc]
        def __del__(self) -> None:
            """Do nothing: Dask's would wait for a lock that its own thread can hold."""

    client = _connect(Connection, scheduler)
    seen = time.monotonic()

    def ask(function: Any, *args: Any, patience: float = PATIENCE, **how: Any) -> Any:
        """Call a method of the client, which would wait for ever."""
        try:
            return client.sync(function, *args, callback_timeout=patience, **how)
        except OSError:
            raise ClusterError(GONE, KEPT) from None

    def workers() -> int:
        nonlocal seen
        if client.status != "running":
            raise ClusterError(GONE, KEPT)
        count = len(ask(client.nthreads))
        seen = time.monotonic() if count else seen
        if time.monotonic() - seen > PATIENCE:
            raise ClusterError(f"the scheduler at {scheduler} has no workers", f"Start one. {KEPT}")
        return count

    try:
        while not workers():
            time.sleep(TICK)
        for versions in ask(client.run, _versions).values():
            if versions != VERSIONS:
                what = f"a worker has {versions}, this machine {VERSIONS}"
                raise ClusterError(what, "Install the same versions on all machines.")
        # To broadcast the value can hang while a worker joins.
        value = ask(client.scatter, shared, hash=False, patience=10 * PATIENCE)
        submit = client.get_executor(pure=False).submit
        yield Executor(partial(submit, _work_for_client, value), workers)
    finally:
        with suppress(Exception):  # the results are in
            client.close(timeout=1)


def _connect(kind: Any, scheduler: str) -> Any:
    """Return a client. Its greeting fails an assertion if a worker comes at the same moment."""
    place = {"scheduler_file" if os.path.isfile(scheduler) else "address": scheduler}
    try:
        for _ in range(ATTEMPTS - 1):
            with suppress(AssertionError):
                return kind(timeout=PATIENCE, set_as_default=False, **place)
        return kind(timeout=PATIENCE, set_as_default=False, **place)
    except Exception as error:
        what = f"no Dask scheduler answers at {scheduler} ({type(error).__name__})"
        hint = "Give the address, such as tcp://HOST:8786, or the file of a scheduler that runs."
        raise ClusterError(what, hint) from None


def _versions() -> str:
    return VERSIONS


def _work_for_client(shared: Any, function: Work, group: Any) -> Any:
    with _one_at_a_time:
        return function(shared, group)
