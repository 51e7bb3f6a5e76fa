"""A text cut into chunks that are read side by side, and put together as if it had been one.

    the text       ...a long example, or many short ones...
    stretch 0      |-------------------|
    stretch 1                   ~~~~~~~|------------------|         ~ read to warm up: not counted
    stretch 2                                      ~~~~~~~|-----------------|

Where an example begins the state is zero, so a cut there costs nothing, and cuts move there if they
can. Elsewhere a stretch must start from the state in which the one before it ends. Recurrent
networks forget: after a few hundred symbols their state does not depend on where they started, but
for the rounding. So a stretch warms up on what stands before it, and afterwards both states are
compared. Where they differ the network remembers for longer, and the stretch is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.network.inputs import read_before, still_to_come
from charrnn.network.rounding import OFTEN
from charrnn.network.unfolded import Window
from charrnn.vocabulary import END, Ids

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Text:
    """What is read, and where what is found goes."""

    ids: Ids  # (S,)
    before: int  # the symbol in front of it
    index: int  # of that symbol in its example, counted from the END before it
    nats: NDArray[np.float64]  # (S,)
    ranks: NDArray[np.int32] | None  # (S,)
    since: int | None = None  # characters of the example before it, where they are to be counted
    logits: NDArray[np.float64] | None = None  # (S, K)  of what came at each place


STEPS: Final = 64  # symbols of each stretch in a window
SHORTEST: Final = 64  # symbols of a stretch, where no stretch has to warm up


@dataclass(frozen=True)
class Chunks:
    """Lanes over a text. Lane i counts the symbols from first[i] on, as far as stop[i]."""

    reads_from: Places  # (B,)
    first: Places  # (B,)
    stop: Places  # (B,)
    of_longest: int | None = None  # symbols to read of the longest, where others have that one

    def __len__(self) -> int:
        return len(self.first)

    @property
    def longest(self) -> int:
        """For how many steps they are read."""
        if self.of_longest is not None:
            return self.of_longest
        return int((self.stop - self.reads_from).max(initial=0))

    def part(self, lanes: slice) -> Chunks:
        """Some of them, read for as many steps as all would be: so no sum is rounded otherwise."""
        of = self.reads_from[lanes], self.first[lanes], self.stop[lanes]
        return Chunks(*of, self.longest)

    @property
    def places(self) -> slice:
        """The symbols that they count."""
        return slice(int(self.first[0]), int(self.stop[-1])) if len(self) else slice(0, 0)

    def padded(self, lanes: int) -> Chunks:
        """The same and some that are empty, so that there are so many lanes."""
        none = np.zeros(lanes - len(self), np.int64)
        return Chunks(
            np.concatenate([self.reads_from, none]),
            np.concatenate([self.first, none]),
            np.concatenate([self.stop, none]),
            self.of_longest,
        )

    def without_warming_up(self, these: NDArray[np.bool_]) -> Chunks:
        """Some of them, to be read from where they begin."""
        return Chunks(self.first[these], self.first[these], self.stop[these])


def cut(ids: Ids, most: int, warm_up: int, carry: bool) -> Chunks:
    """Chunks of about one length, as many as are of use."""
    begins = np.zeros(0, np.int64) if carry else np.flatnonzero(ids[:-1] == END) + 1
    for shortest in (SHORTEST, 4 * warm_up):
        lanes = max(1, min(most, len(ids) // shortest))
        bounds = _moved(len(ids) * np.arange(lanes + 1, dtype=np.int64) // lanes, begins)
        first, stop = bounds[:-1], bounds[1:]
        before = np.searchsorted(begins, first, side="right")
        example = np.concatenate([[0], begins])[before]
        if (example[1:] == first[1:]).all():
            break
    return Chunks(np.maximum(example, first - warm_up).clip(0), first, stop)


def _moved(bounds: Places, begins: Places) -> Places:
    """The bounds, each at the nearest beginning of an example if that is near enough."""
    if not len(begins):
        return bounds
    slack = int(bounds[1]) // 4
    after = np.searchsorted(begins, bounds[1:-1])
    left = begins[np.maximum(after - 1, 0)]
    right = begins[np.minimum(after, len(begins) - 1)]
    inner = bounds[1:-1]
    nearest = np.where(np.abs(inner - left) <= np.abs(right - inner), left, right)
    moved = np.where(np.abs(nearest - inner) <= slack, nearest, inner)
    return np.concatenate([bounds[:1], moved, bounds[-1:]])


def windows(text: Text, chunks: Chunks, carry: bool) -> Iterator[tuple[int, Window, Places]]:
    """How many steps have been read, the next window, and where each of its targets stands.

    The place is -1 where a target does not count.
    """
    ids = text.ids
    settles = settling(text, carry)
    clock = left = None
    if text.since is not None:
        clock, left = read_before(ids, text.since), still_to_come(ids)
    for at in range(0, chunks.longest, STEPS):
        steps = min(STEPS, chunks.longest - at)
        places = chunks.reads_from + at + np.arange(steps)[:, None]
        inside = places < chunks.stop
        here = np.where(inside, places, 0)
        y = ids[here].astype(np.intp)
        x = ids[np.where(inside & (places > 0), places - 1, 0)].astype(np.intp)
        x[places == 0] = text.before
        counted = inside & (places >= chunks.first)
        settled = inside & settles[here]
        window = Window(x, y, None if carry else x == END, settles=settled)
        if clock is not None and left is not None:
            window = replace(window, clock=clock[here], left=left[here])
        yield at, window, np.where(counted, places, -1)


def settling(text: Text, carry: bool) -> NDArray[np.bool_]:
    """Where the state settles once what stands before a place was read, (S,)."""
    if carry:
        index: Places = np.arange(len(text.ids)) + text.index
    else:
        index = read_before(text.ids, text.index)
    return np.asarray(index % OFTEN == OFTEN - 1)
