"""Every symbol of every example is a target exactly once an epoch, and nothing leaks."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import Examples
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import initial
from charrnn.network.through_time import Unfolded, Window
from charrnn.training.batches import SLACK, Epoch
from charrnn.vocabulary import END


def examples(lengths: list[int], symbols: int = 60000) -> Examples:
    """Examples of so many characters, no two characters alike as far as there are symbols."""
    total = sum(lengths) + len(lengths)
    ids = (2 + np.arange(total) % (symbols - 2)).astype(np.uint16)
    ids[np.cumsum(np.array(lengths) + 1) - 1] = END
    return Examples(ids)


def targets(window: Window) -> list[int]:
    every = window.y if window.idle is None else window.y[~window.idle]
    found: list[int] = every.reshape(-1).tolist()
    return found


corpora = st.lists(st.integers(0, 40), min_size=1, max_size=30)


@given(corpora, st.integers(1, 6), st.integers(1, 9), st.integers(0, 9))
def test_every_symbol_is_a_target_exactly_once(
    lengths: list[int], lanes: int, steps: int, seed: int
) -> None:
    text = examples(lengths)
    epoch = Epoch(text, min(lanes, len(text.ids)), steps, seed, 3)
    seen = Counter(t for window in epoch for t in targets(window))
    assert seen == Counter(text.ids.tolist())
    assert len(list(epoch)) == epoch.windows


@given(corpora, st.integers(1, 6), st.integers(1, 9), st.integers(0, 9))
def test_an_epoch_can_be_entered_at_any_window(
    lengths: list[int], lanes: int, steps: int, seed: int
) -> None:
    text = examples(lengths)
    epoch = Epoch(text, min(lanes, len(text.ids)), steps, seed, 0)
    whole = list(epoch)
    for number in range(len(whole)):
        for window, expected in zip(epoch.starting_from(number), whole[number:], strict=True):
            busy = ... if expected.idle is None else ~expected.idle
            np.testing.assert_array_equal(window.x[busy], expected.x[busy])
            np.testing.assert_array_equal(window.y[busy], expected.y[busy])


def test_each_epoch_has_an_order_of_its_own_and_a_seed_repeats_it() -> None:
    text = examples([5] * 40)
    first, again, second = (
        [t for w in Epoch(text, 2, 10, 1, epoch) for t in targets(w)] for epoch in (0, 0, 1)
    )
    assert first == again
    assert first != second


def test_lanes_begin_with_an_example_where_examples_are_short() -> None:
    text = examples([3, 4, 5, 6] * 100)
    first = next(iter(Epoch(text, 8, 16, 0, 0)))
    assert first.begins is not None
    assert first.begins[0].all()


def test_one_long_example_is_cut_into_as_many_stretches_as_there_are_lanes() -> None:
    text = examples([10_000])
    windows = list(Epoch(text, 10, 50, 0, 0))
    assert windows[0].x.shape == (50, 10)
    assert sum(len(window.x) for window in windows) <= 1000 + 1000 // SLACK + 1  # one cut may move


def test_short_examples_cost_no_padding() -> None:
    text = examples([1, 2, 3] * 1000)
    places = sum(window.y.size for window in Epoch(text, 16, 20, 0, 0))
    assert places < 1.1 * len(text.ids)


def test_nothing_leaks_from_one_example_to_the_next() -> None:
    text = examples([7, 12, 1, 30, 5, 9, 3, 16] * 4, symbols=40)
    p = initial(Architecture(40, 24, 2), np.log(np.full(40, 1 / 40)), np.random.default_rng(0))
    p.flat *= 2
    alone: dict[tuple[int, ...], np.ndarray] = {}
    for number in range(len(text)):
        y = text.nth(number)[:, None].astype(np.intp)
        x = np.concatenate([[[0]], y[:-1]])
        alone[tuple(y[:, 0].tolist())] = Unfolded(p.architecture, len(y), 1).nats(
            p, Window(x, y, x == 0)
        )[:, 0]
    lanes = 3
    epoch = Epoch(text, lanes, 10, 0, 0)
    unfolded = Unfolded(p.architecture, 10, lanes)
    read: list[list[tuple[int, float]]] = [[] for _ in range(lanes)]
    for window in epoch:
        nats = unfolded.nats(p, window)
        for t, lane in np.ndindex(*window.y.shape):
            if window.idle is None or not window.idle[t, lane]:
                read[lane].append((int(window.y[t, lane]), float(nats[t, lane])))
    found = 0
    for symbols in read:
        example: list[tuple[int, float]] = []
        for symbol in symbols:
            example.append(symbol)
            if symbol[0] == 0:
                expected = alone.get(tuple(s for s, _ in example))
                if expected is not None:
                    np.testing.assert_allclose([n for _, n in example], expected, rtol=2e-5)
                    found += 1
                example = []
    assert found >= len(text) - lanes


@given(corpora, st.integers(1, 6), st.integers(1, 9), st.integers(0, 9))
def test_each_place_knows_what_was_read_of_its_example_and_what_is_left(
    lengths: list[int], lanes: int, steps: int, seed: int
) -> None:
    text = examples(lengths)
    epoch = Epoch(text, min(lanes, len(text.ids)), steps, seed, 1, counting=True)
    begins = np.repeat(text.starts[:-1].astype(int), np.array(lengths) + 1)
    stops = np.repeat(text.starts[1:].astype(int), np.array(lengths) + 1)
    for window in epoch:
        assert window.clock is not None
        assert window.left is not None
        assert ((window.left == 0) == (window.y == 0)).all()
        is_letter = window.y > 0
        places = window.y[is_letter] - 2  # no two letters are alike
        assert (window.clock[is_letter] == places - begins[places]).all()
        assert (window.left[is_letter] == stops[places] - 1 - places).all()
