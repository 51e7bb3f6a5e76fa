"""Text made safe to show.

All text from a corpus, a model, a path or the command line passes through here on its way to a
terminal: ``ESC`` is shown as ``\\x1b``. Letters of every script, newline and tab stay.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, NewType

from charrnn.errors import unbracketed

Visible = NewType("Visible", str)  # safe: made by the functions below, coloured since, or for files

# For a character class: C0 but tab and newline, DEL and C1; marks that change the writing
# direction; the two separators that some programs take for a newline; lone surrogates, in which
# Python holds bytes that are not UTF-8.
CONTROLS: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
    "\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff"
)
# What other programs call a setting
SYNONYMS: Final = {"learning-rate": "lr", "temperature": "temp", "temp": "temperature"}
SYNONYMS.update(dict.fromkeys(["size", "units", "hidden-size"], "hidden"))
ANY_CONTROL, CONTROLS_OR_BREAKS = re.compile(f"[{CONTROLS}]"), re.compile(f"[\t\n{CONTROLS}]")


def visible(text: str) -> Visible:
    """Return the text with control characters shown; pieces of a stream may come one by one."""
    return Visible(ANY_CONTROL.sub(_shown, text))


def visible_line(text: str) -> Visible:
    """Return the text on one line: control characters, newline and tab are shown."""
    return Visible(CONTROLS_OR_BREAKS.sub(_shown, text))


def visible_json(json_text: str) -> Visible:
    """Return equivalent JSON with the control characters in its strings escaped."""
    if json_text.isprintable():  # as nearly all is, and quick to see
        return Visible(json_text)
    return Visible(ANY_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text))


def encodable(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, which UTF-8 cannot hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _shown(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def count(number: float, noun: str) -> str:
    """Return a number with its noun: 1 layer, 2,000 layers."""
    return f"{number:,.15g} {noun}{'' if number == 1 else 's'}"


def either(names: Sequence[str]) -> str:
    """Return "a, b or c" for some names."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def did_you_mean(word: str, names: Iterable[str], prefix: str = "") -> str:
    """Return the question whether the name nearest to a word was meant; nothing if none is near."""
    names, usual = list(names), SYNONYMS.get(word.replace("_", "-"))
    near = [usual] if usual in names else get_close_matches(word, names, 1)
    return f"Did you mean {prefix}{unbracketed(near[0])}?" if near else ""
