"""Two losses on the same text are compared with their uncertainty."""

from __future__ import annotations

import math

import numpy as np
import pytest

from charrnn.score import BLOCK, difference_of, oddest
from charrnn.vocabulary import END
from tests.program import SIZE, Program

LINE = ("train", "names.txt", *SIZE, "--epochs", "8", "-q", "--seed")


@pytest.fixture
def two(program: Program) -> Program:
    """The program in a folder with two models of the same names."""
    for seed in "0", "1":
        options = ("-m", f"{seed}.npz", "--counts") if seed == "1" else ("-m", f"{seed}.npz")
        assert program.run(*LINE, seed, *options).status == 0
    return program


def test_the_standard_error_is_that_of_a_mean_over_examples() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(2, 5, 600).astype(np.uint8)
    ids[9::10] = END
    nats, other = rng.random(600), rng.random(600)
    difference = difference_of(ids, nats, other)
    means = (nats - other).reshape(60, 10).mean(1)
    assert difference.nats_per_character == pytest.approx(means.mean())
    assert difference.standard_error == pytest.approx(means.std(ddof=1) / 60**0.5)


def test_a_long_example_is_cut_into_blocks_and_one_unit_has_no_error() -> None:
    ids, nats = np.full(1024, 2, np.uint8), np.repeat([0.0, 1.0, 2.0, 3.0], BLOCK)
    assert difference_of(ids, nats, 0 * nats).standard_error == pytest.approx(1.25**0.5 / 3**0.5)
    assert math.isnan(difference_of(ids[:9], nats[:9], 0 * nats[:9]).standard_error)
    assert math.isnan(difference_of(ids[:0], nats[:0], nats[:0]).nats_per_character)


def test_the_oddest_example_is_known_from_20_on() -> None:
    ids, nats = np.tile(np.array([2, 3, END], np.uint8), 20), np.ones(60)
    nats[30:33] = 4, 5, 6
    assert oddest(ids, [nats, 2 * nats]) == [5, 10]
    assert oddest(ids[3:], [nats[3:]]) is None
