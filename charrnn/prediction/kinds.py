"""Texts of an unknown kind: their scores under each label, the sum, and the likeliest label.

    P(text) = sum over labels of P(label) P(text | label)
    P(label | text) = P(label) P(text | label) / P(text)                                      (3.42)

P(label) is its share of the training examples. Symbol by symbol, the nats of a sum are

    log P(y(1) .. y(t-1)) - log P(y(1) .. y(t))

The cost is that of one score for each label.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import SettingError
from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.prediction.losses import ENOUGH_EXAMPLES, Score
from charrnn.prediction.predictor import Predictor, Use
from charrnn.prediction.scoring import Group, ScoredTexts, groups_of, score_ids, stops_of
from charrnn.text.corpus import Examples
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import Ids, Vocabulary

MOST_SUMMED: Final = 32  # labels, up to which the oddest sum of a held-out example is known
SUMMED_AT_ONCE: Final = 64  # held-out examples


class ByLabel(NamedTuple):
    """Scores of texts under each of L labels."""

    sums: dict[Use, Array64]  # (S,) nats of each symbol, whatever the label
    given: dict[Use, Array64]  # (S,) nats under the labels that were given
    log_joint: Array64  # (n, L) log P(label) P(text | label) by the predictor as it is used


def score_texts(
    predictor: Predictor,
    texts: Sequence[str],
    labels: Sequence[str] | None = None,
    *,
    ranking: bool = False,
    telling: bool = False,
    split: int | None = None,
) -> ScoredTexts:
    """Return the score of a group of texts, each from its beginning to its END.

    A text without a label has the sum over all labels, and the ranks under the likeliest.
    """
    vocabulary, ids = predictor.vocabulary, predictor.vocabulary.encode_codes(join_examples(texts))
    sizes = np.diff(stops_of(ids), prepend=0)
    given = None if labels is None else label_ids(vocabulary, labels, sizes)
    kinds, ranks = list[tuple[str, float]](), None
    if vocabulary.labels and (telling or given is None):
        by_label = score_by_label(predictor, ids, given, split=split)
        nats = by_label.sums if given is None else by_label.given
        kinds = likeliest(vocabulary, by_label.log_joint)
        if given is None:
            given = label_ids(vocabulary, [label for label, _ in kinds], sizes)
    if ranking or not kinds:
        of_given, ranks = score_ids(predictor, ids, given, ranking=ranking, split=split)
        nats = nats if kinds else of_given
    return ScoredTexts(texts, ids, nats, predictor.use, ranks, labels, kinds)


def score_group(
    predictors: Sequence[Predictor], group: Group, *, ranking: bool = False
) -> list[ScoredTexts]:
    """Return the scores of a group of texts by each predictor."""
    texts, split, labels, telling = group
    how: Any = {"ranking": ranking, "telling": telling, "split": split}
    return [score_texts(predictor, texts, labels, **how) for predictor in predictors]


def accuracy_of(
    labels: Sequence[str], said: Sequence[str], learned: Mapping[str, int]
) -> dict[str, Any]:
    """Return how often labels were told right, and which were taken for which, as JSON has it.

    ``learned`` are the examples of each label in training.
    """
    pairs, counts = Counter(zip(labels, said, strict=True)), Counter(labels)
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


def likeliest_of(predictor: Predictor, texts: Sequence[str], label: str | None = None) -> list[str]:
    """Return the label of each text: this one, or else the likeliest."""
    if label is not None:
        return [label] * len(texts)
    groups = (score_texts(predictor, group, telling=True) for group in groups_of(texts))
    return [label for group in groups for label, _ in group.likeliest]


def likeliest(vocabulary: Vocabulary, log_joint: Array64) -> list[tuple[str, float]]:
    """Return the likeliest label of each text and its probability."""
    chances, names = softmax(log_joint), list(vocabulary.labels)  # (3.42)
    best = chances.argmax(1)
    return [(names[at], float(row[at])) for at, row in zip(best.tolist(), chances, strict=True)]


def score_by_label(
    predictor: Predictor, ids: Ids, given: Ids | None = None, *, split: int | None = None
) -> ByLabel:
    """Score texts that lie end to end under each label. ``given`` has a label for each symbol."""
    vocabulary, stops = predictor.vocabulary, stops_of(ids)
    starts = np.append(0, stops[:-1])
    sizes = stops - starts
    of_given = {use: np.zeros(len(ids)) for use in predictor.uses}
    log_p = {use: np.full(len(ids), -np.inf) for use in predictor.uses}
    log_joint = np.empty((len(stops), len(vocabulary.labels)))
    for row, log_share in enumerate(vocabulary.log_label_shares):
        label = vocabulary.symbols + row
        nats, _ = score_ids(predictor, ids, np.full(len(ids), label, np.uint32), split=split)
        log_joint[:, row] = log_share - np.add.reduceat(nats[predictor.use], starts)
        for use, of_use in nats.items():
            so_far = np.cumsum(of_use)
            so_far -= (so_far[starts] - of_use[starts]).repeat(sizes)
            np.logaddexp(log_p[use], log_share - so_far, out=log_p[use])
            if given is not None:
                np.copyto(of_given[use], of_use, where=given == label)
    sums = {}
    for use, after in log_p.items():
        before = np.append(0, after)[: len(ids)]
        before[starts] = 0
        sums[use] = before - after
    return ByLabel(sums, of_given, log_joint)


def oddest_sums(
    predictor: Predictor, held_out: Examples, given: Mapping[Use, Array64]
) -> dict[str, float]:
    """Return the most nats per character of a held-out example as a sum over labels, by use.

    ``given`` are the nats of its symbols under its label. A sum costs at most those, and -log of
    P(label). Few examples have to be summed, those with the highest bounds first.
    """
    shares, found = predictor.vocabulary.log_label_shares, dict[str, float]()
    if held_out.labels is None or len(shares) > MOST_SUMMED or len(held_out) < ENOUGH_EXAMPLES:
        return found
    starts = held_out.starts[:-1].astype(np.int64)
    sizes, middle = np.diff(held_out.starts).astype(np.int64), len(held_out.ids) // 2
    of_labels = shares[held_out.labels.astype(np.intp) - predictor.vocabulary.symbols]
    for use, nats in given.items():
        bounds = (np.add.reduceat(nats, starts) - of_labels) / sizes
        order, most = np.argsort(-bounds, kind="stable"), -np.inf
        for first in range(0, len(order), SUMMED_AT_ONCE):
            if bounds[order[first]] <= most:
                break
            some = np.sort(order[first : first + SUMMED_AT_ONCE])
            ids = np.concatenate([held_out.nth(i) for i in some.tolist()])
            split = int((middle - starts[some]).clip(0, sizes[some]).sum())
            sums = score_by_label(predictor, ids, split=split).sums[use]
            totals = np.add.reduceat(sums, np.cumsum(sizes[some]) - sizes[some])
            most = max(most, float((totals / sizes[some]).max()))
        found[use] = most
    return found


def label_ids(vocabulary: Vocabulary, labels: Sequence[str], sizes: Integers) -> Ids:
    """Return the label of each symbol of texts with these sizes, END counted."""
    at = {label: vocabulary.id_of(label) for label in dict.fromkeys(labels)}
    return np.array([at[label] for label in labels], np.uint32).repeat(sizes)


def groups_with(texts: Sequence[str], labels: Sequence[str] | None) -> Iterator[Group]:
    """Yield the texts in groups that are scored together, with their labels if these are given."""
    if labels is not None and len(labels) != len(texts):
        what = f"there are {len(labels):,} labels for {len(texts):,} texts"
        raise SettingError(what, "Give a label for each text.", "labels")
    of_texts = iter(labels or ())
    for group in groups_of(texts):
        yield Group(group, None, None if labels is None else list(islice(of_texts, len(group))))


def total_of(predictor: Predictor, group: Group) -> Score:
    """Return the sums over a group of texts."""
    return score_group([predictor], group)[0].total


def columns_of(predictor: Predictor, group: Group) -> list[NDArray[Any]]:
    """Return the fields of the score of each text of a group."""
    return score_group([predictor], group)[0].columns()
