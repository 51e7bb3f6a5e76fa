"""Characters and their numbers."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.text.vocabulary import END, SCALARS, UNKNOWN, Vocabulary
from tests.networks import vocabulary_of

ABC = Vocabulary("abc", novelty=0.1)


def many(count: int) -> Vocabulary:
    """A vocabulary of so many characters, from beyond the surrogates."""
    return Vocabulary("".join(chr(0x10000 + i) for i in range(count)))


@given(st.text())
def test_decoding_what_was_encoded_gives_the_text_back(text: str) -> None:
    vocabulary = vocabulary_of(text)
    assert vocabulary.decode(vocabulary.encode(text)) == text


def test_end_and_unknown_come_first_then_characters_by_code_point() -> None:
    vocabulary = vocabulary_of("жzaé日\U0001f600")
    assert vocabulary.encode("azéж日\U0001f600").tolist() == [2, 3, 4, 5, 6, 7]
    assert vocabulary.symbols == 8


def test_end_prints_nothing_and_unknown_is_the_replacement_character() -> None:
    assert ABC.decode(np.array([2, END, UNKNOWN, 3, END], np.uint8)) == "a\ufffdb"


@pytest.mark.parametrize("stranger", ["`", "d", "\0", "\U0010ffff", "\ud800"])
def test_what_was_never_seen_is_unknown(stranger: str) -> None:
    assert ABC.encode(f"a{stranger}b").tolist() == [2, UNKNOWN, 3]
    assert ABC.unknown_in(f"a{stranger}b{stranger}") == [stranger]


def test_unknown_characters_are_named_once_as_they_appear() -> None:
    assert ABC.unknown_in("zaybzcx") == ["z", "y", "x"]
    assert ABC.unknown_in("abc") == []


def test_a_replacement_character_that_was_seen_is_a_character_like_any_other() -> None:
    vocabulary = Vocabulary("a\ufffd")
    assert vocabulary.encode("\ufffd").tolist() == [3]


@pytest.mark.parametrize(
    ("characters", "dtype"),
    [(1, np.uint8), (254, np.uint8), (255, np.uint16), (65_534, np.uint16), (65_535, np.uint32)],
)
def test_ids_have_the_smallest_type_that_holds_them(characters: int, dtype: type) -> None:
    vocabulary = many(characters)
    assert vocabulary.dtype == dtype
    assert vocabulary.encode(vocabulary.characters[-1]).tolist() == [characters + 1]
    assert vocabulary.encode("").dtype == dtype


def test_naming_an_unseen_character_costs_what_a_fair_draw_among_them_costs() -> None:
    assert math.exp(-ABC.unseen_nats) * (SCALARS - 3) == pytest.approx(1)


def test_novelty_is_the_share_of_what_was_seen_once() -> None:
    # "aab" and its END: b was seen once, of four symbols
    assert Vocabulary.counted({"b": 1, "a": 2}, 4) == Vocabulary("ab", (1 + 0.1) / 5)


def test_novelty_is_never_zero_and_never_one() -> None:
    assert 0 < Vocabulary.counted({"a": 1000}, 1001).novelty < 1e-3
    assert Vocabulary.counted({"a": 1}, 2).novelty < 1
    assert Vocabulary.counted({}, 1).novelty < 1


@pytest.mark.parametrize("characters", ["ba", "aa", "a\ud800"])
def test_characters_that_are_not_distinct_scalars_in_order_are_refused(characters: str) -> None:
    with pytest.raises(ValueError, match="distinct and in order"):
        Vocabulary(characters)


def test_a_vocabulary_that_was_used_equals_one_that_was_not() -> None:
    used, fresh = Vocabulary("ab"), Vocabulary("ab")
    used.decode(used.encode("ab"))
    assert used == fresh
    assert hash(used) == hash(fresh)


def test_a_small_alphabet_needs_a_small_table() -> None:
    tracemalloc.start()
    Vocabulary("abc").encode("a\U0010ffff")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_no_characters_at_all_is_a_vocabulary_too() -> None:
    assert Vocabulary("").encode("ab").tolist() == [UNKNOWN, UNKNOWN]
    assert Vocabulary("").symbols == 2
