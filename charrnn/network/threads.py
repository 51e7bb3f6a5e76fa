"""The lanes of a window shared out among threads, each with buffers of its own.

NumPy lets go of Python's lock while it works, so two threads with half the lanes each keep two
cores busy with everything, elementwise work included, where BLAS's own threads would only share
the products and wait for each other at every step. BLAS itself is meant to have one thread.
Measured on 2 cores, 256 units, 64 lanes: 1.3 times the rate of one thread with BLAS on both cores.

Threads that lanes are shared out to, made when they are first needed.

NumPy lets go of Python's lock while it works, so that each of them keeps a core busy. Where the
system has no more threads for us, whoever hands out the work does it: what comes out is the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Array, Parameters
from charrnn.network.rounding import Grid
from charrnn.network.unfolded import Masks, State, Unfolded, Window

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


WORTHWHILE = 500_000  # multiply-adds a step and thread below which threads cost more than they give


class Parallel:
    """An unfolded network for B lanes that at most so many threads work on."""

    def __init__(
        self,
        architecture: Architecture,
        steps: int,
        lanes: int,
        workers: int = 1,
        dtype: DTypeLike = np.float32,
        grid: Grid | None = None,
    ) -> None:
        self.here = slice(0, lanes)  # the lanes of the batch that this process has: all
        self.weight = 1 / (steps * lanes)  # what one place of a full window weighs in its mean
        self.workers = useful_workers(architecture, lanes, workers)
        self.bounds = [lanes * worker // self.workers for worker in range(self.workers + 1)]
        self.parts = [
            Unfolded(architecture, steps, stop - start, dtype, grid)
            for start, stop in self._spans()
        ]
        self._threads = Threads(self.workers - 1)
        self._gradients: list[Parameters] = []

    def _spans(self) -> list[tuple[int, int]]:
        return list(pairwise(self.bounds))

    def start_from(self, state: State) -> None:
        """Let the next window start from this state."""
        for part, (start, stop) in zip(self.parts, self._spans(), strict=True):
            for own, given in zip(part.states, state, strict=True):
                own[0] = given[start:stop]

    def copy_state(self, state: State) -> None:
        """Write where the next window starts from into this state."""
        for part, (start, stop) in zip(self.parts, self._spans(), strict=True):
            for own, wanted in zip(part.states, state, strict=True):
                wanted[start:stop] = own[0]

    def nats(self, p: Parameters, window: Window) -> Array:
        """-log y_hat at y for each place of the window, (T, B); the state moves on."""
        if self.workers == 1:
            return self.parts[0].nats(p, window)
        windows = self._split(window)
        others = [
            self._threads.submit(part.nats, p, piece)
            for part, piece in zip(self.parts[1:], windows[1:], strict=True)
        ]
        first = self.parts[0].nats(p, windows[0])
        return np.concatenate([first, *(other.result() for other in others)], axis=1)

    def nats_and_gradient(
        self,
        p: Parameters,
        window: Window,
        gradient: Parameters,
        scale: float = 1.0,
        masks: Masks | None = None,
    ) -> float:
        """The loss of the window in nats; its gradient times scale is left in ``gradient``."""
        if self.workers == 1:
            return self.parts[0].nats_and_gradient(p, window, gradient, scale, masks)
        while len(self._gradients) < self.workers - 1:
            self._gradients.append(p.like())
        windows = self._split(window)
        others = [
            self._threads.submit(
                part.nats_and_gradient, p, piece, own, scale, cut(masks, start, stop)
            )
            for part, piece, own, (start, stop) in zip(
                self.parts[1:], windows[1:], self._gradients, self._spans()[1:], strict=True
            )
        ]
        total = self.parts[0].nats_and_gradient(
            p, windows[0], gradient, scale, cut(masks, 0, self.bounds[1])
        )
        for other, own in zip(others, self._gradients, strict=True):
            total += other.result()
            gradient.flat += own.flat
        return total

    def _split(self, window: Window) -> list[Window]:
        return [
            replace(
                window,
                x=np.ascontiguousarray(window.x[:, start:stop]),
                y=np.ascontiguousarray(window.y[:, start:stop]),
                begins=None if window.begins is None else window.begins[:, start:stop],
                idle=None if window.idle is None else window.idle[:, start:stop],
                settles=None if window.settles is None else window.settles[:, start:stop],
                clock=None if window.clock is None else window.clock[:, start:stop],
                left=None if window.left is None else window.left[:, start:stop],
            )
            for start, stop in self._spans()
        ]


def useful_workers(architecture: Architecture, lanes: int, workers: int) -> int:
    """As many of these threads as have enough to do at every step.

    A cell with more gates has larger products, and as many more calls that wait for Python's lock.
    """
    while workers > 1 and architecture.hidden**2 * (lanes // workers) < WORTHWHILE:
        workers -= 1
    return workers


def cut(masks: Masks | None, start: int, stop: int) -> Masks | None:
    """The masks of some of the lanes."""
    return None if masks is None else [mask[:, start:stop] for mask in masks]
