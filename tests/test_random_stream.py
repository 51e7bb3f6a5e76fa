"""Numbers that are looked up look as if they were drawn."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from charrnn.sampler import keys, uniform

SAMPLES, STEPS = 400, 500
Numbers = NDArray[np.float64]


def table(seed: int = 0, attempt: int = 0) -> Numbers:
    return uniform(keys(seed, range(SAMPLES), [attempt]), 0, STEPS)


def chi_square(counts: NDArray[Any]) -> float:
    """How far off they are if all should be alike, in standard deviations of what chance gives."""
    expected = counts.sum() / counts.size
    freedom = counts.size - 1
    off = float(((counts - expected) ** 2 / expected).sum())
    return (off - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    "numbers",
    [
        table,
        lambda: uniform(keys(0, range(100_000)), 0, 1),
        lambda: uniform(keys(0, [0]), 0, 100_000),
        lambda: np.stack([table(seed)[0] for seed in range(200)]),
    ],
    ids=["all", "first step", "first sample", "samples of every seed"],
)
def test_every_stretch_from_zero_to_one_is_hit_as_often(numbers: Callable[[], Numbers]) -> None:
    counts, _ = np.histogram(numbers(), bins=256, range=(0, 1))
    assert abs(chi_square(counts)) < 3.5


@pytest.mark.parametrize(
    "other",
    [
        lambda: table()[:, np.arange(1, SAMPLES + 1) % SAMPLES],
        lambda: np.roll(table(), 1, axis=0),
        lambda: table(attempt=1),
        lambda: table(seed=1),
        lambda: table(seed=2**63),
        lambda: table().T.reshape(STEPS, SAMPLES),
    ],
    ids=["next sample", "next step", "next attempt", "next seed", "far seed", "transposed"],
)
def test_two_streams_know_nothing_of_each_other(other: Callable[[], Numbers]) -> None:
    pairs, _, _ = np.histogram2d(table().ravel(), other().ravel(), bins=16, range=[[0, 1], [0, 1]])
    assert abs(chi_square(pairs)) < 3.5


def test_a_stream_is_the_same_however_it_is_looked_up() -> None:
    numbers = table()
    np.testing.assert_array_equal(uniform(keys(0, [7, 3]), 100, 5), numbers[100:105, [7, 3]])


@given(st.floats(1e-290, 1e300))
def test_the_largest_number_times_a_sum_is_less_than_the_sum(total: float) -> None:
    assert (1 - 2.0**-52) * total < total


def test_numbers_lie_between_zero_and_one() -> None:
    numbers = table()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert len(np.unique(numbers)) == numbers.size


def test_every_seed_will_do() -> None:
    firsts = [float(uniform(keys(seed, [2**62]), 2**40, 1)[0, 0]) for seed in (0, 1, 2**64 - 1)]
    assert len(set(firsts)) == 3
