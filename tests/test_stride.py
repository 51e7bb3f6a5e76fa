"""Windows that overlap: what is counted, and how far back each loss is carried."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.analysis import Walk
from charrnn.corpus.corpus import Examples
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import Parameters, initial
from charrnn.network.rounding import Array
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import Unfolded, Window
from charrnn.training.batches import Epoch
from charrnn.vocabulary import END
from tests.test_batches import corpora, examples

NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna", "ida", "jo"] * 4
CELLS = ["tanh", "lstm", "output"]


def targets(window: Window) -> list[int]:
    """What counts, in this window."""
    y = window.y[window.counts_from :]
    busy = ... if window.idle is None else ~window.idle[window.counts_from :]
    found: list[int] = y[busy].reshape(-1).tolist()
    assert len(found) == window.count
    return found


@given(corpora, st.integers(1, 6), st.integers(1, 9), st.data(), st.integers(0, 9), st.booleans())
def test_every_symbol_counts_exactly_once(
    lengths: list[int], lanes: int, steps: int, data: st.DataObject, seed: int, carry: bool
) -> None:
    stride = data.draw(st.integers(1, steps))
    text = examples(lengths)
    epoch = Epoch(text, min(lanes, len(text.ids)), steps, seed, 3, carry, stride)
    windows = list(epoch)
    assert Counter(t for window in windows for t in targets(window)) == Counter(text.ids.tolist())
    assert len(windows) == epoch.windows
    for one, other in pairwise(windows):  # where it says, the next begins
        assert one.advance is not None
        np.testing.assert_array_equal(
            one.x[one.advance :][: len(other.x)], other.x[: len(one.x) - one.advance]
        )


@given(corpora, st.integers(1, 4), st.integers(1, 9), st.data())
def test_an_epoch_can_be_entered_at_any_window(
    lengths: list[int], lanes: int, steps: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, steps))
    text = examples(lengths)
    epoch = Epoch(text, min(lanes, len(text.ids)), steps, 5, 0, stride=stride)
    whole = list(epoch)
    for number in range(len(whole)):
        for window, expected in zip(epoch.starting_from(number), whole[number:], strict=True):
            assert targets(window) == targets(expected)
            assert (window.advance, len(window.x)) == (expected.advance, len(expected.x))


def network(cell: str, layers: int = 1) -> Parameters:
    p = initial(
        Architecture(40, 8, layers, cell),
        np.log(np.full(40, 1 / 40)),
        np.random.default_rng(0),
        np.float64,
    )
    p["V"][...] *= 30
    return p


def gradient_of_epoch(p: Parameters, epoch: Epoch, steps: int, lanes: int) -> tuple[Array, float]:
    """The gradients of all windows, with nothing learned in between; and the loss."""
    parallel = Parallel(p.architecture, steps, lanes, dtype=np.float64)
    total, gradient, nats = p.like(), p.like(), 0.0
    for window in epoch:
        nats += parallel.nats_and_gradient(p, window, gradient)
        total.flat += gradient.flat
    return total.flat, nats


def whole_gradient(p: Parameters, text: Examples) -> tuple[Array, float]:
    """Each example by itself, from its beginning to its END."""
    total, gradient, nats = p.like(), p.like(), 0.0
    for number in range(len(text)):
        y = text.nth(number)[:, None].astype(np.intp)
        x = np.concatenate([[[END]], y[:-1]])
        unfolded = Unfolded(p.architecture, len(y), 1, np.float64)
        nats += unfolded.nats_and_gradient(p, Window(x, y, x == END), gradient)
        total.flat += gradient.flat
    return total.flat, nats


TEXT = examples([7, 12, 1, 9, 5, 9, 3, 11] * 2, symbols=40)
LONGEST = 13


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("stride", [1, 4])
def test_over_a_whole_example_it_is_the_full_gradient(cell: str, layers: int, stride: int) -> None:
    p = network(cell, 1 if cell == "output" else layers)
    horizon = LONGEST + stride - 1
    epoch = Epoch(TEXT, 1, horizon, 0, 0, stride=stride)
    # a lane that begins within an example would not see the whole of it
    assert next(iter(epoch)).x[0, 0] == END
    found, nats = gradient_of_epoch(p, epoch, horizon, 1)
    expected, whole = whole_gradient(p, TEXT)
    assert nats == pytest.approx(whole)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_shorter_horizon_with_the_same_stride_is_another_gradient() -> None:
    p = network("tanh")
    epoch = Epoch(TEXT, 1, 4, 0, 0, stride=4)
    found, nats = gradient_of_epoch(p, epoch, 4, 1)
    expected, whole = whole_gradient(p, TEXT)
    assert nats == pytest.approx(whole)
    assert np.abs(found - expected).max() > 1e-3


@pytest.mark.parametrize("cell", ["tanh", "lstm"])
@pytest.mark.parametrize("horizon", [1, 3, 6])
def test_with_a_stride_of_one_each_loss_goes_back_over_just_so_many_steps(
    cell: str, horizon: int
) -> None:
    p = network(cell, 2)
    epoch = Epoch(TEXT, 1, horizon, 0, 0, stride=1)
    found, _ = gradient_of_epoch(p, epoch, horizon, 1)
    long = next(iter(Epoch(TEXT, 1, len(TEXT.ids), 0, 0)))
    walk = Walk(p, long, [np.zeros((1, 8)) for _ in p.architecture.state_names])
    t = np.arange(len(long.x))
    total = np.zeros_like(found)
    for back, stride in enumerate(walk.back(t, np.zeros_like(t))):
        if back > horizon:
            break
        total += stride.gradient.flat
    np.testing.assert_allclose(found, total, atol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_a_stride_of_the_whole_horizon_is_what_there_is_without_one(cell: str) -> None:
    config = charrnn.TrainConfig(
        cell=cell, hidden=6, batch=3, bptt=5, dropout=0.2, blank=0.1, epochs=2
    )
    without = charrnn.fit(NAMES, config)
    same = charrnn.fit(NAMES, replace(config, stride=5))
    other = charrnn.fit(NAMES, replace(config, stride=2))
    assert same.parameters.flat.tobytes() == without.parameters.flat.tobytes()
    assert other.parameters.flat.tobytes() != without.parameters.flat.tobytes()


@pytest.mark.parametrize("stride", [1, 3])
def test_several_lanes_count_everything_too(stride: int) -> None:
    p = network("tanh")
    epoch = Epoch(TEXT, 3, 7, 1, 0, stride=stride)
    plain = Epoch(TEXT, 3, 7, 1, 0)
    _, nats = gradient_of_epoch(p, epoch, 7, 3)
    _, expected = gradient_of_epoch(p, plain, 7, 3)
    assert nats == pytest.approx(expected)
