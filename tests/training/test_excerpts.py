"""Excerpts that are scored at a check-up."""

import numpy as np
import pytest

from charrnn.text.corpus import Examples
from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import END
from charrnn.training.excerpts import portions_of, score_portion
from tests.networks import babbler

ONE_LONG = Examples(np.arange(100_000, dtype=np.uint32) + 2)


def lines(count: int, length: int) -> Examples:
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return Examples(ids)


@pytest.mark.parametrize("shards", [1, 3])
def test_portions_begin_with_an_example_or_a_stretch(shards: int) -> None:
    texts, most = [lines(10, 20), ONE_LONG], [200, 16_384]
    sizes = {1: [[200], [15_392]], 3: [[80, 60, 60], [5_312, 5_280, 4_800]]}[shards]
    portions = portions_of(texts, most, shards)
    for number, text in enumerate(texts):
        places, counted = excerpt_of(text.ids, most[number])
        found = [
            ids[is_counted] for ids, is_counted, _ in (portion[number] for portion in portions)
        ]
        assert [len(ids) for ids in found] == sizes[number]
        assert np.concatenate(found).tolist() == text.ids[places[counted]].tolist()


def test_one_short_text_is_not_divided_and_nothing_held_out_is_empty() -> None:
    texts = [lines(1, 200), Examples(np.empty(0, np.uint8))]
    first, second = portions_of(texts, [1_000, 1_000], 2)
    assert [len(ids) for ids, *_ in (*first, *second)] == [200, 0, 0, 0]


def test_a_portion_has_the_scores_of_its_texts_whatever_lies_beside_them() -> None:
    model = babbler()
    long = np.tile([2, 3, 4, 5, 4], 500).astype(np.uint8)
    names = np.tile([2, 3, END], 100).astype(np.uint8)
    pieces = [(ids, np.arange(len(ids)) >= 7, None) for ids in (long, names)]
    together = score_portion(model.vocabulary, model.parameters, pieces)
    for piece, score in zip(pieces, together, strict=True):
        (alone,) = score_portion(model.vocabulary, model.parameters, [piece])
        assert (score.count, score.ends) == (alone.count, alone.ends)
        assert score.count == len(piece[0]) - 7
        assert score.nats == pytest.approx(alone.nats, rel=1e-5)
