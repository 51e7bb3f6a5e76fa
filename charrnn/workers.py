"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in executor(score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

from __future__ import annotations

import logging
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import numpy as np

import charrnn
from charrnn.errors import CharrnnError, ClusterError
from charrnn.system import Child, end_children, start_child

Work = Callable[[Any, Any], Any]  # on the shared value and a group
Executor = Callable[..., Iterator[Any]]  # from work and groups to results, in_order or not

GROUPS_AHEAD = 3  # of a worker that are sent before the oldest result is back
TICK = 0.5  # seconds between two looks at the workers
SCHEDULER_PATIENCE = 30.0  # seconds for a scheduler to answer, and to have a worker
RESULTS_STAY = "What is done so far is kept."
KILLED = "a worker process was killed"
VERSIONS = f"charrnn {charrnn.__version__} and numpy {np.__version__}"

_one_at_a_time = threading.Lock()  # a worker of Dask has threads, which share buffers and BLAS


def share_out(
    submit: Callable[[Work, Any], Future[Any]],
    count_workers: Callable[[], int],  # an error if there are none any more
    function: Work,
    groups: Iterable[Any],
    *,
    in_order: bool = True,
) -> Iterator[Any]:
    """Yield the results of all groups, in order or as they come."""
    # Out of order, groups are long runs: none may wait while a worker is idle.
    ahead = GROUPS_AHEAD if in_order else 1
    pending: list[Future[Any]] = []
    groups = iter(groups)
    while True:
        # One at least: the last worker of a scheduler may leave, and another come.
        free = max(1, ahead * count_workers()) - len(pending)
        pending += [submit(function, group) for group in islice(groups, max(0, free))]
        if not pending:
            return
        wanted = pending[:1] if in_order else pending
        for future in wait(wanted, TICK, FIRST_COMPLETED).done:
            pending.remove(future)
            yield future.result()


@contextmanager
def open_executor(shared: Any, cores: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """Open workers that all get the shared value; they end with the block."""
    if scheduler is not None:
        with _open_dask(shared, scheduler) as executor:
            yield executor
    elif cores > 1 and os.name == "posix":  # elsewhere a process inherits no pipe
        with closing(Processes(shared, cores)) as processes:
            yield partial(share_out, processes.submit, lambda: cores)
    else:
        yield lambda function, groups, in_order=True: map(partial(function, shared), groups)


class Processes:
    """Processes of this machine. A thread waits for each; if one ends, its pipe closes."""

    def __init__(self, shared: Any, cores: int) -> None:
        self.shared, self.cores = shared, cores
        self.threads = ThreadPoolExecutor(cores)
        self.children: list[Child] = []
        self.idle: SimpleQueue[tuple[Connection, bool]] = SimpleQueue()  # and whether it is new

    def submit(self, function: Work, group: Any) -> Future[Any]:
        """Give the group to a process; each of the first groups starts one."""
        if len(self.children) < self.cores:
            process, pipe = start_child("charrnn.workers:serve")
            self.children.append((process, pipe))
            self.idle.put((pipe, True))
        return self.threads.submit(self.work, function, group)

    def work(self, function: Work, group: Any) -> Any:
        """Send the group to an idle process, in a thread, and wait for the result."""
        pipe, is_new = self.idle.get()
        try:
            if is_new:
                pipe.send(self.shared)
            pipe.send((function, group))
            result, error = pipe.recv()
        except (EOFError, OSError):
            raise ClusterError(KILLED, RESULTS_STAY) from None
        finally:
            self.idle.put((pipe, False))
        if error:
            raise error
        return result

    def close(self) -> None:
        for process, _ in self.children:
            process.kill()  # so that no thread waits
        self.threads.shutdown(cancel_futures=True)
        end_children(self.children)


def serve(file: int) -> None:
    """Work on the groups that come through a pipe, until the parent ends."""
    pipe: Connection = Connection(file)
    received: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=[pipe, received], daemon=True).start()
    shared = received.get()
    while True:
        function, group = received.get()
        result = failure = None
        try:
            result = function(shared, group)
        except Exception as error:
            if not isinstance(error, CharrnnError):
                error.add_note(traceback.format_exc())  # a pipe drops tracebacks
            failure = error
        with suppress(OSError):  # the parent has ended
            pipe.send((result, failure))


def _receive(pipe: Connection, received: SimpleQueue[Any]) -> None:
    """Receive what the parent sends; when it ends, end this process in the midst of its work."""
    try:
        while True:
            received.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:  # such as a function that this process cannot import
        traceback.print_exc()
        os._exit(1)


@contextmanager
def _open_dask(shared: Any, scheduler: str) -> Iterator[Executor]:
    """Open the workers of a scheduler, typed as its address or as the file it wrote."""
    client = _connect(scheduler)
    # Without a timeout, its methods would wait for ever.
    ask = partial(client.sync, callback_timeout=SCHEDULER_PATIENCE)

    def count_workers() -> int:
        ask(client.wait_for_workers, 1)
        return len(ask(client.nthreads))

    try:
        count_workers()
        # To broadcast the value can hang while a worker joins.
        value = ask(client.scatter, shared, hash=False, callback_timeout=10 * SCHEDULER_PATIENCE)
        submit = partial(client.get_executor(pure=False).submit, _work_for_client, VERSIONS, value)
        yield partial(share_out, submit, count_workers)
    except TimeoutError:
        what = f"the scheduler at {scheduler} has no workers, or does not answer"
        raise ClusterError(what, f"Start a worker. {RESULTS_STAY}") from None
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(KILLED, RESULTS_STAY) from None
        if type(error).__module__.startswith(("distributed", "concurrent", "asyncio")):
            raise ClusterError("the scheduler is gone", RESULTS_STAY) from None
        raise
    finally:
        with suppress(Exception):  # the results are in
            client.close(timeout=1)


def _connect(scheduler: str) -> Any:
    """Return a client of the scheduler at this address, or whose file this is."""
    try:
        from distributed import Client
    except ImportError:
        raise CharrnnError("Dask is not installed", "pip install distributed") from None
    logging.disable()  # of workers that come and go
    warnings.filterwarnings("ignore", module="distributed")  # about other packages' versions

    class QuietClient(Client):  # type: ignore[misc]
        def __del__(self) -> None:
            """Do nothing: Dask's would wait for a lock that its own thread can hold."""

    kind = "scheduler_file" if os.path.isfile(scheduler) else "address"
    try:
        options = {"timeout": SCHEDULER_PATIENCE, "set_as_default": False, kind: scheduler}
        return QuietClient(**options)
    except Exception as error:
        what = f"no Dask scheduler answers at {scheduler} ({type(error).__name__})"
        hint = "Give its address, such as tcp://HOST:8786, or the file that it wrote."
        raise ClusterError(what, hint) from None


def _work_for_client(versions: str, shared: Any, function: Work, group: Any) -> Any:
    """Work on a group in a worker of Dask, for a client with these versions."""
    if versions != VERSIONS:
        what = f"a worker has {VERSIONS}, this machine {versions}"
        raise ClusterError(what, "Install the same versions on all machines.")
    with _one_at_a_time:
        return function(shared, group)
