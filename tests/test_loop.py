"""A run from epoch to epoch; what a check-up looks at: an average, and all held out or a part."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import charrnn
from charrnn.corpus import Examples
from charrnn.runs import train
from charrnn.training.loop import AVERAGED, SETTLING, Checkup, Done, Step, part_of
from charrnn.vocabulary import END

ONE_LONG = Examples(np.arange(100_000, dtype=np.uint32) + 2)


def lines(count: int, length: int) -> Examples:
    ids = np.arange(count * length, dtype=np.uint32) + 2
    ids[length - 1 :: length] = END
    return Examples(ids)


TEXTS = ["anna", "bob", "cleo", "dora", "emil", "fritz"] * 5


def test_nothing_crosses_from_one_epoch_to_the_next() -> None:
    run = charrnn.train(TEXTS, hidden=5, layers=2, batch=3, bptt=8, epochs=2)
    state = run.checkpoint.state
    while (state.epoch, state.window) != (1, 0):
        next(run)
    assert not any(h.any() for h in state.lanes)


def test_minutes_are_those_of_steps_and_check_ups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(10**6))  # each look at the clock takes one
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("charrnn.training.loop.time", clock)
    size = charrnn.TrainConfig(hidden=5, layers=1, batch=3, bptt=8, check_every=5)
    *events, done = charrnn.train(TEXTS, size, minutes=0.49)
    assert done == Done("minutes")
    assert sum(isinstance(event, Step) for event in events) == 25


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


def test_the_best_network_is_an_average_of_the_last_ones() -> None:
    size: dict[str, Any] = {"epochs": 9, "hidden": 4, "lr": 0.01, "check_every": 7}
    run = train(["anna", "bob", "clara", "dora"] * 9, schedule="constant", **size)
    state, average, checked = run.checkpoint.state, np.zeros(0), 0
    for event in run:
        p = state.parameters.flat.astype(np.float64)
        if isinstance(event, Step):
            steps = AVERAGED * event.step * event.lr / 0.01
            average = p if steps < 1 or event.step == 1 else average + (p - average) / steps
        elif isinstance(event, Checkup) and event.is_best:
            checked += 1
            assert state.best is not None
            np.testing.assert_allclose(state.best.flat, average, atol=1e-6)
            assert not np.allclose(average, p, atol=1e-4)
    assert checked > 2
