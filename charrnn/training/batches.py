"""Encoded examples cut into windows of T time steps and B lanes, without padding.

    lane 0   . a n n a . b o b . c l a
    lane 1   . e v e . f r i t z . g u       . is END: it ends a name and precedes the next

A window is T rows of the lanes: the inputs x, and the targets y, which stand one place further on.
A label takes the place of the END that is read before its example.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import ceil_div
from charrnn.network.through_time import Window
from charrnn.settings.training import ORDER
from charrnn.text.corpus import Examples
from charrnn.text.vocabulary import END, Ids

Places = NDArray[np.int64]

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
        time_steps: int,
        seed: int,
        epoch: int,
        *,
        with_positions: bool = False,
    ) -> None:
        """With ``with_positions``, windows hold places in examples."""
        self.examples, self.time_steps, self.with_positions = examples, time_steps, with_positions
        rng = np.random.default_rng([seed, ORDER, epoch])
        order = np.arange(len(examples), dtype=np.uint32)
        rng.shuffle(order)
        starts, self.total = examples.starts.astype(np.int64), len(examples.ids)
        self.labels = None if examples.labels is None else examples.labels[order]
        self.ends_in_ids = starts[order + 1]  # (n,) of each example, in this order
        self.sizes = self.ends_in_ids - starts[order]
        self.ends_on_circle = np.cumsum(self.sizes)  # (n,)
        # (B + 1,) The last bound is the first, once round, and moves as the first does.
        cuts = np.arange(lanes + 1, dtype=np.int64) * self.total // lanes
        cuts += int(rng.integers(self.total))
        back, ahead = self._distances(cuts % self.total)
        shift = np.where(back <= ahead, -back, ahead)  # to the nearest beginning of an example
        is_near = np.abs(shift) <= self.total // lanes // SLACK
        self.bounds = cuts + np.where(is_near, shift, 0)  # (B + 1,) of the lanes, on the circle
        self.lengths = np.diff(self.bounds)
        self.window_count = ceil_div(int(self.lengths.max()), time_steps)

    def windows_from(self, window: int) -> Iterator[Window]:
        """Yield the windows of this epoch from that number on."""
        rows = self._rows()
        for first in range(
            window * self.time_steps, self.window_count * self.time_steps, self.time_steps
        ):
            unread = self.lengths - first  # (B,) symbols of each lane
            time_steps = min(self.time_steps, int(unread.max()))
            ids = rows[first : first + time_steps + 1].astype(np.intp)
            x, y = ids[:-1], ids[1:]
            is_first = x == END
            t = np.arange(time_steps)[:, None]
            idle = t >= unread if unread.min() < time_steps else None
            clock = to_come = None
            if self.with_positions or self.labels is not None:
                places = (self.bounds[:-1] + first + t) % self.total  # of y
            if self.with_positions:  # the characters of the example before y, and from y on
                clock, ahead = self._distances(places)
                to_come = ahead - 1  # without END
            if self.labels is not None:
                example = np.searchsorted(self.ends_on_circle, places[is_first], side="right")
                x = x.copy()
                x[is_first] = self.labels[example]
            yield Window(x, y, is_first, idle, clock, to_come)

    def _rows(self) -> Ids:
        """Return the symbols of each lane in the whole epoch and the one before them, (rows, B).

        A lane that is shorter than the longest reads on beyond its end, where it is idle.
        """
        ids = self.examples.ids
        offsets = self.ends_in_ids - self.ends_on_circle
        circle = np.empty_like(ids)
        for first in range(0, self.total, CHUNK):
            places = np.arange(first, min(first + CHUNK, self.total))
            example = np.searchsorted(self.ends_on_circle, places, side="right")
            circle[places] = ids[places + offsets[example]]
        size = self.window_count * self.time_steps + 1
        circle = np.resize(circle, self.total + size)  # goes round again
        rows = np.empty((size, len(self.lengths)), ids.dtype)
        for lane, bound in enumerate(self.bounds[:-1].tolist()):
            first = (bound - 1) % self.total
            rows[:, lane] = circle[first : first + size]
        return rows

    def _distances(self, places: Places) -> tuple[Places, Places]:
        """Return the symbols from the beginning of its example to each place, and to its end."""
        example = np.searchsorted(self.ends_on_circle, places, side="right")
        ahead = self.ends_on_circle[example] - places
        return self.sizes[example] - ahead, ahead
