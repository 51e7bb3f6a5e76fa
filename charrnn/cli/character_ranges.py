"""A vocabulary for the eyes: neighbours drawn together, and names for what cannot be seen.

newline  space  ! '  ,  -  .  0-9  A-Z  a-z  é
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

LONGEST = 60  # entries, before "and so many more"
TOGETHER = 3  # neighbours that make a range
NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}


def shown(characters: str) -> str:
    """The characters, which come in code-point order, in a line."""
    entries: list[str] = []
    left = len(characters)
    for first, last, count in ranges(characters):
        if len(entries) == LONGEST:
            return f"{'  '.join(entries)}  and {left:,} more"
        entries.append(named(first) if count == 1 else f"{named(first)}-{named(last)}")
        left -= count
    return "  ".join(entries)


def ranges(characters: str) -> Iterator[tuple[str, str, int]]:
    """First, last, and how many: single ones, and at least TOGETHER letters or digits in a row."""
    start = 0
    while start < len(characters):
        stop = start + 1
        while stop < len(characters) and _follow(characters[stop - 1], characters[stop]):
            stop += 1
        if stop - start < TOGETHER:
            stop = start + 1
        yield characters[start], characters[stop - 1], stop - start
        start = stop


def _follow(one: str, other: str) -> bool:
    """Whether they are neighbours of one kind, so that everybody knows what is between."""
    kinds = unicodedata.category(one), unicodedata.category(other)
    return ord(other) == ord(one) + 1 and kinds[0] == kinds[1] and kinds[0][0] in "LN"


def named(character: str) -> str:
    """The character if it can be seen by itself, or what it is called."""
    kind = unicodedata.category(character)
    if character in NAMES:
        return NAMES[character]
    if kind[0] in "LNPS":
        return character
    if kind[0] == "M":
        return f"\u25cc{character}"  # on a circle, where a letter would stand
    name = unicodedata.name(character, "").lower().replace(" ", "-")
    return name or f"U+{ord(character):04X}"
