"""Threads that lanes are shared out to, made when they are first needed.

NumPy lets go of Python's lock while it works, so that each of them keeps a core busy. Where the
system has no more threads for us, whoever hands out the work does it: what comes out is the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most so many."""

    were_refused = False  # by the system, to any of us

    def __init__(self, most: int) -> None:
        self.most = most
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Let one of them do it. A fork leaves threads behind, and gets others."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._pool = _started(max(1, self.most))
            Threads.were_refused |= self._pool is None
        if self._pool is None:
            return _done(work, *args, **kwargs)
        return self._pool.submit(work, *args, **kwargs)


def _started(count: int) -> ThreadPoolExecutor | None:
    """So many threads, or none; all begin here, for what is refused later may be half begun."""
    from concurrent.futures import ThreadPoolExecutor  # half as long to import as numpy

    pool, gate = ThreadPoolExecutor(count, "charrnn", _take_any_number), threading.Event()
    try:
        for _ in range(count):
            pool.submit(gate.wait)  # none is idle meanwhile, so that each of these needs another
    except (RuntimeError, MemoryError):
        gate.set()
        pool.shutdown()
        return None
    gate.set()
    return pool


def _done(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """The same, done here and now."""
    from concurrent.futures import Future

    future: Future[T] = Future()
    try:
        with np.errstate(all="ignore"):
            future.set_result(work(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def _take_any_number() -> None:
    """Let a thread compute without a warning: what overflows shows in the loss."""
    np.seterr(all="ignore")
