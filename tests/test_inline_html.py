"""What a notebook shows of a model, of a score and of a text: nothing gets out of its element."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import charrnn
from charrnn.display import model_card
from charrnn.model import Model
from charrnn.scoring.heat_map import LONGEST, heat_map
from charrnn.scoring.score import Score, table
from tests.corpora import NAMES
from tests.program import Program

HOSTILE = "</pre><script>alert(1)</script>&amp;\"' onload=x <!-- \x1b[1m \u202e\n\t\x00 end"
ELEMENTS = {"pre", "p", "span", "table", "tr", "th", "td", "div"}
DRAWN = {"svg", "polyline", "path", "text"}
ATTRIBUTES = {"style", "title"}


class Page(HTMLParser):
    """The elements of some HTML, the names of their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        if tag not in ("polyline", "path"):  # which are closed at once
            self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def model() -> Model:
    config = charrnn.TrainConfig(hidden=4, layers=1, epochs=6, check_every=3, batch=4, bptt=8)
    return charrnn.fit(NAMES.split(), config)


def test_a_text_is_a_heat_map_with_what_it_sums_up_to(model: Model) -> None:
    surprisal = model.surprisal("anna\nzz")
    page = Page(surprisal._repr_html_())
    assert page.text.startswith("anna↵\nzz■\n")
    bits = sum(surprisal.nats) * 1.442695
    assert page.text.endswith(
        f"7 characters and the end: {bits:,.1f} bits, {bits / 8:.2f} for each."
    )
    tips = " ".join(value for value in page.values if ":" not in value).split()
    shown = [nats * 1.442695 for nats in surprisal.nats if nats * 1.442695 >= 1]
    assert tips == [f"{cost:.1f}" for cost in shown]
    assert repr(surprisal) == f"<charrnn.Surprisal: 7 characters, {sum(surprisal.nats):.1f} nats>"


def test_a_hostile_text_stays_a_text(model: Model) -> None:
    page = Page(model.surprisal(HOSTILE)._repr_html_())
    assert set(page.elements) <= ELEMENTS
    assert page.attributes <= ATTRIBUTES
    assert "</pre><script>alert(1)</script>&amp;\"' onload=x <!-- ␛[1m \\u202e↵" in page.text


@given(st.text(max_size=30))
def test_no_text_gets_out_of_a_heat_map_or_a_table(text: str) -> None:
    for html in (heat_map(text, [0.1, 9.0] * (len(text) // 2 + 1)), table([(text, text)], (text,))):
        page = Page(html)
        assert set(page.elements) <= ELEMENTS
        assert page.attributes <= ATTRIBUTES
        assert not {"\x1b", "\u202e", "\x00"} & set(html)


def test_a_long_text_is_cut_for_a_notebook_keeps_it(model: Model) -> None:
    text = "an" * LONGEST
    html = heat_map(text, [0.1] * (2 * LONGEST + 1))
    page = Page(html)
    assert page.text.startswith("an" * (LONGEST // 2) + f"{2 * LONGEST:,} characters")
    assert page.text.endswith(f"The first {LONGEST:,} are shown.")


def test_a_score_is_a_table(model: Model) -> None:
    score = model.score(["anna", "b?b"])
    page = Page(score._repr_html_())
    assert page.elements.count("tr") == 4  # a head, all, without ends, without what is unknown
    for figure in (score.nats_per_character, score.bits_per_character, score.without_end.nats):
        assert f"{figure:.3f}" in page.text or f"{figure:,.1f}" in page.text
    nothing = Page(Score()._repr_html_()).text
    assert "nan" not in nothing
    assert nothing.count("-") == 6  # two rows without a mean


def test_a_model_is_a_table_and_a_curve(model: Model) -> None:
    page = Page(model._repr_html_())
    assert set(page.elements) == {"div", "table", "tr", "th", "td", "svg", "polyline", "text"}
    assert page.elements.count("polyline") == 2
    assert f"1 × 4 tanh units, {len(model.parameters.flat):,} parameters" in page.text
    best = min(row["held_out"] for row in model.trained.history)
    assert f"{best:.3f} nats" in page.text
    assert any(f"to {best:.2f} nats per character" in value for value in page.values)


def test_the_curve_of_a_model_that_was_trained_beside_counting_has_that_line(
    well_trained: Program,
) -> None:
    page = Page(charrnn.load(Path("model.npz"))._repr_html_())
    assert page.elements.count("path") == 1
    assert "markov-" in page.text


def test_what_a_hostile_model_is_called_stays_a_text(model: Model) -> None:
    record = replace(
        model.corpus, examples_are=HOSTILE, baselines={HOSTILE: 1.0}, fingerprint="secret"
    )
    html = model_card(replace(model.trained, corpus=record))
    assert set(Page(html).elements) <= ELEMENTS | DRAWN
    assert "secret" not in html
