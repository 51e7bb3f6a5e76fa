"""Inputs besides symbols: how many characters were read, and how many are to come."""

import numpy as np
import pytest

from charrnn.network import parameters
from charrnn.network.parameters import FADING, WAVES, Architecture, count_features, initial
from charrnn.text.vocabulary import END


def test_characters_are_counted_from_the_end_before_and_to_the_end_after() -> None:
    ids = np.array([5, 4, END, END, 3, 2, 2, END, 6])
    assert parameters.read_before(ids).tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 0]
    assert parameters.still_to_come(ids).tolist() == [2, 1, 0, 0, 3, 2, 1, 0, 1]
    marks = count_features("to_come", np.arange(10), np.float64)[:, -8:]  # of the last characters
    assert marks.tolist() == np.eye(10, 8, -1).tolist()


@pytest.mark.parametrize("name", ["clock", "to_come"])
def test_features_are_bounded_and_of_early_counts_never_the_same(name: str) -> None:
    rows = count_features(name, np.arange(10 * parameters.DISTINCT), np.float64)
    assert np.abs(rows).max() <= 1
    assert len(np.unique(rows[:400].round(6), axis=0)) == 400


def test_the_clock_goes_on_where_its_table_ends() -> None:
    assert count_features("clock", np.arange(3), np.float64)[:, 5] == pytest.approx([1, -1, 1])
    late = parameters.DISTINCT + np.arange(5)
    waves = count_features("clock", late, np.float64)[:, len(FADING) :][:, : len(WAVES)]
    np.testing.assert_allclose(waves, np.cos(2 * np.pi * late[:, None] / WAVES), atol=1e-9)
    later = count_features("clock", late + 480 * 10**6, np.float64)
    np.testing.assert_allclose(count_features("clock", late, np.float64), later, atol=1e-8)
    assert len(np.unique(later.round(6), axis=0)) == 5


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm", "output"])
def test_initial_weights_are_random_around_zero(cell: str) -> None:
    p = initial(Architecture(30, 40, 1, cell), np.zeros(30), np.random.default_rng(0), radius=0.8)
    W = p["W1"].reshape(-1, 40, 40) if cell != "output" else p["W1"]
    assert abs(W.mean()) < 0.01
    if cell == "output":
        assert W.std() == pytest.approx(0.1, rel=0.1)
    else:
        turned = W @ W.swapaxes(1, 2)
        np.testing.assert_allclose(turned, np.broadcast_to(0.64 * np.eye(40), W.shape), atol=1e-6)
    assert p["U1"].std() == pytest.approx(0.4, rel=0.1)
