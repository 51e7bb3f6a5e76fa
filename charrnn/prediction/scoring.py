"""The surprisal of each symbol of some texts (10.32, 10.33).

    a short text    |-----------|                             a lane
    a long text     |-------------------|                     a lane
                                 ~~~~~~~|------------------|  a lane;  ~ warms up: not counted

The stretches of a long text are read at once: the state after the warm-up is that of the whole text
but for some 1e-10, if the network forgets. ``reber`` remembers one symbol up to END, so a long text
without an END scores differently. Lanes are sorted by length, so those that have ended come last.
Texts are scored in groups that depend on the texts alone: a score is the same on any cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array64, Integers, ceil_div
from charrnn.network.step import StepState
from charrnn.prediction.losses import Score, tally
from charrnn.prediction.predictor import Predictor, Use
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary

Places = NDArray[np.int64]
Ranks = NDArray[np.int32]
T = TypeVar("T")
Read = tuple[Places, Any, StepState]  # after a step: see read_texts

STRETCH: Final = 4096  # symbols counted in a lane
EXACT_WARM_UP: Final = 256  # symbols read before a stretch
SCORED_LANES: Final = 512  # at a time, at most
LOGITS_AT_ONCE: Final = 1 << 22  # of all lanes: a large vocabulary is scored in fewer
GROUP: Final = 1 << 18  # symbols: a second or two of work
MOST_TEXTS: Final = 1 << 14  # in a group
MOST_LENGTHS: Final = 1 << 16  # compared to rank an END


class Group(NamedTuple):
    """Texts that are scored together."""

    texts: Sequence[str]
    split: int | None = None  # if held out, where the second half of the held-out text begins
    labels: Sequence[str] | None = None  # of the texts, where these are known
    telling: bool = False  # whether the likeliest label of each is asked for


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Texts end to end, with an END after each and the surprisal of each symbol."""

    texts: Sequence[str]
    ids: Ids  # (S,)
    nats_by_use: dict[Use, Array64]  # (S,)
    use: Use  # of the model
    ranks: Ranks | None  # (S,)  1: no symbol was likelier
    labels: Sequence[str] | None = None  # that were given
    likeliest: Sequence[tuple[str, float]] = ()  # label of each text, and its probability

    @property
    def nats(self) -> Array64:
        """The nats of the model as it is used, (S,)."""
        return self.nats_by_use[self.use]

    @cached_property
    def stops(self) -> Places:
        """The place after each text, (n,)."""
        return np.flatnonzero(self.ids == END) + 1

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of values of symbols (S,) over each text, (n,)."""
        return np.add.reduceat(values, np.append(0, self.stops)[:-1])

    def of_text(self, i: int) -> slice:
        return slice(self.stops[i - 1] if i else 0, self.stops[i])

    @property
    def total(self) -> Score:
        """The sums over all texts."""
        size = len("".join(self.texts).encode("utf-8", "replace"))
        return replace(tally(self.ids, self.nats), bytes=size)

    def columns(self) -> list[NDArray[Any]]:
        """Return the fields of each text's score, (n,) each: a process sends them in no time."""
        nats, is_end, is_unknown = self.nats, self.ids == END, self.ids == UNKNOWN
        ends, unknown = is_end.astype(int), is_unknown.astype(int)
        # These, and the sizes, are in the order of the fields of a Score.
        columns = nats, np.ones(len(nats), int), ends, unknown, np.where(is_end, nats, 0.0)
        sizes = [len(text.encode("utf-8", "replace")) for text in self.texts]
        return [*map(self.totals, columns), np.array(sizes)]


def scores_from(columns: Sequence[NDArray[Any]]) -> list[Score]:
    """Return the scores whose fields are in these columns."""
    return [Score(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def groups_of(texts: Iterable[T], text_of: Callable[[T], str] = str) -> Iterator[list[T]]:
    """Yield the texts, or what holds them, in groups that are scored together."""
    group: list[T] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text_of(text)) + 1
        if size >= GROUP or len(group) == MOST_TEXTS:
            yield group
            group, size = [], 0
    if group:
        yield group


def join_groups(groups: Sequence[ScoredTexts]) -> ScoredTexts:
    """Return the scores of several groups as those of one."""
    texts = [text for group in groups for text in group.texts]
    ids = np.concatenate([group.ids for group in groups])
    uses = groups[0].nats_by_use
    nats = {use: np.concatenate([group.nats_by_use[use] for group in groups]) for use in uses}
    labels = [label for group in groups for label in group.labels or ()]
    likeliest = [kind for group in groups for kind in group.likeliest]
    return ScoredTexts(texts, ids, nats, groups[0].use, None, labels or None, likeliest)


def score_ids(
    predictor: Predictor,
    ids: Ids,
    labels: Ids | None = None,
    *,
    ranking: bool = False,
    stretch: int = STRETCH,
    warm_up: int = EXACT_WARM_UP,
    split: int | None = None,
) -> tuple[dict[Use, Array64], Ranks | None]:
    """Return the nats of each symbol by use, (S,), and the ranks; ``labels`` are of each symbol.

    Before ``split``, and from there on, network and counts have the weights of the other half.
    """
    nats: dict[Use, Array64] = {use: np.zeros(len(ids)) for use in predictor.uses}
    ranks = np.zeros(len(ids), np.int32) if ranking else None
    y = ids.astype(np.intp)
    for place, rows in read_texts(predictor, ids, stretch, warm_up, split, labels):
        at, numbers = place[rows], np.arange(len(place[rows]))
        for use, logits in predictor.logits.items():
            o = logits[rows]
            if not predictor.is_bounded:  # exp could overflow
                o -= o.max(1, keepdims=True)
            at_y = o[numbers, y[at]]
            if ranks is not None and use == predictor.use:
                is_above = o > at_y[:, None]
                is_above[:, UNKNOWN] = False
                ranks[at] = 1 + np.count_nonzero(is_above, axis=1)
            nats[use][at] = np.log(np.exp(o, out=o).sum(1)) - at_y  # (10.14)
    add_lengths(predictor, ids, nats, ranks)
    is_certain = predictor.head.lengths is not None
    for of_use in nats.values():
        add_novelty(predictor.vocabulary, ids, of_use, known_ends=is_certain)
    if ranks is not None:
        ranks[ids == UNKNOWN] = predictor.vocabulary.symbols
    return nats, ranks


def stops_of(ids: Integers) -> Places:
    """Return the place after each text; an END follows each but the last, perhaps."""
    stops = np.flatnonzero(ids == END) + 1
    return np.append(stops, len(ids)) if len(ids) and ids[-1] != END else stops


def read_texts(
    predictor: Predictor,
    ids: Integers,
    stretch: int,
    warm_up: int,
    split: int | None = None,
    labels: Ids | None = None,
) -> Iterator[Read]:
    """Read texts that lie end to end. After each step, yield the place of the symbol that comes
    next in each lane, the rows of the lanes where it counts, and the state.

    With labels of the symbols, (S,), each stretch begins with the label of its text.
    """
    stretches = cut_into_stretches(np.diff(stops_of(ids), prepend=0), stretch, warm_up)
    # The network reads x = flat[place], and y = ids[place] comes next.
    flat = np.append(END, ids).astype(np.intp)
    at_once = lanes_at_once(predictor.vocabulary.symbols)
    for first in range(0, len(stretches.first), at_once):
        lanes = stretches.at(slice(first, first + at_once))
        x = (flat if labels is None else labels)[lanes.first].astype(np.intp)
        yield from read_stretches(predictor, flat, lanes, x, split)


def lanes_at_once(symbols: int) -> int:
    """Return how many lanes are read side by side."""
    return max(1, min(SCORED_LANES, LOGITS_AT_ONCE // symbols))


def read_stretches(
    predictor: Predictor, flat: Integers, stretches: Stretches, x: Integers, split: int | None
) -> Iterator[Read]:
    """Read some stretches, the longest first, each in a lane, where x comes first."""
    place, warm_up = stretches.first.copy(), stretches.warm_up
    state = predictor.zeros(len(place), stretches.clock, stretches.to_come)
    last_warm, times = int(warm_up.max()), np.arange(int(stretches.size[0]))
    # that have a step t
    lane_counts = len(place) - np.searchsorted(stretches.size[::-1], times, "right")
    of_first_half, of_second_half = predictor.halves[-1], predictor.halves[0]  # fitted on the other
    for t, lane_count in enumerate(lane_counts.tolist()):
        if lane_count < len(place):
            place, warm_up = place[:lane_count], warm_up[:lane_count]
            state = [h[:lane_count] for h in state]
        mixture = None
        if split is not None:
            mixture = np.where(place < split, of_first_half, of_second_half)
        predictor.step(flat[place] if t else x, state, mixture)
        # Once no lane warms up, all rows count: a slice copies nothing.
        yield place, np.flatnonzero(warm_up <= t) if t < last_warm else slice(None), state
        place += 1



class Stretches(NamedTuple):
    """Stretches of texts that lie end to end, (N,) each; they are read side by side."""

    first: Places  # the place of the first symbol
    size: Places
    warm_up: Places  # symbols at its beginning that do not count
    clock: Places  # symbols of its text before it
    to_come: Places  # characters of its text from its first symbol on

    def at(self, index: slice | Places) -> Stretches:
        return Stretches(*(numbers[index] for numbers in self))


def cut_into_stretches(sizes: Places, stretch: int, warm_up: int) -> Stretches:
    """Cut texts of these sizes into stretches, and return the longest first.

    A text of ten symbols, in stretches of four with a warm-up of one: 0123, 34567, 789.
    """
    counts = ceil_div(sizes, stretch)
    text = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)  # in its text
    counted_from = number * stretch
    read_from = np.maximum(counted_from - warm_up, 0)
    stretches = Stretches(
        first=(np.cumsum(sizes) - sizes)[text] + read_from,
        size=np.minimum(counted_from + stretch, sizes[text]) - read_from,
        warm_up=counted_from - read_from,
        clock=read_from,
        to_come=sizes[text] - 1 - read_from,
    )
    return stretches.at(np.argsort(-stretches.size, kind="stable"))


def add_lengths(
    predictor: Predictor, ids: Ids, nats: dict[Use, Array64], ranks: Ranks | None
) -> None:
    """Fill in what the ENDs cost where the length comes first: the cost of the length."""
    lengths, p = predictor.head.lengths, predictor.model.parameters
    if lengths is None:
        return
    stops = stops_of(ids)
    is_whole = ids[stops - 1] == END
    ends, tau = stops[is_whole] - 1, np.diff(stops, prepend=0)[is_whole] - 1
    nats["network"][ends] = lengths.nats(p, tau)
    if ranks is not None and len(ends):
        most = min(MOST_LENGTHS, 4 * int(tau.max()) + 256)
        likeliest = np.sort(lengths.nats(p, np.arange(most)))
        ranks[ends] = 1 + likeliest.searchsorted(nats["network"][ends])


def add_novelty(vocabulary: Vocabulary, ids: Integers, nats: Array64, *, known_ends: bool) -> None:
    """Add to the costs that the next character may be new, in place.

        known:  P(x) (1 - novelty)
        new:    (P(UNKNOWN) (1 - novelty) + novelty) / the number of unseen characters

    So the model is a distribution over all texts. An END that is known beforehand stays as it is.
    """
    novelty = vocabulary.novelty
    may_be_new = ids != END if known_ends else slice(None)
    nats[may_be_new] -= math.log1p(-novelty)
    unknown = ids == UNKNOWN
    if unknown.any():
        log_novelty = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], log_novelty)
