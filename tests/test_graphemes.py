"""What belongs together on a screen is found together."""

import pytest

from charrnn.text import LONGEST, goes_on


def parts(text: str) -> list[str]:
    found = [""]
    for character in text:
        if found[-1] and not goes_on(found[-1], character):
            found.append("")
        found[-1] += character
    return found


@pytest.mark.parametrize(
    "grapheme",
    [
        "e\u0301",
        "a\u0300\u0323",
        "नि",
        "❤\ufe0f",
        "👍🏽",
        "👩\u200d👩\u200d👧",
        "🏳\ufe0f\u200d🌈",
        "🇩🇪",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f",
        "\u1112\u1161\u11ab",
    ],
)
def test_a_grapheme_is_one(grapheme: str) -> None:
    assert parts(grapheme) == [grapheme]
    assert parts(f"x{grapheme}y{grapheme}") == ["x", grapheme, "y", grapheme]
    assert parts(f"x{grapheme}{grapheme}") == ["x", grapheme, grapheme]


def test_what_does_not_belong_together_is_apart() -> None:
    assert parts("abc") == ["a", "b", "c"]
    assert parts("中文ё") == ["中", "文", "ё"]
    assert parts("🇩🇪🇫🇷🇮") == ["🇩🇪", "🇫🇷", "🇮"]
    assert parts("\n\u0301") == ["\n", "\u0301"]


def test_a_letter_with_marks_without_end_is_not_waited_for() -> None:
    assert max(map(len, parts("a" + "\u0301" * 1000))) == LONGEST
