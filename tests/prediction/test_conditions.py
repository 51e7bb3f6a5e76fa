"""Conditions on samples, and the best of many."""

from typing import Any
from unittest import mock

import pytest

from charrnn.prediction.conditions import Conditions, choose, folded
from charrnn.prediction.sampling import Sample, Sampler
from charrnn.settings.drawing import SampleConfig
from tests.networks import (
    COIN,
    babbler,
    independent,
    speller,
)

# Conditions


def chosen(count: int, **conditions: Any) -> list[str]:
    sampler = Sampler(independent(COIN), SampleConfig(seed=1), may_be_empty=True)
    return [sample.text for sample in choose(sampler, count, Conditions(**conditions))]


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({"known": {"a", "ab", "bb"}}, lambda text: text not in ("a", "ab", "bb")),
        ({"shortest": 2, "longest": 3}, lambda text: 2 <= len(text) <= 3),
        ({"longest": 0}, lambda text: text == ""),
    ],
)
def test_a_sample_that_fails_is_drawn_again(conditions: dict[str, Any], holds: Any) -> None:
    found, plain = chosen(300, **conditions), chosen(300)
    assert len(found) == 300
    assert all(map(holds, found))
    assert all(text == first for text, first in zip(found, plain, strict=True) if holds(first))
    assert chosen(17, **conditions) == found[:17]


def test_unique_texts_differ_and_do_not_depend_on_how_many_there_are() -> None:
    found = chosen(200, unique=True)
    assert len(set(found)) == len(found) > 150
    assert chosen(30, unique=True) == found[:30]


def test_known_texts_are_compared_without_case_and_outer_spaces() -> None:
    conditions = Conditions(known={"abc"})
    passed = [conditions.accept(Sample(0, text, 0.0, "end")) for text in ("ABC ", "Abd")]
    assert (passed, conditions.rejected) == ([False, True], {"copies": 1})


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Zoe\u0308", "zo\u00eb"),
        ("\u00c9", "e\u0301 "),
        ("\u01f0", "J\u030c"),
        ("Straße", "STRASSE"),
    ],
)
def test_fault_51_known_texts_are_compared_in_one_unicode_form(text: str, other: str) -> None:
    conditions = Conditions(known={folded(text)})
    assert not conditions.accept(Sample(0, other, 0.0, "end"))
    assert not Conditions(known={folded(other)}).accept(Sample(0, text, 0.0, "end"))


def test_what_has_no_end_may_be_longer_than_the_longest() -> None:
    conditions = Conditions(longest=3)
    samples = [Sample(0, "abc", 0.0, ended) for ended in ("limit", "end")]
    assert list(map(conditions.accept, samples)) == [False, True]


def test_a_hopeless_case_is_given_up() -> None:
    sampler = Sampler(speller("abc"), SampleConfig(seed=1))
    conditions = Conditions(known={"abc"})
    assert list(choose(sampler, 10**9, conditions)) == []
    assert conditions.rejected == {"copies": conditions.drawn}
    assert conditions.drawn < 2000


def test_only_failures_in_a_row_are_hopeless() -> None:
    conditions: Any = mock.Mock(accept=lambda sample: sample.number % 3 == 0)
    drawn = choose(Sampler(speller("abc"), SampleConfig(seed=1)), 30, conditions)
    assert [sample.number for sample in drawn] == list(range(0, 30, 3))


def test_the_best_are_the_likeliest_of_ten_times_as_many() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=200))
    best = choose(sampler, 4, Conditions(unique=True), best=True)
    every = list(sampler.samples(range(40)))
    means = [sample.nats / (len(sample.text) + (sample.ended == "end")) for sample in every]
    assert [sample.number for sample in best] == sorted(range(40), key=means.__getitem__)[:4]
