"""Threads that lanes are shared out to, made when they are first needed.

NumPy lets go of Python's lock while it works, so that each of them keeps a core busy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Let one of them do it. A fork leaves threads behind, and gets others."""
        if self._pool is None or self._process != os.getpid():
            from concurrent.futures import ThreadPoolExecutor  # half as long to import as numpy

            self._pool = ThreadPoolExecutor(max(1, self.most), "charrnn", _take_any_number)
            self._process = os.getpid()
        return self._pool.submit(work, *args, **kwargs)


def _take_any_number() -> None:
    """Let a thread compute without a warning: what overflows shows in the loss."""
    np.seterr(all="ignore")
