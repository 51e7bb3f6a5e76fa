"""The optimisers, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.network.arrays import Array
from charrnn.network.parameters import Architecture, Parameters
from charrnn.settings.training import UpdateRule
from charrnn.training.optimizer import Optimizer, clip, initial_moments, rate, symbol_rate_factor


def two_steps(rule: UpdateRule, weight_decay: float = 0.0, symbol_rate: float = 1.0) -> Array:
    """What becomes of p = 1 in every array under the gradients 2 and then -1, learning rate 0.1."""
    p = Parameters(Architecture(1, 1, 1), np.ones(5))
    moments = initial_moments(rule, p)
    optimizer = Optimizer(rule, p, weight_decay)
    optimizer.update(np.full(5, 2.0), moments, 1, 0.1, symbol_rate)
    optimizer.update(np.full(5, -1.0), moments, 2, 0.1, symbol_rate)
    return p.flat


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("sgd", 2, 0.8),  # m: 2, then 0.9 * 2 - 1
        ("adagrad", 1, -1 / math.sqrt(5)),  # v: 4, then 5
        ("rmsprop", 2 / 0.2, -1 / math.sqrt(0.0496)),  # v: 0.04, then 0.0396 + 0.01
        # m: 0.2, then 0.18 - 0.1; v: 0.004, then 0.003996 + 0.001
        ("adam", 1, 0.08 / 0.19 / math.sqrt(0.004996 / (1 - 0.999**2))),
    ],
)
def test_two_steps_worked_by_hand(rule: UpdateRule, first: float, second: float) -> None:
    np.testing.assert_allclose(two_steps(rule), 1 - 0.1 * first - 0.1 * second, rtol=1e-6)


def test_adam_adds_e_to_the_root_without_its_bias() -> None:
    p = Parameters(Architecture(1, 1, 1), np.ones(5))
    Optimizer("adam", p).update(np.full(5, 1e-9), initial_moments("adam", p), 1, 0.1)
    np.testing.assert_allclose(p.flat, 1 - 0.1 * 1e-9 / (1e-9 + 1e-8))


def test_weight_decay_shrinks_matrices_and_spares_biases() -> None:
    # V: 1 - 0.1 * 0.5 = 0.95 before the first step, and so on
    U, W, b, V, c = two_steps("sgd", weight_decay=0.5)
    assert [b, c] == pytest.approx([0.72, 0.72])
    assert pytest.approx(3 * [(0.95 - 0.2) * 0.95 - 0.08]) == [U, W, V]


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "rmsprop", "adam"])
def test_haste_multiplies_the_steps_of_the_first_u_and_of_v(rule: UpdateRule) -> None:
    steps, hasty = 1 - two_steps(rule), 1 - two_steps(rule, symbol_rate=3.0)
    np.testing.assert_allclose(hasty, steps * [3, 1, 1, 3, 1])  # U, W, b, V, c


def test_only_a_run_of_few_steps_is_in_haste() -> None:
    assert [symbol_rate_factor(steps) for steps in (10, 1000, 1500, 3000, 9999)] == [3, 3, 2, 1, 1]


def test_the_rate_rises_and_then_falls() -> None:
    assert [rate("constant", step, 3, 0.9) for step in (0, 1, 3, 9)] == [0.25, 0.5, 1, 1]
    assert rate("linear", 0, 3, 0.5) == pytest.approx(0.25 * (0.01 + 0.99 * 0.5))
    assert rate("cosine", 3, 3, 0.25) == pytest.approx(0.01 + 0.99 * (2 + math.sqrt(2)) / 4)


numbers = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5)


@given(numbers, st.just(0.0) | st.floats(1e-3, 1e3))
def test_clipping_never_lengthens_and_never_turns(values: list[float], longest: float) -> None:
    gradient, before = np.array(values), np.array(values)
    length = float(np.linalg.norm(before))
    clip(gradient, length, longest)
    kept = min(1.0, longest / length) if longest and length else 1.0  # 0: as long as it likes
    np.testing.assert_allclose(gradient, before * kept, rtol=1e-9)
