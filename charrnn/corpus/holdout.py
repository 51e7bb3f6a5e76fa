"""The part of a corpus that is kept from training: examples by lot, or the tail of a single one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.builder import BLOCK, Draft, Starts, starts_type
from charrnn.corpus.examples import Examples
from charrnn.vocabulary import END, Ids

STRATUM: Final = 1 << 16  # examples among which lots are drawn at once


def split(draft: Draft, share: float, seed: int) -> tuple[Examples, Examples]:
    """Training and held-out examples, in the order and the numbers of the draft, at its cost."""
    starts = draft.starts()
    if len(starts) == 2 and share > 0:
        return _split_off_tail(draft.join(), share)
    trains = draw(len(starts) - 1, share, seed)
    train_count = np.count_nonzero(trains)
    if train_count == len(trains):
        return Examples(draft.join(), starts), _one(np.empty(0, np.uint8))
    held_starts = np.empty(len(trains) - train_count + 1, starts.dtype)
    _close_ranks(starts, trains, False, held_starts)
    train, held = _divide(draft, starts, trains, int(held_starts[-1]))
    _close_ranks(starts, trains, True, starts)
    starts.resize(train_count + 1, refcheck=False)  # nobody else has seen it
    return Examples(train, starts), Examples(held, held_starts)


def draw(count: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Which examples train: all but the share drawn by lot, which is one at least and never all.

    Each stratum gives its part, so that no permutation of all examples has to be in memory.
    """
    trains = np.ones(count, np.bool_)
    held = min(max(1, round(count * share)), count - 1) if share > 0 and count else 0
    lots = np.random.default_rng(seed)
    for first in range(0, count, STRATUM):
        last = min(first + STRATUM, count)
        here = held * last // count - held * first // count
        trains[first + lots.choice(last - first, here, replace=False, shuffle=False)] = False
    return trains


def _split_off_tail(ids: Ids, share: float) -> tuple[Examples, Examples]:
    characters = len(ids) - 1
    kept = max(1, min(int(characters * (1 - share)), characters - 1))
    if characters <= kept:  # one character cannot be shared
        return _one(ids), _one(ids[:0])
    tail = ids[kept:].copy()
    ids.resize(kept + 1, refcheck=False)  # nobody else has seen it
    ids[kept] = END
    return _one(ids), _one(tail)


def _one(ids: Ids) -> Examples:
    """A single example, or none at all."""
    return Examples(ids, np.array([0, len(ids)][: 1 + bool(len(ids))], starts_type(len(ids))))


def _close_ranks(starts: Starts, trains: NDArray[np.bool_], side: bool, out: Starts) -> None:
    """Write where the examples of one side start once they stand together.

    The output may be the input: writing never overtakes reading, and where it catches up with it
    nothing has been left out, so that what is written is what stood there.
    """
    out[0] = at = done = 0
    for first in range(0, len(trains), BLOCK):
        here = trains[first : first + BLOCK] == side
        sizes = np.diff(starts[first : first + len(here) + 1])[here]
        out[done + 1 : done + 1 + len(sizes)] = at + np.cumsum(sizes, dtype=np.int64)
        at += int(sizes.sum(dtype=np.int64))
        done += len(sizes)


def _divide(
    draft: Draft, starts: Starts, trains: NDArray[np.bool_], held_size: int
) -> tuple[Ids, Ids]:
    """The symbols that train and those that do not, each in one array."""
    sides = _Side(draft.size - held_size, draft.dtype), _Side(held_size, draft.dtype)
    at = example = 0
    for block in draft.drain():
        to = at + len(block)
        # The type is named: an int would have NumPy copy all starts, each time.
        last = int(np.searchsorted(starts, starts.dtype.type(to)))
        edges = starts[example : last + 1].astype(np.int64).clip(at, to)
        mask = trains[example:last].repeat(np.diff(edges))
        sides[0].append(block[mask])
        sides[1].append(block[~mask])
        at = to
        example = last if int(starts[last]) == to else last - 1
    return sides[0].ids, sides[1].ids


class _Side:
    """An array that is filled from its beginning."""

    def __init__(self, size: int, dtype: np.dtype[np.unsignedinteger[Any]]) -> None:
        self.ids: Ids = np.empty(size, dtype)
        self.filled = 0

    def append(self, ids: Ids) -> None:
        self.ids[self.filled : self.filled + len(ids)] = ids
        self.filled += len(ids)
