"""Encoded examples cut into windows of T time steps and B lanes, without padding.

    lane 0   . a n n a . b o b . c l a
    lane 1   . e v e . f r i t z . g u       . is END: it ends a name and precedes the next

A window is T rows of the lanes: the inputs x, and the targets y, which stand one place further on.
A label takes the place of the END that is read before its example.

At a check-up, excerpts of several texts are scored side by side, because many lanes are faster than
a few. They come in as many portions as a batch has shards, so that each process scores some.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from charrnn.network.arrays import ceil_div
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.network.through_time import Window
from charrnn.prediction.losses import Score, tally
from charrnn.prediction.predictor import Predictor
from charrnn.prediction.scoring import score_ids
from charrnn.settings.training import ORDER
from charrnn.text.corpus import Examples
from charrnn.text.examples import WARM_UP, excerpt_of
from charrnn.text.vocabulary import END, Ids, Vocabulary

Places = NDArray[np.int64]
Piece = tuple[Ids, NDArray[np.bool_], Ids | None]  # symbols, whether each counts, and its label
Portion = Sequence[Piece]  # of each text

CHUNK = 1 << 16  # symbols gathered at a time, to need little memory
CHECKUP_LANE = 1 << 8  # symbols counted in a lane of a check-up
SLACK = 16  # a lane may be a sixteenth longer or shorter, to begin with an example


class Epoch:
    """One pass over the examples in a random order; every symbol is a target exactly once.

    The stream is a circle, cut at B places that move with each epoch. A cut near the beginning of
    an example is moved there. A cut through a long example stays; its rest is read from a zero
    state. The gradient stops where a window begins.
    """

    def __init__(self, text: Examples, lanes: int, time_steps: int, seed: int, epoch: int) -> None:
        self.text, self.time_steps = text, time_steps
        rng = np.random.default_rng([seed, ORDER, epoch])
        order = np.arange(len(text), dtype=np.uint32)
        rng.shuffle(order)
        starts, self.total = text.starts.astype(np.int64), len(text.ids)
        self.labels = None if text.labels is None else text.labels[order]
        self.sizes = starts[order + 1] - starts[order]  # (n,) of each example, in this order
        self.ends_on_circle = np.cumsum(self.sizes)  # (n,)
        self.offsets = starts[order + 1] - self.ends_on_circle  # (n,) of its place in ids
        # (B + 1,) The last bound is the first, once round, and moves as the first does.
        cuts = np.arange(lanes + 1, dtype=np.int64) * self.total // lanes
        cuts += int(rng.integers(self.total))
        back, ahead = self._distances(cuts % self.total)
        shift = np.where(back <= ahead, -back, ahead)  # to the nearest beginning of an example
        is_near = np.abs(shift) <= self.total // lanes // SLACK
        self.bounds = cuts + np.where(is_near, shift, 0)  # (B + 1,) of the lanes, on the circle
        self.lengths = np.diff(self.bounds)
        self.window_count = ceil_div(int(self.lengths.max()), time_steps)

    def windows_from(self, window: int, *, with_positions: bool = False) -> Iterator[Window]:
        """Yield the windows of this epoch from that number on, perhaps with places in examples."""
        lanes = self._lanes()
        for number in range(window, self.window_count):
            first = number * self.time_steps
            unread = self.lengths - first  # (B,) symbols of each lane
            time_steps = min(self.time_steps, int(unread.max()))
            ids = lanes[:, first : first + time_steps + 1].T.astype(np.intp, order="C")
            x, y = ids[:-1], ids[1:]
            is_first = x == END
            t = np.arange(time_steps)[:, None]
            idle = t >= unread if unread.min() < time_steps else None
            clock = to_come = None
            if with_positions or self.labels is not None:
                places = (self.bounds[:-1] + first + t) % self.total  # of y
            if with_positions:  # the characters of the example before y, and from y on
                clock, ahead = self._distances(places)
                to_come = ahead - 1  # without END
            if self.labels is not None:
                example = np.searchsorted(self.ends_on_circle, places[is_first], side="right")
                x = x.copy()
                x[is_first] = self.labels[example]
            yield Window(x, y, is_first, idle, clock, to_come)

    def _lanes(self) -> Ids:
        """Return the symbols of each lane in the whole epoch and the one before them, (B, symbols).

        A lane that is shorter than the longest reads on beyond its end, where it is idle.
        """
        circle = np.empty_like(self.text.ids)
        for first in range(0, self.total, CHUNK):
            places = np.arange(first, min(first + CHUNK, self.total))
            example = np.searchsorted(self.ends_on_circle, places, side="right")
            circle[places] = self.text.ids[places + self.offsets[example]]
        size = self.window_count * self.time_steps + 1
        circle = np.resize(circle, self.total + size)  # goes round again
        lanes: Ids = sliding_window_view(circle, size)[(self.bounds[:-1] - 1) % self.total]
        return lanes

    def _distances(self, places: Places) -> tuple[Places, Places]:
        """Return the symbols from the beginning of its example to each place, and to its end."""
        example = np.searchsorted(self.ends_on_circle, places, side="right")
        ahead = self.ends_on_circle[example] - places
        return self.sizes[example] - ahead, ahead


def portions_of(texts: Sequence[Examples], most: Sequence[int], shards: int) -> list[Portion]:
    """Return excerpts of these texts, with about so many symbols of each, in portions.

    A portion begins where an example or a piece does. Some may be empty.
    """
    divided: list[list[Piece]] = []
    for text, size in zip(texts, most, strict=True):
        places, is_counted = excerpt_of(text.ids, size)
        ids, labels = text.ids[places], text.labels_at(places)
        is_piece_start = is_counted[:-1] & ~is_counted[1:]  # with a warm-up that does not count
        starts = np.append(np.flatnonzero((ids[:-1] == END) | is_piece_start) + 1, len(ids))
        cuts = starts[np.searchsorted(starts, len(ids) * np.arange(1, shards) // shards)]
        of_pieces = [None] * shards if labels is None else np.split(labels, cuts)
        pieces = zip(np.split(ids, cuts), np.split(is_counted, cuts), of_pieces, strict=True)
        divided.append(list(pieces))
    return list(zip(*divided, strict=True))


@np.errstate(all="ignore")  # overflow shows in the loss
def score_portion(vocabulary: Vocabulary, p: Parameters, portion: Portion) -> list[Score]:
    """Return the score of each text, in float32."""
    # An END after each, or a text would go on into the next.
    ids = np.concatenate([np.append(ids, ids.dtype.type(END)) for ids, _, _ in portion])
    of_pieces = [of_piece for *_, of_piece in portion if of_piece is not None]
    with_end = [np.append(labels, labels[-1] if len(labels) else END) for labels in of_pieces]
    labels = np.concatenate(with_end) if with_end else None
    predictor = Predictor([LanguageModel(p, vocabulary)], dtype=np.float32)
    nats, _ = score_ids(predictor, ids, labels, stretch=CHECKUP_LANE, warm_up=WARM_UP)
    scores, first = list[Score](), 0
    for ids, is_counted, _ in portion:
        scores.append(tally(ids[is_counted], nats["network"][first : first + len(ids)][is_counted]))
        first += len(ids) + 1
    return scores
