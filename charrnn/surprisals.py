"""The surprisal of each symbol of some texts (10.32, 10.33), many lanes side by side.

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
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from charrnn.mixture import Predictor, Use
from charrnn.network import Array64, Integers
from charrnn.vocabulary import END, UNKNOWN, Ids, Vocabulary

Places = NDArray[np.int64]
Ranks = NDArray[np.int32]
Group = tuple[Sequence[str], int | None]  # texts; if held out, the place of the middle of all
T = TypeVar("T")

STRETCH: Final = 4096  # symbols counted in a lane
WARM_UP: Final = 256  # symbols read before a stretch
LANES: Final = 512  # at a time
GROUP: Final = 1 << 18  # symbols: a second or two of work
MOST_TEXTS: Final = 1 << 14  # in a group
MOST_LENGTHS: Final = 1 << 16  # compared to rank an END


@dataclass(frozen=True, eq=False)
class Scored:
    """Texts end to end, with an END after each and the surprisal of each symbol."""

    texts: Sequence[str]
    ids: Ids  # (S,)
    first: Places  # (n,)  where each text begins
    parts: dict[Use, Array64]  # (S,)  nats by part
    use: Use
    ranks: Ranks | None  # (S,)  1: no symbol was likelier

    @property
    def nats(self) -> Array64:
        """The nats of the model as it is used, (S,)."""
        return self.parts[self.use]

    def totals(self, of_symbols: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over each text, (n,)."""
        return np.add.reduceat(of_symbols, self.first)

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


def join(groups: Sequence[Scored]) -> Scored:
    """Return the scores of several groups as those of one."""
    sizes = [len(group.ids) for group in groups]
    starts = np.cumsum([0, *sizes[:-1]])
    first = np.concatenate([group.first + at for group, at in zip(groups, starts, strict=True)])
    parts = {part: np.concatenate([g.parts[part] for g in groups]) for part in groups[0].parts}
    texts, ids = [text for g in groups for text in g.texts], np.concatenate([g.ids for g in groups])
    return Scored(texts, ids, first, parts, groups[0].use, None)


def score_with(
    predictor: Predictor, texts: Sequence[str], *, ranking: bool = False, split: int | None = None
) -> Scored:
    """Return the score of a group of texts by one predictor."""
    return score_group([predictor], (texts, split), ranking=ranking)[0]


def score_group(
    predictors: Sequence[Predictor], group: Group, *, ranking: bool = False
) -> list[Scored]:
    """Score some texts, each from its beginning to its END, by predictors with one vocabulary."""
    texts, split = group
    vocabulary = predictors[0].vocabulary
    sizes = np.array([len(text) + 1 for text in texts], np.int64)
    stops = np.cumsum(sizes)
    ids = np.zeros(int(stops[-1]), vocabulary.dtype)
    is_end = np.zeros(len(ids), np.bool_)
    is_end[stops - 1] = True
    ids[~is_end] = vocabulary.encode("".join(texts))
    results: list[Scored] = []
    for predictor in predictors:
        parts, ranks = score_ids(predictor, ids, ranking=ranking, split=split)
        results.append(Scored(texts, ids, stops - sizes, parts, predictor.use, ranks))
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
    """Return the nats of each symbol by part, (S,), and the ranks; an END follows each text."""
    flat = np.concatenate([np.zeros(1, ids.dtype), ids]).astype(np.intp)  # y is one place after x
    stops = np.flatnonzero(ids == END) + 1
    if len(ids) and ids[-1] != END:
        stops = np.append(stops, len(ids))
    sizes = np.diff(stops, prepend=0)
    begins, reads_from, ends, starts = cut(sizes, stretch, warm_up)
    nats: dict[Use, Array64] = {name: np.zeros(len(ids)) for name in predictor.parts}
    ranks = np.zeros(len(ids), np.int32) if ranking else None
    halves = predictor.mixture[None] if split is None else predictor.halves
    mixtures = np.where(np.arange(len(ids)) < (split or 0), halves[-1:].T, halves[:1].T)
    order = np.argsort(reads_from - ends, kind="stable")  # the longest first
    for at in range(0, len(order), LANES):
        lanes = order[at : at + LANES]
        start, first = starts[lanes], reads_from[lanes]
        read = ends[lanes] - first
        warm = begins[lanes] - first
        to_come = sizes[np.searchsorted(stops, start, "right")] - 1 - first
        state = predictor.zeros(len(lanes), first, to_come)
        _read(predictor, flat, start + first, read, warm, state, mixtures, nats, ranks)
    _add_lengths(predictor, ids, stops, sizes, nats, ranks)
    for cost in nats.values():
        add_novelty(
            predictor.vocabulary, ids, cost, certain_ends=predictor.head.lengths is not None
        )
    if ranks is not None:
        ranks[ids == UNKNOWN] = predictor.vocabulary.symbols
    return nats, ranks


def cut(sizes: Places, stretch: int, warm_up: int) -> tuple[Places, Places, Places, Places]:
    """Return the stretches of texts of these sizes: for each its first counted symbol, the first
    that is read, the end, and where its text begins. The first three count from there.
    """
    counts = -(-sizes // stretch)
    text = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = number * stretch
    ends = np.minimum(begins + stretch, sizes[text])
    return begins, np.maximum(begins - warm_up, 0), ends, (np.cumsum(sizes) - sizes)[text]


def _read(
    predictor: Predictor,
    flat: NDArray[np.intp],
    place: Places,  # (B,)  of the next x in flat
    read: Places,  # (B,)  symbols to read, the most first
    warm: Places,  # (B,)  symbols to read before those that count
    state: list[NDArray[Any]],
    mixtures: Array64,  # (2, S)
    nats: dict[Use, Array64],
    ranks: Ranks | None,
) -> None:
    """Read some lanes from beginning to end, and fill in the costs of their symbols."""
    rows = np.arange(len(place))
    last_warm = int(warm.max())
    going = np.searchsorted(-read, -np.arange(int(read[0])), "left")  # lanes that are longer
    for t, lanes in enumerate(going.tolist()):
        if lanes < len(place):
            place, rows, warm = place[:lanes], rows[:lanes], warm[:lanes]
            state = [h[:lanes] for h in state]
        y = flat[place + 1]
        predictor.step(flat[place], state, mixtures[:, place])
        for name, o in predictor.logits.items():
            if not predictor.is_bounded:
                o -= o.max(1, keepdims=True)
            at_y = o[rows, y]
            if ranks is not None and name == predictor.use:
                is_above = o > at_y[:, None]
                is_above[:, UNKNOWN] = False
                place_of_y = 1 + np.count_nonzero(is_above, axis=1)
                ranks[place] = np.where(warm <= t, place_of_y, ranks[place])
            cost = np.log(np.exp(o, out=o).sum(1)) - at_y  # (10.14)
            if t < last_warm:
                cost = np.where(warm <= t, cost, nats[name][place])
            nats[name][place] = cost
        place += 1


def _add_lengths(
    predictor: Predictor,
    ids: Ids,
    stops: Places,
    sizes: Places,
    nats: dict[Use, Array64],
    ranks: Ranks | None,
) -> None:
    """Fill in what the ENDs cost where the length comes first: the cost of the length."""
    lengths, p = predictor.head.lengths, predictor.model.parameters
    if lengths is None:
        return
    is_whole = ids[stops - 1] == END
    ends, tau = stops[is_whole] - 1, sizes[is_whole] - 1
    nats["network"][ends] = lengths.nats(p, tau)
    if ranks is not None and len(ends):
        most = min(MOST_LENGTHS, 4 * int(tau.max()) + 256)
        costs = np.sort(lengths.nats(p, np.arange(most)))
        ranks[ends] = 1 + costs.searchsorted(nats["network"][ends])


def add_novelty(
    vocabulary: Vocabulary, ids: Integers, nats: Array64, *, certain_ends: bool
) -> None:
    """Add to the costs that the next character may be new, in place.

    All characters of Unicode that are not in the vocabulary share the chance ``novelty``, so the
    model is a distribution over all texts. An END that is known beforehand excludes them.
    """
    novelty = vocabulary.novelty
    nats -= np.where((ids == END) & certain_ends, 0.0, math.log1p(-novelty))
    unknown = ids == UNKNOWN
    if unknown.any():
        log_novelty = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], log_novelty)
