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
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from charrnn.network.arrays import Array64, Integers
from charrnn.prediction.losses import Score, tally
from charrnn.prediction.predictor import Predictor, Use
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary

Places = NDArray[np.int64]
Ranks = NDArray[np.int32]
# Texts; if held out, the place in them where the second half of the held-out text begins.
Group = tuple[Sequence[str], int | None]
T = TypeVar("T")

STRETCH: Final = 4096  # symbols counted in a lane
WARM_UP: Final = 256  # symbols read before a stretch
SCORED_LANES: Final = 512  # at a time
GROUP: Final = 1 << 18  # symbols: a second or two of work
MOST_TEXTS: Final = 1 << 14  # in a group
MOST_LENGTHS: Final = 1 << 16  # compared to rank an END


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Texts end to end, with an END after each and the surprisal of each symbol."""

    texts: Sequence[str]
    ids: Ids  # (S,)
    first: Places  # (n,)  where each text begins
    nats_by_use: dict[Use, Array64]  # (S,)
    use: Use  # of the model
    ranks: Ranks | None  # (S,)  1: no symbol was likelier

    @property
    def nats(self) -> Array64:
        """The nats of the model as it is used, (S,)."""
        return self.nats_by_use[self.use]

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of values of symbols (S,) over each text, (n,)."""
        return np.add.reduceat(values, self.first)

    def of_text(self, i: int) -> slice:
        """Return the symbols of a text, with its END."""
        stop = self.first[i + 1] if i + 1 < len(self.first) else len(self.ids)
        return slice(int(self.first[i]), int(stop))


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
    sizes = [len(group.ids) for group in groups]
    starts = np.cumsum([0, *sizes[:-1]])
    first = np.concatenate([group.first + at for group, at in zip(groups, starts, strict=True)])
    texts = [text for group in groups for text in group.texts]
    ids = np.concatenate([group.ids for group in groups])
    uses = groups[0].nats_by_use
    nats = {use: np.concatenate([group.nats_by_use[use] for group in groups]) for use in uses}
    return ScoredTexts(texts, ids, first, nats, groups[0].use, None)


def score_texts(
    predictor: Predictor, texts: Sequence[str], *, ranking: bool = False, split: int | None = None
) -> ScoredTexts:
    """Return the score of a group of texts by one predictor."""
    return score_group([predictor], (texts, split), ranking=ranking)[0]


def score_group(
    predictors: Sequence[Predictor], group: Group, *, ranking: bool = False
) -> list[ScoredTexts]:
    """Score some texts, each from its beginning to its END, by predictors with one vocabulary."""
    texts, split = group
    vocabulary = predictors[0].vocabulary
    sizes = np.array([len(text) + 1 for text in texts], np.int64)
    stops = np.cumsum(sizes)
    ids = np.zeros(int(stops[-1]), vocabulary.dtype)
    is_end = np.zeros(len(ids), np.bool_)
    is_end[stops - 1] = True
    ids[~is_end] = vocabulary.encode("".join(texts))
    results: list[ScoredTexts] = []
    for predictor in predictors:
        nats, ranks = score_ids(predictor, ids, ranking=ranking, split=split)
        results.append(ScoredTexts(texts, ids, stops - sizes, nats, predictor.use, ranks))
    return results


def score_ids(
    predictor: Predictor,
    ids: Ids,
    *,
    ranking: bool = False,
    stretch: int = STRETCH,
    warm_up: int = WARM_UP,
    split: int | None = None,
) -> tuple[dict[Use, Array64], Ranks | None]:
    """Return the nats of each symbol by use, (S,), and the ranks; an END follows each text but the
    last, perhaps.
    """
    stops = np.flatnonzero(ids == END) + 1
    if len(ids) and ids[-1] != END:
        stops = np.append(stops, len(ids))
    stretches = cut_into_stretches(np.diff(stops, prepend=0), stretch, warm_up)
    costs = Costs(predictor, ids, split, ranking=ranking)
    for first in range(0, len(stretches.first), SCORED_LANES):
        costs.read(stretches.at(slice(first, first + SCORED_LANES)))
    costs.add_lengths(stops)
    is_certain = predictor.head.lengths is not None
    for nats in costs.nats.values():
        add_novelty(predictor.vocabulary, ids, nats, certain_ends=is_certain)
    if costs.ranks is not None:
        costs.ranks[ids == UNKNOWN] = predictor.vocabulary.symbols
    return costs.nats, costs.ranks


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
    counts = -(-sizes // stretch)  # rounded up
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


class Costs:
    """The nats of each symbol by use, (S,), and its rank, filled in stretch by stretch."""

    def __init__(self, predictor: Predictor, ids: Ids, split: int | None, *, ranking: bool) -> None:
        self.predictor, self.ids, self.split = predictor, ids, split or 0
        # Each half of a held-out text has the weights (2, F, 1) that were fitted on the other half.
        fitted_on = predictor.mixture[None] if split is None else predictor.halves
        self.mixture_in_first_half = fitted_on[-1]
        self.mixture_in_second_half = fitted_on[0]  # the same if there are no halves
        # The network reads x = flat[place], and y = ids[place] = flat[place + 1] costs nats[place].
        self.flat = np.concatenate([[END], ids]).astype(np.intp)
        self.nats: dict[Use, Array64] = {use: np.zeros(len(ids)) for use in predictor.uses}
        self.ranks = np.zeros(len(ids), np.int32) if ranking else None

    def read(self, stretches: Stretches) -> None:
        """Read some stretches, the longest first, each in a lane."""
        predictor, place, warm_up = self.predictor, stretches.first.copy(), stretches.warm_up
        state = predictor.zeros(len(place), stretches.clock, stretches.to_come)
        last_warm, times = int(warm_up.max()), np.arange(int(stretches.size[0]))
        rising = stretches.size[::-1]
        lane_counts = len(place) - np.searchsorted(rising, times, "right")  # that have a step t
        for t, lane_count in enumerate(lane_counts.tolist()):
            if lane_count < len(place):
                place, warm_up = place[:lane_count], warm_up[:lane_count]
                state = [h[:lane_count] for h in state]
            mixture = np.where(
                place < self.split, self.mixture_in_first_half, self.mixture_in_second_half
            )
            predictor.step(self.flat[place], state, mixture)
            # Once no lane warms up, all rows count: a slice copies nothing.
            rows = np.flatnonzero(warm_up <= t) if t < last_warm else slice(None)
            for use, o in predictor.logits.items():
                self._fill_in(use, o[rows], place[rows])
            place += 1

    def _fill_in(self, use: Use, o: Array64, place: Places) -> None:
        """Fill in what the symbols after these places of ``flat`` cost."""
        if not self.predictor.is_bounded:  # exp could overflow
            o -= o.max(1, keepdims=True)
        at_y = o[np.arange(len(place)), self.flat[place + 1]]
        if self.ranks is not None and use == self.predictor.use:
            is_above = o > at_y[:, None]
            is_above[:, UNKNOWN] = False
            self.ranks[place] = 1 + np.count_nonzero(is_above, axis=1)
        self.nats[use][place] = np.log(np.exp(o, out=o).sum(1)) - at_y  # (10.14)

    def add_lengths(self, stops: Places) -> None:
        """Fill in what the ENDs cost where the length comes first: the cost of the length."""
        lengths, p = self.predictor.head.lengths, self.predictor.model.parameters
        if lengths is None:
            return
        is_whole = self.ids[stops - 1] == END
        ends, tau = stops[is_whole] - 1, np.diff(stops, prepend=0)[is_whole] - 1
        nats = self.nats["network"]
        nats[ends] = lengths.nats(p, tau)
        if self.ranks is not None and len(ends):
            most = min(MOST_LENGTHS, 4 * int(tau.max()) + 256)
            likeliest = np.sort(lengths.nats(p, np.arange(most)))
            self.ranks[ends] = 1 + likeliest.searchsorted(nats[ends])


def add_novelty(
    vocabulary: Vocabulary, ids: Integers, nats: Array64, *, certain_ends: bool
) -> None:
    """Add to the costs that the next character may be new, in place.

        known:  P(x) (1 - novelty)
        new:    (P(UNKNOWN) (1 - novelty) + novelty) / the number of unseen characters

    So the model is a distribution over all texts. An END that is known beforehand stays as it is.
    """
    novelty = vocabulary.novelty
    may_be_new = ids != END if certain_ends else slice(None)
    nats[may_be_new] -= math.log1p(-novelty)
    unknown = ids == UNKNOWN
    if unknown.any():
        log_novelty = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], log_novelty)


def total_score(scored: ScoredTexts) -> Score:
    """Return the sums over a group of texts."""
    size = len("".join(scored.texts).encode("utf-8", "replace"))
    return replace(tally(scored.ids, scored.nats), bytes=size)


def score_per_text(scored: ScoredTexts) -> list[Score]:
    """Return the score of each text of a group."""
    nats, is_end, is_unknown = scored.nats, scored.ids == END, scored.ids == UNKNOWN
    ends, unknown = is_end.astype(int), is_unknown.astype(int)
    # These, and the sizes, are in the order of the fields of a Score.
    columns = nats, np.ones(len(nats), int), ends, unknown, np.where(is_end, nats, 0.0)
    totals = [scored.totals(column).tolist() for column in columns]
    sizes = [len(text.encode("utf-8", "replace")) for text in scored.texts]
    return [Score(*row) for row in zip(*totals, sizes, strict=True)]
