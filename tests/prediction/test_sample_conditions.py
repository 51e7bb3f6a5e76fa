"""Conditions on samples, and the best of many."""

from itertools import product
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.prediction.sample_conditions import Conditions, Neighbours, choose, folded, words_in
from charrnn.prediction.sampling import Sample, Sampler
from charrnn.settings.drawing import SampleConfig
from tests.networks import COIN, babbler, independent, speller


def chosen(count: int, **conditions: Any) -> list[str]:
    sampler = Sampler(independent(COIN), SampleConfig(seed=1), may_be_empty=True)
    share = mock.Mock(side_effect=lambda groups: map(sampler.draw_group, groups))
    samples = list(choose(sampler, count, Conditions(**conditions), share))
    share.assert_called_once()
    return [sample.text for sample in samples]


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({"taken": {"a", "ab", "bb"}}, lambda text: text not in ("a", "ab", "bb")),
        ({"shortest": 2, "longest": 3}, lambda text: 2 <= len(text) <= 3),
        ({"longest": 0}, lambda text: text == ""),
    ],
)
def test_a_sample_that_fails_is_drawn_again(conditions: dict[str, Any], holds: Any) -> None:
    found, plain = chosen(90, **conditions), chosen(90)
    assert len(found) == 90
    assert all(map(holds, found))
    assert all(text == first for text, first in zip(found, plain, strict=True) if holds(first))
    assert chosen(17, **conditions) == found[:17]


ALIKE = [(" abc", "ABC "), ("Zoe\u0308", "zo\u00eb"), ("\u00c9", "e\u0301 "), ("\u01f0", "J\u030c")]


@pytest.mark.parametrize(("text", "other"), [*ALIKE, ("Straße", "STRASSE")])
def test_fault_51_known_texts_are_compared_in_one_form_without_case(text: str, other: str) -> None:
    conditions = Conditions(taken={folded(text)})
    assert not conditions.accept(Sample(0, other, 0.0, "end"))
    assert conditions.accept(Sample(0, f"{other}x", 0.0, "end"))
    assert conditions.rejected == {"copies": 1}
    assert not Conditions(taken={folded(other)}).accept(Sample(0, text, 0.0, "end"))


def passing(texts: list[str], **conditions: Any) -> tuple[list[str], dict[str, int]]:
    """Return the texts that these conditions accept, in order, and how many failed which."""
    held = Conditions({"red lion", "the swan's inn"}, **conditions)
    return [text for text in texts if held.accept(Sample(0, text, 0.0, "end"))], dict(held.rejected)


def test_no_sample_contains_a_word_whatever_its_case() -> None:
    found = passing(["Red Lion", "Relion", "A lio n", "Swan"], without=["LION", " swan\n", ""])
    assert found == (["A lio n"], {"with unwanted words": 3})
    found = passing(["Red Lion", "Relion", "Swan "], without=[" "])
    assert found == (["Relion"], {"with unwanted words": 2})


def test_each_word_of_a_sample_is_one_of_the_training_texts() -> None:
    texts = ["The Lion", "Swan's Inn, Red?", "Lions", "swan", "Lion 3", "&"]
    expected = ["The Lion", "Swan's Inn, Red?", "&"]
    assert passing(texts, known_words=True) == (expected, {"with unknown words": 3})
    assert words_in(["l’eau d'or हिन्दी, สวัสดี"]) == {"l’eau", "d'or", "हिन्दी", "สวัสดี"}


def test_samples_are_some_edits_from_training_texts_and_earlier_samples() -> None:
    texts = ["Red Lino", "RED LION", "Rod Lyon", "Bed Lyons", "Rad Lions", "Bed Lyon", "Oak", "Oka"]
    found = passing(texts, distance=2)
    assert found == (["Rod Lyon", "Bed Lyons", "Rad Lions", "Oak"], {"too near": 4})
    assert passing(texts, distance=1) == ([t for t in texts if t != "RED LION"], {"too near": 1})


def edits_by_hand(a: str, b: str) -> int:
    """Return how many insertions, deletions, replacements and swaps lead from one to the other."""
    d = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1) if not i or not j}
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        ways = [d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
        if i > 1 < j and a[i - 2 : i] == b[j - 1] + b[j - 2]:
            ways.append(d[i - 2, j - 2] + 1)
        d[i, j] = min(ways)
    return d[len(a), len(b)]


@given(st.lists(st.text("abc", max_size=6), min_size=3, max_size=5), st.text("abc", max_size=6))
def test_the_fewest_edits_are_found(texts: list[str], text: str) -> None:
    known = Neighbours(texts[:2])
    for other in texts[2:]:
        known.add(other)
    fewest = min(edits_by_hand(text, other) for other in texts)
    assert [known.are_near(text, n) for n in range(1, 9)] == [fewest < n for n in range(1, 9)]


def test_only_failures_in_a_row_are_hopeless() -> None:
    conditions: Any = mock.Mock(accept=lambda sample: sample.number % 3 == 0, best=False)
    drawn = choose(Sampler(speller("abc"), SampleConfig(seed=1)), 30, conditions)
    assert [sample.number for sample in drawn] == list(range(0, 30, 3))


def test_the_best_are_the_likeliest_of_ten_times_as_many() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=200))
    best = choose(sampler, 4, Conditions(best=True))
    every = list(sampler.samples(range(40)))
    means = [sample.nats / (len(sample.text) + (sample.ended == "end")) for sample in every]
    assert [sample.number for sample in best] == sorted(range(40), key=means.__getitem__)[:4]
