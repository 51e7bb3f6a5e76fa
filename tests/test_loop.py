"""What a check-up looks at: all that is held out, or a part that stands for it."""

from __future__ import annotations

import numpy as np

from charrnn.corpus import Examples
from charrnn.training.loop import SETTLING, part_of
from charrnn.vocabulary import END

ONE_LONG = Examples(np.arange(100_000, dtype=np.uint32) + 2)


def lines(count: int, length: int) -> Examples:
    """So many examples of so many symbols each."""
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return Examples(ids)


def test_what_is_short_is_looked_at_as_it_is() -> None:
    text = lines(10, 20)
    examples, counted = part_of(text, 200)
    assert examples is text
    assert counted.all()


def test_of_many_examples_some_are_looked_at_whole() -> None:
    text = lines(1_000, 20)
    examples, counted = part_of(text, 2_000)
    assert counted.all()
    assert len(examples) == 100
    assert [examples.nth(i).tolist() for i in (0, 99)] == [text.nth(i).tolist() for i in (0, 990)]


def test_a_few_long_ones_are_looked_at_in_stretches_of_all() -> None:
    """Three of forty, looked at whole, would stand for no more than themselves."""
    examples, counted = part_of(lines(40, 10_000), 32_000)
    chosen = examples.ids[counted]
    files = np.unique((chosen[chosen != END] - 2) // 10_000)
    assert len(files) >= 16


def test_of_a_long_text_its_end_is_looked_at_as_well_as_its_beginning() -> None:
    examples, counted = part_of(ONE_LONG, 16_384)
    chosen = examples.ids[counted]
    assert len(examples.ids) == 16_384
    assert chosen[0] == 2
    assert chosen[-1] == 100_001
    tenths = np.bincount((chosen - 2) // 10_000, minlength=10)
    assert tenths.min() > 0.5 * tenths.mean()


def test_where_a_stretch_follows_another_its_first_symbols_do_not_count() -> None:
    examples, counted = part_of(ONE_LONG, 16_384)
    joints = np.flatnonzero(np.diff(examples.ids.astype(np.int64)) != 1) + 1
    assert len(joints) == 15
    for joint in joints:
        assert not counted[joint : joint + SETTLING].any()
        assert counted[joint - 1]
    assert (~counted).sum() == 15 * SETTLING


def test_however_few_symbols_are_looked_at_there_is_one_that_counts() -> None:
    for most in (1, 33, 255, 256, 1_000):
        examples, counted = part_of(ONE_LONG, most)
        assert counted.any()
        assert len(examples.ids) <= most
