"""The pictures: a page shows each one and says what is seen; none loads anything."""

import re
from pathlib import Path

import pytest

from tests.pages import PAGES
from tests.pictures import FOLDER, OF_PAGES, OF_TERMINALS, Studio
from tests.screen import lines_shown, picture_of

PICTURES = sorted(FOLDER.iterdir())
MOST_BYTES = 1_000_000


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_page_shows_it_and_says_what_is_seen(picture: Path) -> None:
    shown = rf"!\[([^]]*)\]\([\w/]*pictures/{picture.name}\)"
    texts = [text for page in PAGES for text in re.findall(shown, page.read_text("utf-8"))]
    assert texts
    assert all(len(text.split()) >= 8 for text in texts)


def test_each_is_drawn_by_the_command_and_they_are_small() -> None:
    names = {*(f"{name}.svg" for name in OF_TERMINALS), *(f"{name}.png" for name in OF_PAGES)}
    assert {picture.name for picture in PICTURES} <= names
    assert all(hasattr(Studio, name) for name in (*OF_TERMINALS, *OF_PAGES))
    assert sum(picture.stat().st_size for picture in PICTURES) <= MOST_BYTES


def test_a_picture_has_no_address_but_the_namespace() -> None:
    for picture in FOLDER.glob("*.svg"):
        text = picture.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "", 1)
        for harm in ("://", "url(", "@import", "href", "<script", "font-face"):
            assert harm not in text, (picture.name, harm)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("one\rtwo\n", ["two", ""]),
        ("10%\r    \rdone\n", ["done", ""]),
        ("a\nb\x1b[A\x1b[2Kc", [" c", "b"]),
        ("abc\b\b\x1b[K\n", ["a", ""]),
        ("\x1b[1;32mbest\x1b[0m *", ["\x1b[1;32mbest\x1b[0m *"]),
    ],
)
def test_moved_cursors_are_followed(output: str, lines: list[str]) -> None:
    assert lines_shown(output) == lines


def test_words_of_a_terminal_stand_in_their_columns_and_colours() -> None:
    drawn = picture_of(["a  \x1b[1;38;2;1;2;3;48;2;4;5;6m<b>\x1b[0m", ""])
    assert '<text x="14.0" y="28" textLength="8.4" fill="#dfe4ea">a</text>' in drawn
    assert 'fill="#010203" font-weight="700">&lt;b&gt;</text>' in drawn
    assert 'fill="#040506"' in drawn
