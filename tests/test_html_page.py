"""The web page: all of the text is on it, and none of it is obeyed."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus.segmentation import cut, text_of
from charrnn.scoring import heat_map
from charrnn.scoring.heat_map import body, page
from charrnn.scoring.pieces import Floats, ScoredBlock
from charrnn.scoring.score import BITS
from charrnn.text import visible_in_html
from charrnn.vocabulary import Codes, Vocabulary

NATS = np.array([0.1, 1.0, 1.8, 3.0, 4.0, 6.0, 9.0])  # one of each band


def codes_in(text: str) -> Codes:
    return np.concatenate([np.zeros(0, np.uint32), *cut([text], "paragraphs")])


def nats_for(codes: Codes) -> Floats:
    return NATS[np.arange(len(codes)) % len(NATS)]


class Reading(HTMLParser):
    """What a browser would show of it, without the marks, and the elements it met."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.titles: list[str] = []
        self._is_mark = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]
        self._is_mark = tag == "s"

    def handle_endtag(self, tag: str) -> None:
        self._is_mark = False

    def handle_data(self, data: str) -> None:
        if not self._is_mark:
            self.text += data


def read(html: str) -> Reading:
    reading = Reading()
    reading.feed(html)
    reading.close()
    return reading


def whole(text: str, title: str = "a text") -> str:
    codes = codes_in(text)
    piece = ScoredBlock(codes, Vocabulary("ab").encode_codes(codes), nats_for(codes), None)
    return b"".join(page(title, [piece], lambda: {"bits": "2.5", "model": "<m>"})).decode()


@given(st.text())
def test_the_text_comes_out_as_it_is(text: str) -> None:
    codes = codes_in(text)
    found = read(body(codes, nats_for(codes)))
    assert found.text == visible_in_html(text_of(codes))
    assert set(found.tags) <= {"i", "s"}


@given(st.text(alphabet="ab é\u0301👩\u200d🔬\n", max_size=60))
def test_every_character_that_surprised_has_its_bits(text: str) -> None:
    codes = codes_in(text)
    nats = nats_for(codes)
    said = [float(bits) for title in read(body(codes, nats)).titles for bits in title.split()]
    bits = [round(n, 1) for n in (nats * BITS).tolist()]
    coloured = heat_map.bands_of_text(codes, nats) > 0
    assert said == [b for b, is_coloured in zip(bits, coloured, strict=True) if is_coloured]


def test_what_would_steer_a_browser_is_shown() -> None:
    html = whole("<script>&amp;\x1b[31m\u202eabc", title="</title><script>\u202e")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html or "&lt;" in html
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    assert "\\u202e" in html


def test_it_loads_nothing_and_knows_light_and_dark() -> None:
    html = whole("abab\n\nbaba")
    assert "http" not in html
    assert "src=" not in html
    assert "@import" not in html
    assert "<script" not in html
    assert "prefers-color-scheme: dark" in html
    for name in heat_map.band_names():
        assert f">{name.replace('<', '&lt;').replace('>', '&gt;')}</i>" in html
    for fact in ("<dt>bits</dt><dd>2.5</dd>", "<dd>&lt;m&gt;</dd>", "<title>a text</title>"):
        assert fact in html


def test_a_mark_keeps_the_colour_of_its_letter() -> None:
    codes = codes_in("e\u0301x")
    assert "e\u0301</i>" in body(codes, np.array([3.0, 0.1, 9.0, 9.0]))


def test_a_long_text_is_cut_into_sheets_at_the_ends_of_lines() -> None:
    html = whole("abcdefg hij\n" * 4000)
    sheets = html.count("<pre>")
    assert 5 < sheets < 20
    assert html.count("</pre>") == sheets
    assert len(html) < 26 * 48_000  # where every character differs from its neighbours


def test_sums_are_asked_for_at_the_end() -> None:
    seen: list[str] = []

    def sums() -> dict[str, str]:
        seen.append("asked")
        return {}

    bits = page("t", [], sums)
    next(bits)
    assert not seen
    list(bits)
    assert seen == ["asked"]
