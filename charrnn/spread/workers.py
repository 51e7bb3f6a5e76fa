"""Share out work: to this process, to processes of this machine, or to a Dask scheduler.

    with open_executor(model, cores=2) as executor:
        for scores in executor(score_group, groups):

calls ``score_group(model, group)`` for each group. Each worker gets the model once. A result may
depend on its group alone, so that all executors give the same results.
"""

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from charrnn.errors import CharrnnError, ClusterError
from charrnn.settings.values import CORES, check
from charrnn.spread.cluster import KILLED, RESULTS_STAY, Work, open_scheduler, results_of
from charrnn.system.children import can_start, in_one_thread
from charrnn.system.signals import blocked

Executor = Callable[..., Iterator[Any]]  # executor(function, groups, in_order=True) -> results

START = "fork" if sys.platform == "linux" else "spawn"  # libraries of macOS forbid forks


@contextmanager
def open_executor(shared: Any, cores: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """Open workers that all get the shared value; they end with the block."""
    if scheduler is not None:
        with open_scheduler(shared, scheduler) as (submit, count_workers):
            yield partial(results_of, submit, count_workers)
    elif cores > 1 and can_start() and not multiprocessing.current_process().daemon:
        with _open_pool(shared, cores) as submit:
            yield partial(results_of, submit, lambda: cores)
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
def _open_pool(shared: Any, cores: int) -> Iterator[Callable[[Work, Any], Future[Any]]]:
    """Open processes that end with the block; yield a function that submits a group.

    Each has a pipe of its own, which ends with it, so that nothing waits for a killed process.
    """
    context: Any = multiprocessing.get_context(START)
    inherited = [shared] if START == "fork" else []
    threads: Any = ThreadPoolExecutor(cores)  # one waits at each pipe
    idle, pipes, processes = SimpleQueue[Connection](), list[Connection](), list[Any]()
    try:
        if not inherited:
            resource_tracker.ensure_running()  # else start would, and unblock signals
        with blocked():
            for _ in range(cores):
                pipe, end = context.Pipe()
                with end:
                    process = context.Process(target=_serve, args=[end, *inherited])
                    process.start()
                processes.append(process)
                pipes.append(pipe)
        for pipe in pipes:
            if not inherited:
                with suppress(OSError):  # if it was killed, its first group says so
                    pipe.send(shared)
            idle.put(pipe)
        yield partial(threads.submit, _work, idle)
    finally:
        for process in processes:
            process.kill()  # in the midst of its work
        for process in processes:
            process.join()
        threads.shutdown(cancel_futures=True)


def _work(idle: SimpleQueue[Connection], function: Work, group: Any) -> Any:
    """Return what a process that is idle makes of a group."""
    pipe = idle.get()
    try:
        pipe.send((function, group))
        result = pipe.recv()
    except (EOFError, OSError):
        raise ClusterError(KILLED, RESULTS_STAY) from None
    finally:
        idle.put(pipe)
    if isinstance(result, Exception):
        raise result
    return result


def _serve(pipe: Connection, *inherited: Any) -> None:
    """Work on groups, until the pool or its parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent was killed
        shared = inherited[0] if inherited else pipe.recv()
        while True:
            function, group = pipe.recv()
            try:
                pipe.send(function(shared, group))
            except Exception as error:
                if not isinstance(error, CharrnnError):  # a bug
                    error.add_note(traceback.format_exc())
                pipe.send(error)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)
