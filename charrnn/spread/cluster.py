"""Share out groups of work as futures, and to the workers of a Dask scheduler."""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from charrnn.errors import CharrnnError, ClusterError

Work = Callable[[Any, Any], Any]  # on the shared value and a group

GROUPS_AHEAD = 3  # of a worker that are sent before the oldest result is back
TICK = 0.5  # seconds between two looks at the workers
SCHEDULER_TIMEOUT = 30.0  # seconds for a scheduler to answer, and to have a worker
RESULTS_STAY = "What is done so far is kept."
KILLED = "a worker process was killed"
VERSIONS = f"charrnn {sys.modules['charrnn'].__version__} and numpy {np.__version__}"

_one_at_a_time = threading.Lock()  # a worker of Dask has threads, which share buffers and BLAS


def results_of(
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
        # One at least: the last worker may have left just after it was counted.
        free = max(1, ahead * count_workers()) - len(pending)
        pending += [submit(function, group) for group in islice(groups, max(0, free))]
        if not pending:
            return
        for future in wait(pending[:1] if in_order else pending, TICK, FIRST_COMPLETED).done:
            pending.remove(future)
            yield future.result()


@contextmanager
def open_scheduler(shared: Any, scheduler: str) -> Iterator[tuple[Any, Callable[[], int]]]:
    """Open a scheduler, typed as its address or as the file it wrote.

    Yield functions that submit a group, and that count the workers.
    """
    client = _connect(scheduler)
    # Without a timeout, its methods would wait for ever.
    ask = partial(client.sync, callback_timeout=SCHEDULER_TIMEOUT)

    def count_workers() -> int:
        ask(client.wait_for_workers, 1)
        return len(ask(client.nthreads))

    try:
        count_workers()
        # Not with broadcast, which can hang while a worker joins. A large value takes long.
        value = ask(client.scatter, shared, hash=False, callback_timeout=10 * SCHEDULER_TIMEOUT)
        executor = client.get_executor(pure=False)
        yield partial(executor.submit, _work_for_client, VERSIONS, value), count_workers
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
        return QuietClient(**{kind: scheduler}, timeout=SCHEDULER_TIMEOUT, set_as_default=False)
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
