"""What stands in the corpus, or was said before, is drawn again; not for ever."""

import random
import tracemalloc
from typing import Any

import pytest

from charrnn.corpus.checks import TextSet
from charrnn.corpus.segmentation import cut
from charrnn.network.rounding import Array64
from charrnn.network.stepper import Stepper
from charrnn.sampling.sampler import (
    ATTEMPTS,
    IN_VAIN,
    Conditions,
    SampleConfig,
    Sampler,
    doubling,
    redraw,
)
from charrnn.scoring.predictor import MixedStepper
from charrnn.settings.corpus import Cut
from tests.rows import seldom
from tests.speaking import END, babbler, independent, speller

CONFIG = SampleConfig(seed=1)
COIN = {"a": 0.3, "b": 0.3, END: 0.4}


def known(text: str, kind: Cut = "lines", block: int = 1000) -> TextSet:
    return TextSet(cut((text[at : at + block] for at in range(0, len(text), block)), kind))


def drawn(
    sampler: Sampler, count: int, refused: TextSet | None = None, unique: bool = False
) -> list[str | None]:
    seen = TextSet() if unique else None
    samples = redraw(sampler, range(count), Conditions("", refused), seen)
    return [None if sample is None else sample.text for sample in samples]


@pytest.mark.parametrize("block", [1, 2, 3, 1000])
def test_a_corpus_is_known_by_its_examples(block: int) -> None:
    lines = known("abc\n\nd e\nabc\nétage 😀", block=block)
    assert len(lines) == 3
    assert all(text in lines for text in ("abc", "d e", "étage 😀"))
    assert not any(text in lines for text in ("", "ab", "abcd", "abc\n", "étage", "\udcff"))
    paragraphs = known("a\nb\n\nc\n", "paragraphs", block)
    assert "a\nb" in paragraphs
    assert "a" not in paragraphs
    assert "" not in known("")


def test_a_corpus_takes_eight_bytes_an_example() -> None:
    rng = random.Random(1)
    text = "\n".join(str(rng.randrange(20_000)) for _ in range(60_000))
    tracemalloc.start()
    lines = known(text, block=10_000)
    kept, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(lines) > 18_000
    assert kept < 250_000
    assert most < 8 * 60_000 * 4


def test_what_stands_in_the_corpus_is_not_drawn() -> None:
    sampler = Sampler(independent(COIN), CONFIG)
    corpus = known("a\nb\nab\nba\naa\nbb")
    novel = drawn(sampler, 500, corpus)
    assert len(novel) == 500
    assert not any(text in corpus for text in novel if text is not None)
    plain = [sample.text for sample in sampler.samples(range(500))]
    for text, first in zip(novel, plain, strict=True):
        assert text == first or first in corpus


def test_no_text_comes_twice() -> None:
    sampler = Sampler(independent(COIN), CONFIG)
    unique = drawn(sampler, 300, unique=True)
    texts = [text for text in unique if text is not None]
    assert len(set(texts)) == len(texts) > 250


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("corpus", [None, known("a\nb\nab")])
def test_a_redrawn_sample_does_not_depend_on_how_many_there_are(
    unique: bool, corpus: TextSet | None
) -> None:
    sampler = Sampler(independent(COIN), CONFIG)
    hundred = drawn(sampler, 100, corpus, unique)
    for count in (1, 2, 17, 64):
        assert drawn(sampler, count, corpus, unique) == hundred[:count]


def test_the_prime_counts_as_part_of_the_text() -> None:
    sampler = Sampler(speller("abc"), CONFIG, prime="a")

    assert next(redraw(sampler, range(1), Conditions("a", known("bc")))) is not None
    assert next(redraw(sampler, range(1), Conditions("a", known("abc")))) is None
    said = TextSet()
    said.add("abc")
    assert next(redraw(sampler, range(1), Conditions("a"), said)) is None


@pytest.mark.parametrize("block", [1, 2, 1000])
def test_case_and_outer_spaces_may_be_ignored(block: int) -> None:
    text = "Anna \nÜBER straße\n\nbob"
    blocks = (text[at : at + block] for at in range(0, len(text), block))
    names = TextSet(cut(blocks, "lines"), ignoring_case=True)
    assert len(names) == 3
    assert all(name in names for name in ("anna", " ANNA", "über STRASSE", "Bob\t"))
    assert not any(name in names for name in ("an na", "", "uber strasse"))
    assert "anna" not in known(text)


def test_a_hopeless_case_is_given_up() -> None:
    sampler = Sampler(speller("abc"), CONFIG)
    assert drawn(sampler, 1, known("abc")) == [None]
    assert drawn(sampler, 1_000_000, known("abc")) == [None] * IN_VAIN
    assert drawn(sampler, 1_000_000, unique=True) == ["abc"] + [None] * IN_VAIN


class Counting:
    """What makes steps, and counts them."""

    def __init__(self, steps: Stepper | MixedStepper) -> None:
        self._steps, self.count = steps, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._steps, name)

    def step(self, *args: Any) -> Array64:
        self.count += 1
        return self._steps.step(*args)


@pytest.mark.parametrize(("how", "passes"), [({"top_k": 1}, 2), seldom({"temperature": 1e-6}, 80)])
def test_a_hopeless_case_is_soon_known(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], passes: int
) -> None:
    config = SampleConfig(seed=1, max_characters=200, **how)
    sampler = Sampler(independent({"a": 0.6, "b": 0.4}), config)
    counting = Counting(sampler._stepper)
    monkeypatch.setattr(sampler, "_stepper", counting)
    assert drawn(sampler, 50, unique=True) == ["a" * 200] + [None] * IN_VAIN
    assert counting.count <= passes * 200


def test_attempts_are_the_same_one_by_one_and_side_by_side() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=9))
    sampler.group = 5
    apart = [sample for attempt in range(3, 20) for sample in sampler.samples([7], attempt)]
    assert list(sampler.attempts(7, range(3, 20))) == apart
    assert [list(one) for one in doubling(range(3, 12), 1, 12)] == [
        [3],
        [4, 5],
        [6, 7, 8, 9],
        [10, 11],
    ]


def test_a_rare_text_is_found_within_the_attempts() -> None:
    odds = {"a": 0.1, "b": 0.9}
    sampler = Sampler(independent(odds), SampleConfig(seed=1, max_characters=1))
    assert 0.9**ATTEMPTS < 1e-4
    assert drawn(sampler, 200, known("b")) == ["a"] * 200


def test_most_redraws_of_a_thousand_are_made_side_by_side() -> None:
    sampler = Sampler(babbler(), SampleConfig(seed=1, max_characters=3))
    novel = drawn(sampler, 1000, known("\n".join("abcdefgh")), unique=True)
    assert len({text for text in novel if text is not None}) > 150


def test_groups_grow() -> None:
    groups = list(doubling(range(100), 11, 40))
    assert [len(group) for group in groups] == [11, 22, 40, 27]
    assert [n for group in groups for n in group] == list(range(100))
