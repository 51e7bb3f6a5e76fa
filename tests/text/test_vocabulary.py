"""Characters and their numbers."""

import numpy as np
import pytest

from charrnn.errors import SettingError
from charrnn.text.vocabulary import END, UNKNOWN, Vocabulary
from tests.networks import peak_bytes


@pytest.mark.parametrize(
    ("characters", "text", "ids", "unknown"),
    [
        ("azéж日\U0001f600", "жzaé日\U0001f600", [5, 3, 2, 4, 6, 7], []),  # by code point
        ("abc", "zaybzcx", [1, 2, 1, 3, 1, 4, 1], ["z", "y", "x"]),  # once, as they appear
        *(("abc", f"a{odd}b", [2, 1, 3], [odd]) for odd in "`d\0\U0010ffff\ud800"),
        ("a\ufffd", "\ufffd", [3], []),  # that was seen, as any other character
        ("", "ab", [1, 1], ["a", "b"]),
    ],
)
def test_ids_of_characters(characters: str, text: str, ids: list[int], unknown: list[str]) -> None:
    vocabulary = Vocabulary(characters)
    assert vocabulary.symbols == len(characters) + 2
    assert vocabulary.encode(text).tolist() == ids
    assert vocabulary.unknown_in(text) == unknown


def test_end_prints_nothing_and_unknown_is_the_replacement_character() -> None:
    assert Vocabulary("abc").decode([2, END, UNKNOWN, 3, END]) == "a\ufffdb"


@pytest.mark.parametrize(
    ("characters", "dtype"),
    [(1, np.uint8), (254, np.uint8), (255, np.uint16), (65_534, np.uint16), (65_535, np.uint32)],
)
def test_ids_have_the_smallest_type_that_holds_them(characters: int, dtype: type) -> None:
    vocabulary = Vocabulary("".join(chr(0x10000 + i) for i in range(characters)))
    assert vocabulary.dtype == vocabulary.encode("").dtype == dtype
    assert vocabulary.encode(vocabulary.characters[-1]).tolist() == [characters + 1]


def test_novelty_is_the_share_of_what_was_seen_once_and_never_zero_and_never_one() -> None:
    # "aab" and its END: b was seen once, of four symbols
    assert Vocabulary.counted({"b": 1, "a": 2}, 4) == Vocabulary("ab", (1 + 0.1) / 5)
    assert 0 < Vocabulary.counted({"a": 1000}, 1001).novelty < 1e-3
    assert Vocabulary.counted({"a": 1}, 2).novelty < 1
    assert Vocabulary.counted({}, 1).novelty < 1


@pytest.mark.parametrize("characters", ["ba", "aa", "a\ud800"])
def test_characters_that_are_not_distinct_scalars_in_order_are_refused(characters: str) -> None:
    with pytest.raises(ValueError, match="distinct and in order"):
        Vocabulary(characters)


@pytest.mark.parametrize(("count", "last"), [(20, "t."), (21, "t, ....")])
def test_twenty_labels_are_named(count: int, last: str) -> None:
    labels = dict.fromkeys("abcdefghijklmnopqrstu"[:count], 1)
    with pytest.raises(SettingError) as error:
        Vocabulary("ab", labels=labels).id_of("x")
    assert error.value.hint.endswith(f", s, {last}")


def test_a_small_alphabet_needs_a_small_table() -> None:
    assert peak_bytes(lambda: Vocabulary("abc").encode("a\U0010ffff")) < 100_000
