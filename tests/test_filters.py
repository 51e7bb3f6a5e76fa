"""What may be drawn, how often it is drawn, and how surprising it was."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.sampling.draws import Choice, keys, uniform
from charrnn.settings.sampling import SampleConfig
from charrnn.vocabulary import UNKNOWN

DRAWS = 20_000

o_lists = st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=8)


def drawn(
    o: list[float], temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> list[float]:
    """How often each symbol is drawn, of all the draws, all from one lane."""
    choice = Choice(len(o), 1, SampleConfig(temperature=temperature, top_k=top_k, top_p=top_p))
    choice.prepare(np.array([o], float))
    symbols, _ = choice.draw(uniform(keys(0, [0]), 0, DRAWS)[:, 0], np.zeros(DRAWS, np.intp))
    return [count / DRAWS for count in np.bincount(symbols, minlength=len(o)).tolist()]


def of(*chances: float) -> list[float]:
    """Outputs for END, for UNKNOWN, which would be likely, and for the rest."""
    end, *rest = (math.log(chance) for chance in chances)
    return [end, 2.0, *rest]


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0, 2.0, 10.0])
def test_chances_are_raised_to_the_power_of_one_over_the_temperature(temperature: float) -> None:
    chances = [0.4, 0.3, 0.2, 0.1]
    raised = [chance ** (1 / temperature) for chance in chances]
    expected = [chance / sum(raised) for chance in raised]
    expected.insert(UNKNOWN, 0)
    assert drawn(of(*chances), temperature) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("temperature", [0, 5e-324, 1e-300, 1e-12])
def test_near_zero_the_most_likely_is_drawn_always(temperature: float) -> None:
    assert drawn(of(0.2, 0.3, 0.4, 0.1), temperature) == [0, 0, 0, 1, 0]
    assert drawn([-3e38, 3e38, 2e38, 1e38], temperature) == [0, 0, 1, 0]


def test_at_zero_the_first_of_equals_is_drawn() -> None:
    assert drawn([0, 5, 1, 1, 1], 0) == [0, 0, 1, 0, 0]


def test_in_great_heat_all_are_alike() -> None:
    chances = drawn(of(0.7, 0.2, 0.0999, 0.0001), 1e6)
    assert chances == pytest.approx([0.25, 0, 0.25, 0.25, 0.25], abs=0.015)


@pytest.mark.parametrize(
    ("top_k", "top_p", "stay"),
    [
        (1, None, [3]),
        (2, None, [2, 3]),
        (3, None, [0, 2, 3]),
        (4, None, [0, 2, 3, 4]),
        (5, None, [0, 2, 3, 4]),
        (None, 1e-300, [3]),
        (None, 0.39, [3]),
        (None, 0.41, [2, 3]),
        (None, 0.69, [2, 3]),
        (None, 0.71, [0, 2, 3]),
        (None, 0.91, [0, 2, 3, 4]),
        (None, 1.0, [0, 2, 3, 4]),
        (2, 0.56, [3]),  # of the two that stay, the first has four of seven parts
        (2, 0.58, [2, 3]),
        (2, 1.0, [2, 3]),
    ],
)
def test_filters_leave_the_most_likely(
    top_k: int | None, top_p: float | None, stay: list[int]
) -> None:
    chances = [0.2, 0.0, 0.3, 0.4, 0.1]
    share = sum(chances[symbol] for symbol in stay)
    expected = [chances[symbol] / share if symbol in stay else 0 for symbol in range(5)]
    found = drawn(of(0.2, 0.3, 0.4, 0.1), top_k=top_k, top_p=top_p)
    assert found == pytest.approx(expected, abs=0.015)
    assert [symbol for symbol, often in enumerate(found) if often] == stay


def test_filters_look_at_the_chances_after_the_temperature() -> None:
    assert drawn(of(0.2, 0.3, 0.4, 0.1), temperature=0.1, top_p=0.9) == [0, 0, 0, 1, 0]


def test_of_equals_the_first_ones_stay() -> None:
    assert drawn([0, 0, 0, 0, 0], top_k=2) == pytest.approx([0.5, 0, 0.5, 0, 0], abs=0.015)


@given(o_lists, st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.floats(0, 1, exclude_max=True))
def test_filters_that_let_all_through_change_nothing(
    o: list[float], temperature: float, chance: float
) -> None:
    found = []
    for top_k, top_p in ((None, None), (len(o), 1.0), (len(o) - 1, None)):
        choice = Choice(len(o), 1, SampleConfig(temperature=temperature, top_k=top_k, top_p=top_p))
        choice.prepare(np.array([o]))
        found.append(choice.draw(np.array([chance]))[0].item())
    assert len(set(found)) == 1


@given(
    o_lists,
    st.floats(0, 1e6),
    st.none() | st.integers(1, 3),
    st.none() | st.floats(0, 1, exclude_min=True),
    st.sampled_from([0.0, 1e-300, 0.5, 1 - 2.0**-52]),
)
def test_whatever_is_put_out_something_known_is_drawn(
    o: list[float], temperature: float, top_k: int | None, top_p: float | None, chance: float
) -> None:
    choice = Choice(len(o), 1, SampleConfig(temperature=temperature, top_k=top_k, top_p=top_p))
    choice.prepare(np.array([o]))
    symbols, nats = choice.draw(np.array([chance]))
    assert symbols[0] != UNKNOWN
    assert nats[0] >= 0
    assert math.isfinite(nats[0])


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=8), st.floats(0, 3), st.floats(0, 0.999))
def test_the_surprisal_is_that_of_the_softmax(
    o: list[float], temperature: float, chance: float
) -> None:
    choice = Choice(len(o), 1, SampleConfig(temperature=temperature, top_k=2))
    choice.prepare(np.array([o]))
    symbols, nats = choice.draw(np.array([chance]))
    y_hat = math.exp(o[symbols[0]] - max(o)) / sum(math.exp(o_k - max(o)) for o_k in o)
    assert nats[0] == pytest.approx(-math.log(y_hat), rel=1e-9, abs=1e-9)


def test_each_lane_has_a_draw_of_its_own() -> None:
    rng = np.random.default_rng(0)
    o, chances = rng.standard_normal((6, 5)), rng.random(6)
    choice = Choice(5, 10, SampleConfig(temperature=0.7, top_k=3))
    choice.prepare(o.copy())
    every, nats = choice.draw(chances)
    lane = np.array([4, 4, 0])
    some, nats_of_some = choice.draw(chances[lane], lane)
    np.testing.assert_array_equal(some, every[lane])
    np.testing.assert_array_equal(nats_of_some, nats[lane])
    for row in range(6):
        choice.prepare(o[row : row + 1].copy())
        assert choice.draw(chances[row : row + 1])[0] == every[row]
