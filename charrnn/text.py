"""Text made safe to show: what would steer a terminal is shown, not obeyed.

A network that has read a terminal log writes escape codes, and a file name may hold anything. So
whatever comes from a text, a model, a path or the command line passes through here on its way to
a terminal, and ``ESC`` is seen as ``\x1b``. Left as they are: letters of every script, newline
and tab.

What a reader takes for one character: a letter with its marks, a family of emoji, a flag."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NewType, TypeVar, cast

Visible = NewType("Visible", str)  # made by the functions below, or painted since: steers nothing
Raw = NewType("Raw", str)  # as it is, because that was asked for or because it goes to a file
Writable = TypeVar("Writable", Visible, Raw)

# C0 but tab and newline, DEL and C1; marks that turn the writing direction around; the two
# separators that some programs take for a new line; lone surrogates, which is how Python hands
# over bytes that are not UTF-8. To stand between brackets in a regular expression.
STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029"
    "\ud800-\udfff"
)

_STEERING = re.compile(f"[{STEERING}]")
_STEERING_OR_SPACING = re.compile(f"[\t\n{STEERING}]")
_LONE = re.compile("[\ud800-\udfff]")
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def visible(text: str) -> Visible:
    """The text with control characters shown; each on its own, so a stream may come in pieces."""
    return Visible(_STEERING.sub(_shown, text))


def visible_line(text: str) -> Visible:
    """The same on one line: newline and tab are shown too."""
    return Visible(_STEERING_OR_SPACING.sub(_shown, text))


def visible_json(json_text: str) -> Visible:
    """JSON that means the same, with the control characters inside its strings escaped."""
    return Visible(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text))


def visible_in_html(text: str) -> str:
    """Return the text with control characters shown by symbols; it still has to be escaped."""
    return _STEERING.sub(_html_symbol, text)


def _html_symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # a picture of the control character
    return "␡" if code == 0x7F else f"\\u{code:04x}"


def joined(pieces: Iterable[Writable], between: str = "") -> Writable:
    """The pieces in one, which is what they are; what stands between them is ours."""
    return cast(Writable, between.join(pieces))


def encodable(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which no UTF-8 can hold."""
    return _LONE.sub("\ufffd", text)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


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
