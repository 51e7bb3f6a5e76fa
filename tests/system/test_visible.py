"""Fault 27: text that steers terminals is shown, not obeyed."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from charrnn.system.visible import encodable, visible, visible_json, visible_line

TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too


def steers(character: str) -> bool:
    """Whether a terminal would obey it, by what Unicode says of it."""
    if character in "\n\t":
        return False
    return character in TURNING or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def test_every_character_there_is_steers_or_is_left_alone() -> None:
    characters = [chr(code) for code in range(0x110000)]
    obeyed = {*filter(steers, characters)}
    assert all(visible(character).startswith("\\") for character in obeyed)
    harmless = "".join(character for character in characters if character not in obeyed)
    assert visible(harmless) == harmless


@given(ANY_TEXT)
def test_a_message_stays_on_its_line(text: str) -> None:
    line = visible_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(steers(character) or character in "\n\t" for character in line)


@given(ANY_TEXT, ANY_TEXT)
def test_a_stream_may_come_in_any_pieces(first: str, second: str) -> None:
    assert visible(first + second) == visible(first) + visible(second)


@given(ANY_TEXT)
def test_json_made_safe_means_the_same(text: str) -> None:
    written = visible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(written) == {"text": text}
    assert not any(steers(character) for character in written)
    written.encode("utf-8")


@given(ANY_TEXT)
def test_what_utf_8_cannot_hold_is_replaced_and_nothing_else(text: str) -> None:
    encoded = encodable(text)
    encoded.encode("utf-8")
    replaced = [now for now, before in zip(encoded, text, strict=True) if now != before]
    assert replaced == ["\ufffd" for character in text if unicodedata.category(character) == "Cs"]
