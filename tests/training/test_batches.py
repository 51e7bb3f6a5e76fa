"""Every symbol is a target exactly once an epoch, and nothing leaks; what is hidden or drawn."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.text.corpus import Examples
from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import END
from charrnn.training.batches import SLACK, Epoch, portions_of, score_portion
from tests.networks import babbler
from tests.text.test_examples import ONE_LONG, lines


def examples(lengths: list[int]) -> Examples:
    """Examples of so many characters, no two of 59,998 in a row alike."""
    total = sum(lengths) + len(lengths)
    ids = (2 + np.arange(total) % 59_998).astype(np.uint16)
    ids[np.cumsum(np.array(lengths) + 1) - 1] = END
    return Examples(ids)


@st.composite
def epochs(draw: st.DrawFn) -> Epoch:
    """Draw an epoch of some examples, most of them short, in any number of lanes."""
    text = examples(draw(st.lists(st.integers(0, 40), min_size=1, max_size=30)))
    lanes = min(draw(st.integers(1, 6)), len(text.ids))
    steps, seed, number = (draw(st.integers(least, 9)) for least in (1, 0, 0))
    return Epoch(text, lanes, steps, seed, number)


@given(epochs())
def test_every_symbol_is_a_target_exactly_once_after_the_last_of_its_example(epoch: Epoch) -> None:
    """So nothing leaks between examples: see test_through_time for what a beginning does."""
    text, seen = epoch.text, Counter[int]()
    before, sizes = np.append(END, text.ids[:-1]), np.diff(text.starts.astype(int))
    begins, stops = np.repeat(text.starts[:-1], sizes), np.repeat(text.starts[1:], sizes)
    for window in epoch.windows_from(0, with_positions=True):
        counted = ... if window.idle is None else ~window.idle
        seen.update(window.y[counted].reshape(-1).tolist())
        assert window.clock is not None
        assert window.to_come is not None
        assert window.is_first[window.x == END].all()
        assert ((window.to_come == 0) == (window.y == 0)).all()
        is_letter = window.y > 0
        places = window.y[is_letter] - 2  # no two letters are alike
        assert (window.x[is_letter] == before[places]).all()
        assert (window.clock[is_letter] == places - begins[places].astype(int)).all()
        assert (window.to_come[is_letter] == stops[places].astype(int) - 1 - places).all()
    assert seen == Counter(text.ids.tolist())
    assert len(list(epoch.windows_from(0))) == epoch.window_count


def test_lanes_begin_with_an_example_where_examples_are_short() -> None:
    first = next(Epoch(examples([3, 4, 5, 6] * 100), 8, 16, 0, 0).windows_from(0))
    assert first.is_first[0].all()


def test_one_long_example_is_cut_into_as_many_stretches_as_there_are_lanes() -> None:
    windows = list(Epoch(examples([10_000]), 10, 50, 0, 0).windows_from(0))
    assert windows[0].x.shape == (50, 10)
    assert sum(len(window.x) for window in windows) <= 1000 + 1000 // SLACK + 1  # one cut may move


def test_short_examples_cost_no_padding() -> None:
    text = examples([1, 2, 3] * 1000)
    places = sum(window.y.size for window in Epoch(text, 16, 20, 0, 0).windows_from(0))
    assert places < 1.1 * len(text.ids)


@pytest.mark.parametrize("shards", [1, 3])
def test_portions_begin_with_an_example_or_a_stretch(shards: int) -> None:
    texts, most = [Examples(lines(10, 20)), Examples(ONE_LONG)], [200, 16_384]
    sizes = {1: [[200], [15_392]], 3: [[80, 60, 60], [5_312, 5_280, 4_800]]}[shards]
    portions = portions_of(texts, most, shards)
    for number, text in enumerate(texts):
        places, counted = excerpt_of(text.ids, most[number])
        pieces = [portion[number] for portion in portions]
        found = [ids[is_counted] for ids, is_counted, _ in pieces]
        assert [len(ids) for ids in found] == sizes[number]
        assert np.concatenate(found).tolist() == text.ids[places[counted]].tolist()


def test_one_short_text_is_not_divided_and_nothing_held_out_is_empty() -> None:
    texts = [Examples(lines(1, 200)), Examples(np.empty(0, np.uint8))]
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
