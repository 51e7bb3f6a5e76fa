"""Excerpts that are scored at a check-up."""

import numpy as np
import pytest

from charrnn.text.corpus import Examples
from charrnn.text.vocabulary import END
from charrnn.training.excerpts import EXCERPT_WARM_UP, excerpt_of, portions_of, score_portion
from tests.networks import babbler

ONE_LONG = Examples(np.arange(100_000, dtype=np.uint32) + 2)


def lines(count: int, length: int) -> Examples:
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return Examples(ids)


def test_what_is_short_is_looked_at_as_it_is() -> None:
    text = lines(10, 20)
    examples, counted = excerpt_of(text, 200)
    assert examples is text
    assert counted.all()


def test_of_many_examples_some_are_looked_at_whole() -> None:
    text = lines(1_000, 20)
    examples, counted = excerpt_of(text, 2_000)
    assert counted.all()
    assert len(examples) == 100
    assert [examples.nth(i).tolist() for i in (0, 99)] == [text.nth(i).tolist() for i in (0, 990)]


def test_a_few_long_ones_are_looked_at_in_stretches_of_all() -> None:
    """Three of forty, looked at whole, would stand for no more than themselves."""
    examples, counted = excerpt_of(lines(40, 10_000), 32_000)
    chosen = examples.ids[counted]
    files = np.unique((chosen[chosen != END] - 2) // 10_000)
    assert len(files) >= 16


def test_of_a_long_text_its_end_is_looked_at_as_well_as_its_beginning() -> None:
    examples, counted = excerpt_of(ONE_LONG, 16_384)
    chosen = examples.ids[counted]
    assert len(examples.ids) == 16_384
    assert chosen[0] == 2
    assert chosen[-1] == 100_001
    tenths = np.bincount((chosen - 2) // 10_000, minlength=10)
    assert tenths.min() > 0.5 * tenths.mean()


def test_where_a_stretch_follows_another_its_first_symbols_do_not_count() -> None:
    examples, counted = excerpt_of(ONE_LONG, 16_384)
    joints = np.flatnonzero(np.diff(examples.ids.astype(np.int64)) != 1) + 1
    assert len(joints) == 15
    for joint in joints:
        assert not counted[joint : joint + EXCERPT_WARM_UP].any()
        assert counted[joint - 1]
    assert (~counted).sum() == 15 * EXCERPT_WARM_UP


@pytest.mark.parametrize("shards", [1, 3])
def test_portions_begin_with_an_example_or_a_stretch(shards: int) -> None:
    texts, most = [lines(10, 20), ONE_LONG], [200, 16_384]
    sizes = {1: [[200], [15_904]], 3: [[80, 60, 60], [5_984, 4_960, 4_960]]}[shards]
    portions = portions_of(texts, most, shards)
    for number, text in enumerate(texts):
        examples, counted = excerpt_of(text, most[number])
        found = [ids[is_counted] for ids, is_counted in (portion[number] for portion in portions)]
        assert [len(ids) for ids in found] == sizes[number]
        assert np.concatenate(found).tolist() == examples.ids[counted].tolist()


def test_one_short_text_is_not_divided_and_nothing_held_out_is_empty() -> None:
    texts = [lines(1, 200), Examples(np.empty(0, np.uint8))]
    first, second = portions_of(texts, [1_000, 1_000], 2)
    assert [len(ids) for ids, _ in (*first, *second)] == [200, 0, 0, 0]


def test_a_portion_has_the_scores_of_its_texts_whatever_lies_beside_them() -> None:
    model = babbler()
    long = np.tile([2, 3, 4, 5, 4], 500).astype(np.uint8)
    names = np.tile([2, 3, END], 100).astype(np.uint8)
    pieces = [(ids, np.arange(len(ids)) >= 7) for ids in (long, names)]
    together = score_portion(model.vocabulary, model.parameters, pieces)
    for piece, score in zip(pieces, together, strict=True):
        (alone,) = score_portion(model.vocabulary, model.parameters, [piece])
        assert (score.count, score.ends) == (alone.count, alone.ends)
        assert score.count == len(piece[0]) - 7
        assert score.nats == pytest.approx(alone.nats, rel=1e-5)


def test_however_few_symbols_are_looked_at_there_is_one_that_counts() -> None:
    for most in (1, 33, 255, 256, 1_000):
        examples, counted = excerpt_of(ONE_LONG, most)
        assert counted.any()
        assert len(examples.ids) <= most
