"""What a notebook shows of a text: nothing gets out of its element."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from charrnn.display import LONGEST, heat_map
from charrnn.model import Surprisal

HOSTILE = "</pre><script>alert(1)</script>&amp;\"' onload=x <!-- \x1b[1m \u202e\n\t end"


class Page(HTMLParser):
    """The elements of some HTML, the names of their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.titles: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_text_is_a_heat_map_with_its_sums() -> None:
    surprisal = Surprisal("an\nz", [0.1, 1.0, 2.0, 2.0, 9.0], [1] * 5)
    page = Page(surprisal._repr_html_())
    assert page.text == "an↵\nz■\n4 characters and the end: 20.3 bits, 4.07 for each."
    assert page.titles == ["1.4", "2.9 2.9", "13.0"]
    assert repr(surprisal) == "<charrnn.Surprisal: 4 characters, 14.1 nats>"


@given(st.one_of(st.text(max_size=30), st.just(HOSTILE)))
def test_no_text_gets_out_of_a_heat_map(text: str) -> None:
    html = heat_map(text, [0.1, 9.0, 5.0][: len(text) + 1] + [2.0] * (len(text) - 2))
    page = Page(html)
    assert page.elements <= {"pre", "p", "span"}
    assert page.attributes <= {"style", "title"}
    assert not {"\x1b", "\u202e", "\x00"} & set(html)


def test_a_long_text_is_cut_since_a_notebook_keeps_it() -> None:
    page = Page(heat_map("an" * LONGEST, [0.1] * (2 * LONGEST + 1)))
    assert page.text.startswith("an" * (LONGEST // 2) + f"{2 * LONGEST:,} characters")
    assert page.text.endswith(f"The first {LONGEST:,} are shown.")
