"""Coloured text in a notebook."""

from hypothesis import given
from hypothesis import strategies as st

from charrnn.model import Surprisal
from charrnn.notebook import NOTEBOOK_LIMIT, heat_map
from tests.browser import Reading

HOSTILE = "</pre><script>alert(1)</script>&amp;\"' onload=x <!-- \x1b[1m \u202e\n\t end"


def test_a_text_is_a_heat_map_with_its_sums() -> None:
    surprisal = Surprisal("an\nz", [0.1, 1.0, 2.0, 2.0, 9.0], [1] * 5)
    page = Reading(surprisal._repr_html_())
    titles = [attributes["title"] for _, attributes in page.elements if "title" in attributes]
    assert page.text == "an↵\nz■\n4 characters and the end: 20.3 bits, 4.068 for each."
    assert titles == ["1.4", "2.9 2.9", "13.0"]
    assert repr(surprisal) == "<charrnn.Surprisal: 4 characters, 14.1 nats>"


@given(st.one_of(st.text(max_size=30), st.just(HOSTILE)))
def test_no_text_gets_out_of_a_heat_map(text: str) -> None:
    html = heat_map(text, [0.1, 9.0, 5.0][: len(text) + 1] + [2.0] * (len(text) - 2))
    for tag, attributes in Reading(html).elements:
        assert tag in ("pre", "p", "span")
        assert attributes.keys() <= {"style", "title"}
    assert not {"\x1b", "\u202e", "\x00"} & set(html)


def test_a_long_text_is_cut_since_a_notebook_keeps_it() -> None:
    page = Reading(heat_map("an" * NOTEBOOK_LIMIT, [0.1] * (2 * NOTEBOOK_LIMIT + 1)))
    assert page.text.startswith("an" * (NOTEBOOK_LIMIT // 2) + f"{2 * NOTEBOOK_LIMIT:,} characters")
    assert page.text.endswith(f"The first {NOTEBOOK_LIMIT:,} are shown.")
