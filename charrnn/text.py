"""Text made safe to show, and text as a reader counts it: in grapheme clusters.

All text from a corpus, a model, a path or the command line passes through here on its way to a
terminal: ``ESC`` is shown as ``\\x1b``. Letters of every script, newline and tab stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final, NewType, TypeVar, cast

Visible = NewType("Visible", str)  # safe: made by the functions below, or coloured since
Raw = NewType("Raw", str)  # unchanged, on request or because it goes to a file
Writable = TypeVar("Writable", Visible, Raw)

# For a character class: C0 but tab and newline, DEL and C1; marks that change the writing
# direction; the two separators that some programs take for a newline; lone surrogates, in which
# Python holds bytes that are not UTF-8.
STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
    "\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff"
)

_STEERING = re.compile(f"[{STEERING}]")


def visible(text: str) -> Visible:
    """Return the text with control characters shown; pieces of a stream may come one by one."""
    return Visible(_STEERING.sub(_shown, text))


def visible_line(text: str) -> Visible:
    """Return the text on one line: control characters, newline and tab are shown."""
    return Visible(re.sub(f"[\t\n{STEERING}]", _shown, text))


def visible_json(json_text: str) -> Visible:
    """Return equivalent JSON with the control characters in its strings escaped."""
    return Visible(_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text))


def visible_in_html(text: str) -> str:
    """Return the text with control characters shown by symbols; it still has to be escaped."""

    def symbol(match: re.Match[str]) -> str:
        code = ord(match[0])
        if code < 0x20:
            return chr(0x2400 + code)  # a picture of the control character
        return "␡" if code == 0x7F else f"\\u{code:04x}"

    return _STEERING.sub(symbol, text)


def joined(pieces: Iterable[Writable], between: str = "") -> Writable:
    """Join pieces into one of the same kind."""
    return cast(Writable, between.join(pieces))


def encodable(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, which UTF-8 cannot hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}.get(match[0])
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


LONGEST: Final = 32  # characters of a cluster; further marks begin a new one
FIRST_MARK: Final = "\u0300"
JOINER: Final = "\u200d"


def goes_on(before: str, character: str) -> bool:
    """Return whether the character continues the cluster before it: marks, a family, a flag."""
    if character < FIRST_MARK or not before or before[-1] < " " or len(before) >= LONGEST:
        return False
    return (
        joins(character)
        or before[-1] == JOINER
        or (is_half_a_flag(character) and len(before) == 1 and is_half_a_flag(before))
    )


def clusters(characters: Iterable[str], costs: Iterable[float]) -> list[tuple[str, float]]:
    """Return the clusters of some characters, each with the cost of its first character."""
    found: list[tuple[str, float]] = []
    for character, cost in zip(characters, costs, strict=True):
        if found and goes_on(found[-1][0], character):
            found[-1] = found[-1][0] + character, found[-1][1]
        else:
            found.append((character, cost))
    return found


def joins(character: str) -> bool:
    """Return whether the character continues any cluster."""
    return character >= FIRST_MARK and (
        character == JOINER
        or unicodedata.category(character).startswith("M")
        or "\u1160" <= character <= "\u11ff"  # the vowel and the end of a Hangul syllable
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin colours
        or "\U000e0020" <= character <= "\U000e007f"  # tags: the letters of a region's flag
    )


def is_half_a_flag(character: str) -> bool:
    """Return whether the character is a regional indicator; two of them are a flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def question(names: Collection[str]) -> str:
    """Return the question whether one of these was meant; nothing without a name."""
    return f"Did you mean {' or '.join(names)}? " if names else ""
