"""Threads for NumPy work, and an unfolded network whose lanes are split among threads.

NumPy releases Python's lock while it works. So two threads with half the lanes each keep two cores
busy with everything, elementwise work included. BLAS's own threads, which should be one, would only
split the products and wait for each other at every step. Measured on 2 cores, 256 units, 64 lanes:
1.3 times the rate of one thread with BLAS on both cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters
from charrnn.network.rounding import Array, Grid
from charrnn.network.unfolded import Masks, State, Unfolded, Window

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

WORTHWHILE = 500_000  # multiply-adds of a thread at each step, below which threads cost time

PATIENCE = 5.0  # seconds that a thread waits for the others to start, whatever interrupts them

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """A pool of at most `most` threads, started when first needed.

    If the system refuses threads, the calling thread does the work, with the same result.
    """

    were_refused = False  # by the system, to any pool

    def __init__(self, most: int) -> None:
        self.most = most
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the work in a thread. After a fork, start new threads: the old ones are gone."""
        if self._process != os.getpid():
            self._pool = _start(max(1, self.most))
            self._process = os.getpid()
            Threads.were_refused |= self._pool is None
        if self._pool is not None:
            return self._pool.submit(work, *args, **kwargs)
        from concurrent.futures import Future

        future: Future[T] = Future()
        try:
            with np.errstate(all="ignore"):
                future.set_result(work(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _start(count: int) -> ThreadPoolExecutor | None:
    """Return a pool whose threads all run already, or None if the system refuses one."""
    from concurrent.futures import ThreadPoolExecutor  # half as long to import as numpy

    # Without warnings: an overflow shows in the loss.
    pool = ThreadPoolExecutor(count, "charrnn", partial(np.seterr, all="ignore"))
    gate = threading.Event()
    try:
        for _ in range(count):
            pool.submit(gate.wait, PATIENCE)  # none is idle, so each call needs a new thread
    except BaseException as error:  # also Ctrl-C: Python waits for all threads when it ends
        pool.shutdown(wait=False)
        if not isinstance(error, RuntimeError | MemoryError):
            raise
        return None
    finally:
        gate.set()
    return pool


def results(jobs: Sequence[Future[T]]) -> list[T]:
    """Return the results of all jobs. After Ctrl-C, begin no further job."""
    try:
        return [job.result() for job in jobs]
    except KeyboardInterrupt:
        for job in jobs:
            job.cancel()
        raise


class Parallel:
    """An unfolded network for B lanes on at most `threads` threads."""

    def __init__(
        self,
        architecture: Architecture,
        steps: int,
        lanes: int,
        threads: int = 1,
        dtype: DTypeLike = np.float32,
        grid: Grid | None = None,
    ) -> None:
        self.threads = useful_threads(architecture, lanes, threads)
        self.bounds = [lanes * i // self.threads for i in range(self.threads + 1)]
        self._spans = list(pairwise(self.bounds))
        self.parts = [
            Unfolded(architecture, steps, stop - start, dtype, grid) for start, stop in self._spans
        ]
        self._pool = Threads(self.threads - 1)
        self._gradients: list[Parameters] = []

    def start_from(self, state: State) -> None:
        """Set the state before the next window."""
        for part, (start, stop) in zip(self.parts, self._spans, strict=True):
            for own, given in zip(part.states, state, strict=True):
                own[0] = given[start:stop]

    def copy_state(self, state: State) -> None:
        """Copy the state before the next window into this one."""
        for part, (start, stop) in zip(self.parts, self._spans, strict=True):
            for own, wanted in zip(part.states, state, strict=True):
                wanted[start:stop] = own[0]

    def nats(self, p: Parameters, window: Window) -> Array:
        """Return -log y_hat at y for each place of the window, (T, B). Move the state on."""
        if self.threads == 1:
            return self.parts[0].nats(p, window)
        windows = [window.part(*span) for span in self._spans]
        return np.concatenate(self._run(lambda i: self.parts[i].nats(p, windows[i])), axis=1)

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float:
        """Return the loss in nats, and leave its gradient times scale in ``gradient``."""
        if self.threads == 1:
            return self.parts[0].nats_and_gradient(p, window, gradient, scale, masks)
        while len(self._gradients) < self.threads - 1:
            self._gradients.append(p.like())
        gradients = [gradient, *self._gradients]
        windows = [window.part(*span) for span in self._spans]
        cuts = [None if masks is None else [mask[:, i:j] for mask in masks] for i, j in self._spans]
        totals = self._run(
            lambda i: self.parts[i].nats_and_gradient(p, windows[i], gradients[i], scale, cuts[i])
        )
        for own in self._gradients:
            gradient.flat += own.flat
        return sum(totals)

    def _run(self, work: Callable[[int], T]) -> list[T]:
        """Return the results of the work for each part, the first done in this thread."""
        others = [self._pool.submit(work, part) for part in range(1, self.threads)]
        return [work(0), *(other.result() for other in others)]


def useful_threads(architecture: Architecture, lanes: int, threads: int) -> int:
    """Return how many of these threads have enough to do at every step."""
    # The number of gates does not matter: more gates mean larger products, but also more calls that
    # wait for Python's lock.
    while threads > 1 and architecture.hidden**2 * (lanes // threads) < WORTHWHILE:
        threads -= 1
    return threads
