"""What a reader takes for one character: a letter with its marks, a family of emoji, a flag."""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 32  # parts; a letter with more marks than that is taken as it comes
FIRST_MARK: Final = "\u0300"
JOINER: Final = "\u200d"

_MARKS: Final = ("Mn", "Mc", "Me")


def goes_on(before: str, character: str) -> bool:
    """Whether the character belongs to what stands before it."""
    if character < FIRST_MARK or not before or before[-1] < " " or len(before) >= LONGEST:
        return False
    return (
        joins(character)
        or before[-1] == JOINER
        or (is_half_a_flag(character) and len(before) == 1 and is_half_a_flag(before))
    )


def joins(character: str) -> bool:
    """Whether it belongs to any letter that stands before it."""
    return character >= FIRST_MARK and (
        character == JOINER
        or unicodedata.category(character) in _MARKS
        or "\u1160" <= character <= "\u11ff"  # the vowel and the end of a Hangul syllable
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # the colour of a skin
        or "\U000e0020" <= character <= "\U000e007f"  # the flag of a region, letter by letter
    )


def is_half_a_flag(character: str) -> bool:
    """Whether two such are the flag of a country."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"
