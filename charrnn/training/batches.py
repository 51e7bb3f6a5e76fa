"""Encoded examples cut into windows of T steps and B lanes, without padding.

    lane 0   . a n n a . b o b . c l a
    lane 1   . e v e . f r i t z . g u       . is END: it ends a name and precedes the next

A window is T rows of the lanes: the inputs x, and the targets y, which stand one place further on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus import Examples
from charrnn.network.unfolded import Window
from charrnn.system import ORDER
from charrnn.vocabulary import END, Ids

Positions = NDArray[np.int64]

CHUNK = 1 << 18  # symbols gathered at a time, to keep Python's overhead small
COUNTED = 1 << 16  # examples whose lengths are added up at a time
SLACK = 16  # a lane may be a sixteenth longer or shorter, to begin with an example


@dataclass
class Cursor:
    """A position in the shuffled stream: an offset into the place-th example of the order."""

    place: int
    offset: int


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
        self.examples, self.steps = examples, steps
        rng = np.random.default_rng([seed, ORDER, epoch])
        self.order = np.arange(len(examples), dtype=np.uint32)
        rng.shuffle(self.order)
        total = len(examples.ids)
        turn = int(rng.integers(total))
        bounds = turn + total * np.arange(lanes + 1, dtype=np.int64) // lanes
        self.bounds = self._to_beginnings(bounds, slack=total // lanes // SLACK)
        self.lengths = np.diff(self.bounds)
        self.stops: Positions | None = None  # (n,) the end of each example on the circle, in order
        if counting:
            self.stops = np.cumsum(self._lengths(slice(None)))
        self.windows = -(-int(self.lengths.max()) // steps)

    def __iter__(self) -> Iterator[Window]:
        return self.starting_from(0)

    def starting_from(self, window: int) -> Iterator[Window]:
        """Yield the windows of this epoch from that number on."""
        lanes = len(self.lengths)
        at_once = max(1, CHUNK // (lanes * self.steps))
        cursors = self._cursors(self.bounds[:-1] + window * self.steps)
        at = [int(self.examples.starts[self.order[c.place]]) + c.offset for c in cursors]
        last = self.examples.ids[np.array(at, np.intp) - 1]  # END before the first symbol
        while window < self.windows:
            count = min(at_once, self.windows - window)
            rows = np.empty((count * self.steps + 1, lanes), self.examples.ids.dtype)
            rows[0] = last
            for lane, cursor in enumerate(cursors):
                rows[1:, lane] = self._read(cursor, len(rows) - 1)
            for number in range(count):
                yield self._window(rows[number * self.steps :], (window + number) * self.steps)
            window += count
            last = rows[-1]

    def _window(self, rows: Ids, at: int) -> Window:
        left = self.lengths - at
        steps = min(self.steps, int(left.max()))
        rows = rows[: steps + 1].astype(np.intp)
        idle = np.arange(steps)[:, None] >= left if left.min() < steps else None
        window = Window(rows[:-1], rows[1:], rows[:-1] == END, idle)
        return window if self.stops is None else self._counted(window, at)

    def _counted(self, window: Window, at: int) -> Window:
        """Add how many characters of its example each place has behind it, and ahead of it."""
        assert self.stops is not None
        steps = np.arange(len(window.x))[:, None]
        places = (self.bounds[:-1] + at + steps) % self.stops[-1]
        which = np.searchsorted(self.stops, places, side="right")
        first = np.where(which == 0, 0, self.stops[which - 1])
        return replace(window, clock=places - first, left=self.stops[which] - 1 - places)

    def _read(self, cursor: Cursor, count: int) -> Ids:
        """Return the next symbols of a lane, and move the cursor past them."""
        parts = []
        starts = self.examples.starts
        while count:
            mean = max(1, len(self.examples.ids) // len(self.examples))
            these = self.order[cursor.place : cursor.place + count // mean + 1]
            begins = starts[these].astype(np.int64)
            begins[0] += cursor.offset
            ends = np.cumsum(starts[these + 1].astype(np.int64) - begins)
            whole = int(np.searchsorted(ends, count, side="right"))  # examples read to their end
            taken = min(count, int(ends[-1]))
            shifts = begins.copy()
            shifts[1:] -= ends[:-1]
            last = min(whole + 1, len(these))
            lengths = np.diff(np.minimum(ends[:last], taken), prepend=0)
            parts.append(self.examples.ids[np.repeat(shifts[:last], lengths) + np.arange(taken)])
            if whole:
                cursor.offset = 0
            cursor.offset += taken - (int(ends[whole - 1]) if whole else 0)
            cursor.place = (cursor.place + whole) % len(self.order)
            count -= taken
        return np.concatenate(parts)

    def _lengths(self, places: slice) -> Positions:
        these = self.order[places]
        starts = self.examples.starts
        lengths: Positions = starts[these + 1].astype(np.int64) - starts[these]
        return lengths

    def _cursors(self, positions: Positions) -> list[Cursor]:
        positions = positions % len(self.examples.ids)
        cursors = [Cursor(0, 0) for _ in positions]
        passed = 0
        for first in range(0, len(self.order), COUNTED):
            ends = passed + np.cumsum(self._lengths(slice(first, first + COUNTED)))
            for lane in np.flatnonzero((positions >= passed) & (positions < ends[-1])):
                place = int(np.searchsorted(ends, positions[lane], side="right"))
                begin = ends[place - 1] if place else passed
                cursors[lane] = Cursor(first + place, int(positions[lane] - begin))
            passed = int(ends[-1])
        return cursors

    def _to_beginnings(self, bounds: Positions, slack: int) -> Positions:
        """Return the bounds, each moved to the beginning of an example within ``slack``."""
        moved = bounds.copy()
        for lane, cursor in enumerate(self._cursors(bounds)):
            left = int(self._lengths(slice(cursor.place, cursor.place + 1))[0]) - cursor.offset
            if min(cursor.offset, left) <= slack:
                moved[lane] += -cursor.offset if cursor.offset <= left else left
        return moved
