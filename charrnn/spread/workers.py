"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in executor(score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

import itertools
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from threading import Thread
from typing import Any

from charrnn.errors import ClusterError, remedy
from charrnn.settings.values import CORES, check
from charrnn.spread.cluster import KILLED, RESULTS_STAY, Work, open_scheduler, results_of
from charrnn.system.children import can_start, in_one_thread
from charrnn.system.signals import SIGNALS

Executor = Callable[..., Iterator[Any]]  # executor(function, groups, in_order=True) -> results

START = "fork" if sys.platform == "linux" else "spawn"  # libraries of macOS forbid forks

_values: list[Any] = []  # in a process of a pool: the shared one


@contextmanager
def open_executor(shared: Any, cores: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """Open workers that all get the shared value; they end with the block."""
    if scheduler is not None:
        with open_scheduler(shared, scheduler) as (submit, count_workers):
            yield partial(results_of, submit, count_workers)
    elif cores > 1 and _has_pools():
        with _open_pool(shared, cores) as submit:
            futures = partial(results_of, submit, lambda: cores)
            yield lambda *work, **how: map(_load, futures(*work, **how))
    else:
        yield lambda function, groups, in_order=True: map(partial(function, shared), groups)


def in_parallel(function: Work, shared: Any, groups: Iterable[Any], cores: int) -> Iterable[Any]:
    """Return function(shared, group) of each group, here or by several processes."""
    if check("cores", cores, CORES) == 1:
        return map(partial(function, shared), groups)
    return all_in_parallel(function, shared, list(groups), cores)


@in_one_thread
def all_in_parallel(function: Work, shared: Any, groups: Sequence[Any], cores: int) -> list[Any]:
    """Return the results of processes with one thread each."""
    with open_executor(shared, min(cores, len(groups))) as executor:
        return list(executor(function, groups))


@contextmanager
def _open_pool(shared: Any, cores: int) -> Iterator[Callable[[Work, Any], Future[Path]]]:
    """Open processes that end with the block; yield a function that submits a group.

    Groups and results are in files, whose names go through the pipes of the pool: it would wait for
    ever for the rest of a long message if a process is killed.
    """
    context = multiprocessing.get_context(START)
    with TemporaryDirectory() as folder:
        if START == "spawn":
            shared = _save(shared, Path(folder, "shared"))
        with ProcessPoolExecutor(cores, context, _prepare, (shared, folder)) as pool:
            numbers = itertools.count()

            def submit(function: Work, group: Any) -> Future[Path]:
                # A process of the pool begins, and stays, with signals blocked.
                unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
                try:
                    file = _save(group, Path(folder, str(next(numbers))))
                    return pool.submit(_work, function, file)
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)

            try:
                yield submit
            except BrokenProcessPool:
                raise ClusterError(KILLED, RESULTS_STAY) from None
            finally:
                rmtree(folder, ignore_errors=True)  # at once: another signal may end this process
                for process in list((pool._processes or {}).values()):
                    process.kill()  # in the midst of its work


def _has_pools() -> bool:
    """Return whether this process may have others, with files and with the locks of a pool."""
    with suppress(ImportError, OSError):  # no /dev/shm, or no folder for files
        multiprocessing.Lock(), gettempdir()
        return can_start() and not multiprocessing.current_process().daemon
    return False


def _prepare(shared: Any, folder: str) -> None:
    """Begin a process of a pool, which ends with its parent."""
    _values[:] = [pickle.loads(shared.read_bytes()) if START == "spawn" else shared]
    Thread(target=_end_with_parent, args=[folder], daemon=True).start()


def _end_with_parent(folder: str) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    rmtree(folder, ignore_errors=True)
    os._exit(0)


def _work(function: Work, file: Path) -> Path:
    """Replace the group in a file by its result."""
    return _save(function(_values[0], _load(file)), file)


def _save(value: Any, file: Path) -> Path:
    """Write the value into a file, and return the name of the file."""
    try:
        file.write_bytes(pickle.dumps(value))
    except OSError as error:
        what = f"no room for work in {file.parent.parent}: {error.strerror}"
        hint = remedy(error, "name another folder in TMPDIR, or use [cores] 1")
        raise ClusterError(what, hint) from None
    return file


def _load(file: Path) -> Any:
    """Return the value in a file, and remove the file."""
    value = pickle.loads(file.read_bytes())
    file.unlink()
    return value
