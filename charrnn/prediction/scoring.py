"""The surprisal of each symbol of some texts (10.32, 10.33), and the likeliest label of each.

Texts are scored in groups that depend on the texts alone: a score is the same on any cores. Where a
network has labels, a text of an unknown kind has the sum over all labels:

    P(text) = sum over labels of P(label) P(text | label)
    P(label | text) = P(label) P(text | label) / P(text)                                      (3.42)

P(label) is its share of the training examples. Symbol by symbol, the nats of a sum are

    log P(y(1) .. y(t-1)) - log P(y(1) .. y(t))

The cost is that of one score for each label.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.prediction.losses import ENOUGH_EXAMPLES, Score, tally
from charrnn.prediction.predictor import Costs, Places, Predictor, Use, read_texts, stops_of
from charrnn.text.corpus import Examples
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary

Ranks = NDArray[np.int32]
T = TypeVar("T")

STRETCH: Final = 4096  # symbols counted in a lane
EXACT_WARM_UP: Final = 256  # symbols read before a stretch
GROUP: Final = 1 << 18  # symbols: a second or two of work
MOST_TEXTS: Final = 1 << 14  # in a group
MOST_LENGTHS: Final = 1 << 16  # compared to rank an END
MOST_SUMMED: Final = 32  # labels, up to which the oddest sum of a held-out example is known
SUMMED_AT_ONCE: Final = 64  # held-out examples


class Group(NamedTuple):
    """Texts that are scored together."""

    texts: Sequence[str]
    labels: Sequence[str] | None = None  # of the texts, where these are known
    split: int | None = None  # if held out, where the second half of the held-out text begins
    telling: bool = False  # whether the likeliest label of each is asked for


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Texts end to end, with an END after each and the surprisal of each symbol."""

    texts: Sequence[str]
    ids: Ids  # (S,)
    nats_by_use: Costs
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
        return stops_of(self.ids)

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of values of symbols (S,) over each text, (n,)."""
        return np.add.reduceat(values, np.append(0, self.stops)[:-1])

    def of_text(self, i: int) -> slice:
        return slice(self.stops[i - 1] if i else 0, self.stops[i])

    def count_above(self, limit: float) -> int:
        """Return how many texts have more nats per character."""
        losses = self.totals(self.nats) / np.diff(self.stops, prepend=0)
        return int(np.count_nonzero(losses > limit))

    @property
    def total(self) -> Score:
        size = len("".join(self.texts).encode("utf-8", "replace"))
        return replace(tally(self.ids, self.nats), bytes=size)

    def columns(self) -> list[list[Any]]:
        """Return the fields of the scores of all texts, in the order of those of a Score."""
        nats, is_end, is_unknown = self.nats, self.ids == END, self.ids == UNKNOWN
        ends, unknown = is_end.astype(int), is_unknown.astype(int)
        columns = nats, np.ones(len(nats), int), ends, unknown, np.where(is_end, nats, 0.0)
        totals = [self.totals(column).tolist() for column in columns]
        return [*totals, [len(text.encode("utf-8", "replace")) for text in self.texts]]


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


def groups_with(texts: Sequence[str], labels: Sequence[str] | None) -> Iterator[Group]:
    """Yield the texts in groups that are scored together, with their labels if these are given."""
    if labels is not None and len(labels) != len(texts):
        what = f"texts and labels differ in number: {len(texts):,} and {len(labels):,}"
        raise SettingError(what, "Give a label for each text.", "labels")
    of_texts = iter(labels or ())
    for group in groups_of(texts):
        yield Group(group, None if labels is None else list(islice(of_texts, len(group))))


def join_groups(groups: Sequence[ScoredTexts]) -> ScoredTexts:
    """Return the scores of several groups as those of one."""
    texts = [text for group in groups for text in group.texts]
    ids = np.concatenate([group.ids for group in groups])
    uses = groups[0].nats_by_use
    nats = {use: np.concatenate([group.nats_by_use[use] for group in groups]) for use in uses}
    labels = [label for group in groups for label in group.labels or ()]
    likeliest = [kind for group in groups for kind in group.likeliest]
    return ScoredTexts(texts, ids, nats, groups[0].use, None, labels or None, likeliest)


def score_texts(predictor: Predictor, group: Group, *, ranking: bool = False) -> ScoredTexts:
    """Return the score of a group of texts, each from its beginning to its END.

    A text without a label has the sum over all labels, and the ranks under the likeliest.
    """
    texts, labels, split, telling = group
    vocabulary, ids = predictor.vocabulary, predictor.vocabulary.encode_codes(join_examples(texts))
    sizes = np.diff(stops_of(ids), prepend=0)
    known = None if labels is None else vocabulary.label_ids(labels).repeat(sizes)
    kinds, ranks = list[tuple[str, float]](), None
    if vocabulary.labels and (telling or known is None):
        nats, log_joint = score_by_label(predictor, ids, known, split=split)
        kinds = likeliest(vocabulary, softmax(log_joint))  # (3.42)
        if known is None:
            known = vocabulary.label_ids([label for label, _ in kinds]).repeat(sizes)
    if ranking or not kinds:
        of_known, ranks = score_ids(predictor, ids, known, ranking=ranking, split=split)
        nats = nats if kinds else of_known
    return ScoredTexts(texts, ids, nats, predictor.use, ranks, labels, kinds)


def score_group(
    predictors: Sequence[Predictor], group: Group, *, ranking: bool = False
) -> list[ScoredTexts]:
    return [score_texts(predictor, group, ranking=ranking) for predictor in predictors]


def total_of(predictor: Predictor, group: Group) -> Score:
    return score_texts(predictor, group).total


def columns_of(predictor: Predictor, group: Group) -> list[list[Any]]:
    return score_texts(predictor, group).columns()  # sent by a process faster than scores


def score_ids(
    predictor: Predictor,
    ids: Ids,
    labels: Ids | None = None,
    *,
    ranking: bool = False,
    stretch: int = STRETCH,
    warm_up: int = EXACT_WARM_UP,
    split: int | None = None,
) -> tuple[Costs, Ranks | None]:
    """Return the nats of each symbol by use, (S,), and the ranks; ``labels`` are of each symbol.

    Before ``split``, and from there on, network and counts have the weights of the other half.
    """
    nats: Costs = {use: np.zeros(len(ids)) for use in predictor.uses}
    ranks = np.zeros(len(ids), np.int32) if ranking else None
    y = ids.astype(np.intp)
    for place, rows, _ in read_texts(predictor, ids, stretch, warm_up, split, labels):
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
    for of_use in nats.values():
        add_novelty(predictor, ids, of_use)
    if ranks is not None:
        ranks[ids == UNKNOWN] = predictor.vocabulary.symbols
    return nats, ranks


def add_lengths(predictor: Predictor, ids: Ids, nats: Costs, ranks: Ranks | None) -> None:
    """Fill in what the ENDs cost where the length comes first: the cost of the length."""
    lengths, p = predictor.head.lengths, predictor.model.parameters
    if lengths is None:
        return
    stops = stops_of(ids)
    is_whole = ids[stops - 1] == END
    ends, tau = stops[is_whole] - 1, np.diff(stops, prepend=0)[is_whole] - 1
    nats["network"][ends] = lengths.nats(p, tau)
    if ranks is not None and len(ends):
        likeliest = np.sort(lengths.nats(p, np.arange(min(MOST_LENGTHS, 4 * int(tau.max()) + 256))))
        ranks[ends] = 1 + likeliest.searchsorted(nats["network"][ends])


def add_novelty(predictor: Predictor, ids: Integers, nats: Array64) -> None:
    """Add to the costs that the next character may be new, in place.

        known:  P(x) (1 - novelty)
        new:    (P(UNKNOWN) (1 - novelty) + novelty) / the number of unseen characters

    So the model is a distribution over all texts. An END whose place is drawn first stays as it is.
    """
    vocabulary, novelty = predictor.vocabulary, predictor.vocabulary.novelty
    may_be_new = slice(None) if predictor.head.lengths is None else ids != END
    nats[may_be_new] -= math.log1p(-novelty)
    unknown = ids == UNKNOWN
    if unknown.any():
        log_novelty = math.log(novelty) if novelty else -math.inf
        nats[unknown] = vocabulary.unseen_nats - np.logaddexp(-nats[unknown], log_novelty)


def score_by_label(
    predictor: Predictor, ids: Ids, known: Ids | None = None, *, split: int | None = None
) -> tuple[Costs, Array64]:
    """Score texts that lie end to end under each of L labels.

    Return the nats of each symbol by use, (S,): under its label if that is known, else of the sum.
    With them comes log P(label) P(text | label), (n, L), of the predictor as it is used.
    """
    vocabulary, stops = predictor.vocabulary, stops_of(ids)
    starts = np.append(0, stops[:-1])
    sizes = stops - starts
    nats = {use: np.zeros(len(ids)) for use in predictor.uses}
    log_p = {use: np.full(len(ids), -np.inf) for use in predictor.uses}  # of y(1) .. y(t)
    log_joint = np.empty((len(stops), len(vocabulary.labels)))
    for row, log_share in enumerate(vocabulary.log_label_shares):
        label = np.full(len(ids), vocabulary.symbols + row, np.uint32)
        of_label, _ = score_ids(predictor, ids, label, split=split)
        log_joint[:, row] = log_share - np.add.reduceat(of_label[predictor.use], starts)
        for use, of_use in of_label.items():
            if known is None:
                so_far = np.cumsum(of_use)
                so_far -= (so_far[starts] - of_use[starts]).repeat(sizes)
                np.logaddexp(log_p[use], log_share - so_far, out=log_p[use])
            else:
                np.copyto(nats[use], of_use, where=known == label)
    if known is None:
        for use, after in log_p.items():
            before = np.append(0, after)[: len(ids)]
            before[starts] = 0
            nats[use] = before - after
    return nats, log_joint


def oddest_sums(predictor: Predictor, held_out: Examples, labelled: Costs) -> dict[str, float]:
    """Return the most nats per character of a held-out example as a sum over labels, by use.

    ``labelled`` are the nats of its symbols under its label. A sum costs at most those, and -log of
    P(label). Few examples have to be summed, those with the highest bounds first.
    """
    shares, oddest = predictor.vocabulary.log_label_shares, dict[str, float]()
    if held_out.labels is None or len(shares) > MOST_SUMMED or len(held_out) < ENOUGH_EXAMPLES:
        return oddest
    starts = held_out.starts[:-1].astype(np.int64)
    sizes, middle = np.diff(held_out.starts).astype(np.int64), len(held_out.ids) // 2
    of_labels = shares[held_out.labels.astype(np.intp) - predictor.vocabulary.symbols]
    for use, nats in labelled.items():
        bounds = (np.add.reduceat(nats, starts) - of_labels) / sizes
        order, most = np.argsort(-bounds, kind="stable"), -np.inf
        for first in range(0, len(order), SUMMED_AT_ONCE):
            if bounds[order[first]] <= most:
                break
            batch = np.sort(order[first : first + SUMMED_AT_ONCE])
            ids = np.concatenate([held_out.nth(i) for i in batch.tolist()])
            split = int((middle - starts[batch]).clip(0, sizes[batch]).sum())
            sums, _ = score_by_label(predictor, ids, split=split)
            totals = np.add.reduceat(sums[use], np.cumsum(sizes[batch]) - sizes[batch])
            most = max(most, float((totals / sizes[batch]).max()))
        oddest[use] = most
    return oddest


def accuracy_of(
    labels: Sequence[str], predicted: Sequence[str], learned: Mapping[str, int]
) -> dict[str, Any]:
    """Return how often labels were told right, and which were taken for which, as JSON has it.

    ``learned`` are the examples of each label in training.
    """
    pairs, counts = Counter(zip(labels, predicted, strict=True)), Counter(labels)
    shares = [pairs[label, label] / count for label, count in counts.items()]
    accuracy = sum(pairs[label, label] for label in counts) / len(labels)
    commonest = max(learned, key=lambda label: learned[label])
    confusions: dict[str, dict[str, int]] = {label: {} for label in counts}
    for (label, answer), count in pairs.items():
        confusions[label][answer] = count
    return {
        "accuracy": accuracy,
        "standard_error": math.sqrt(accuracy * (1 - accuracy) / len(labels)),
        "mean_over_labels": sum(shares) / len(shares),
        "commonest": commonest,
        "accuracy_of_commonest": counts[commonest] / len(labels),
        "confusions": confusions,
    }


def labels_to_read(
    vocabulary: Vocabulary, texts: Sequence[str], kinds: Sequence[str] | None
) -> Ids | None:
    """Return the label of each symbol of texts with these labels, if they have any."""
    sizes = np.array([len(text) + 1 for text in texts], np.int64)
    return None if kinds is None else vocabulary.label_ids(kinds).repeat(sizes)


def likeliest(vocabulary: Vocabulary, chances: Array64) -> list[tuple[str, float]]:
    """Return the likeliest label of each text and its probability; ``chances`` are (n, L)."""
    names, best = list(vocabulary.labels), chances.argmax(1).tolist()
    return [(names[at], float(row[at])) for at, row in zip(best, chances, strict=True)]
