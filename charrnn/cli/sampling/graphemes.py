"""What a reader takes for one character: a letter with its marks, a family of emoji, a flag.

A terminal draws it when its last part has come. So text that arrives part by part is held back
until the next part begins another one, and no colour changes in the middle.
"""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST: Final = 32  # parts; a letter with more marks than that is shown as it comes

_FIRST_MARK: Final = "\u0300"
_JOINER: Final = "\u200d"
_MARKS: Final = ("Mn", "Mc", "Me")


def goes_on(before: str, character: str) -> bool:
    """Whether the character belongs to what stands before it."""
    if character < _FIRST_MARK or not before or before[-1] < " " or len(before) >= LONGEST:
        return False
    return (
        before[-1] == _JOINER
        or character == _JOINER
        or unicodedata.category(character) in _MARKS
        or "\u1160" <= character <= "\u11ff"  # the vowel and the end of a Hangul syllable
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # the colour of a skin
        or "\U000e0020" <= character <= "\U000e007f"  # the flag of a region, letter by letter
        or (_is_half_a_flag(character) and before[-1:] == before and _is_half_a_flag(before))
    )


def _is_half_a_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
