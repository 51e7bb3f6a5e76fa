"""Encoded examples cut into windows of T steps and B lanes, without padding.

    lane 0   . a n n a . b o b . c l a
    lane 1   . e v e . f r i t z . g u       . is END: it ends a name and precedes the next

A window is T rows of the lanes: the inputs x, and the targets y, which stand one place further on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Examples
from charrnn.network.unfolded import Window
from charrnn.system import ORDER
from charrnn.vocabulary import END, Ids

CHUNK = 1 << 16  # symbols gathered at a time, to need little memory
SLACK = 16  # a lane may be a sixteenth longer or shorter, to begin with an example


class Epoch:
    """One pass over the examples in a random order; every symbol is a target exactly once.

    The stream is a circle, cut at B places that move with each epoch. A cut near the beginning of
    an example is moved to that beginning. A cut through a long example stays, and the rest of that
    example is read from a zero state.

    The gradient stops where a window begins.
    """

    def __init__(
        self,
        examples: Examples,
        lanes: int,
        steps: int,
        seed: int,
        epoch: int,
        *,
        counting: bool = False,
    ) -> None:
        """With ``counting``, windows hold places in examples."""
        self.examples, self.steps, self.counting = examples, steps, counting
        rng = np.random.default_rng([seed, ORDER, epoch])
        order = np.arange(len(examples), dtype=np.uint32)
        rng.shuffle(order)
        starts = examples.starts.astype(np.int64)
        self.begins, self.ends = starts[order], starts[order + 1]  # in the examples, by order
        self.stops = np.cumsum(self.ends - self.begins)  # (n,) the end of each on the circle
        total = len(examples.ids)
        turn = int(rng.integers(total))
        bounds = turn + total * np.arange(lanes + 1, dtype=np.int64) // lanes
        self.bounds = self._to_beginnings(bounds, slack=total // lanes // SLACK)
        self.lengths = np.diff(self.bounds)
        self.windows = -(-int(self.lengths.max()) // steps)

    def __iter__(self) -> Iterator[Window]:
        return self.starting_from(0)

    def starting_from(self, window: int) -> Iterator[Window]:
        """Yield the windows of this epoch from that number on."""
        rows = self._rows()
        for first in range(window * self.steps, self.windows * self.steps, self.steps):
            left = self.lengths - first
            steps = min(self.steps, int(left.max()))
            symbols = rows[first : first + steps + 1].astype(np.intp)
            idle = np.arange(steps)[:, None] >= left if left.min() < steps else None
            x, y = symbols[:-1], symbols[1:]
            cut = Window(x, y, x == END, idle)
            yield self._counted(cut, first) if self.counting else cut

    def _rows(self) -> Ids:
        """Return the symbols of each lane and the one before them, (T + 1, B)."""
        ids, shift = self.examples.ids, self.ends - self.stops
        size, total = self.windows * self.steps + 1, len(ids)
        circle = np.empty_like(ids)
        for first in range(0, total, CHUNK):
            places = np.arange(first, min(first + CHUNK, total))
            which = np.searchsorted(self.stops, places, side="right")
            circle[places] = ids[places + shift[which]]
        circle = np.resize(circle, total + size)
        rows = np.empty((size, len(self.lengths)), ids.dtype)
        for lane, bound in enumerate(self.bounds[:-1].tolist()):
            first = (bound - 1) % total
            rows[:, lane] = circle[first : first + size]
        return rows

    def _counted(self, window: Window, first: int) -> Window:
        """Add how many characters of its example each place has behind it, and ahead of it."""
        steps = np.arange(first, first + len(window.x))[:, None]
        before, after = self._around((self.bounds[:-1] + steps) % self.stops[-1])
        return replace(window, clock=before, left=after - 1)

    def _around(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the symbols from the beginning of its example to each place, and to its end."""
        which = np.searchsorted(self.stops, places, side="right")
        stops = self.stops[which]
        return places - stops + (self.ends - self.begins)[which], stops - places

    def _to_beginnings(self, bounds: NDArray[np.int64], slack: int) -> NDArray[np.int64]:
        """Return the bounds, each moved to the beginning of an example within ``slack``."""
        before, after = self._around(bounds % self.stops[-1])
        nearest = np.where(before <= after, -before, after)
        return bounds + np.where(np.abs(nearest) <= slack, nearest, 0)
