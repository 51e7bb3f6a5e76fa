"""Bands of surprisal, and their colours in terminals of every kind."""

from __future__ import annotations

import io
import math
import re
from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.cli.console import Output
from charrnn.cli.terminal.colours import Painter
from charrnn.scoring import heat_map
from charrnn.scoring.score import BITS
from charrnn.vocabulary import codes_of

ESCAPES = re.compile("\x1b\\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_said_of_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def painter(monkeypatch: pytest.MonkeyPatch, **env: str) -> Painter:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return Painter(Output(Terminal))


@given(st.lists(st.floats(0, 60), min_size=1))
def test_more_bits_never_make_a_lower_band(nats: list[float]) -> None:
    letters = np.full(len(nats), ord("x"), np.uint32)
    bands = heat_map.bands_of_text(letters, np.sort(np.array(nats)))
    assert (np.diff(bands) >= 0).all()
    assert bands.tolist() == [bisect_right(heat_map.BOUNDS, n * BITS) for n in sorted(nats)]
    assert 0 <= bands.min() <= bands.max() < len(heat_map.NAMES)


@pytest.mark.parametrize(
    "graphemes",
    [
        ["x", "e\u0301", "y"],
        ["👍🏽", "👩\u200d👩\u200d👧", "x"],
        ["🇩🇪", "🇫🇷", "🇮", "x", "🇩🇪"],
        ["\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f", "\u1112\u1161\u11ab", "中"],
    ],
)
def test_what_a_reader_takes_for_one_character_has_one_colour(graphemes: list[str]) -> None:
    codes = codes_of("".join(graphemes))
    nats = np.array([20.0 * (part > 0) for one in graphemes for part in range(len(one))])
    assert not heat_map.bands_of_text(codes, nats).any()


def test_what_belongs_together_only_by_half_has_colours_of_its_own() -> None:
    for text in ("\n\u0301", "\u200da", "x🇩", "ab"):
        assert heat_map.bands_of_text(codes_of(text), np.array([0.0, 20.0])).tolist() == [
            0,
            6,
        ]


def test_a_bound_in_bits_begins_a_band() -> None:
    nats = np.array([0, *heat_map.BOUNDS]) * math.log(2) + 1e-9
    letters = np.full(len(nats), ord("x"), np.uint32)
    assert heat_map.bands_of_text(letters, nats).tolist() == [*range(7)]
    assert heat_map.band_names() == ["<1", "1-2", "2-3", "3-5", "5-7", "7-10", ">10"]


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "48;2;"),
        ({"TERM": "xterm-256color"}, "48;5;"),
        ({"TERM": "xterm"}, "30;46"),
    ],
)
def test_each_terminal_gets_the_colours_it_has(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], code: str
) -> None:
    pens = painter(monkeypatch, **env)
    assert pens.has_colours
    painted = [pens.paint("x", bits * math.log(2)) for bits in (0.5, 1.5, 2.5, 4, 6, 8, 12)]
    assert len(set(painted)) == len(heat_map.NAMES)
    assert painted[0] == "x"
    assert code in painted[3]
    assert {ESCAPES.sub("", text) for text in painted} == {"x"}


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1", "TERM": "xterm"}])
def test_where_there_are_none_the_text_is_plain(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    pens = painter(monkeypatch, **env)
    assert not pens.has_colours
    assert pens.paint("x", 20.0) == "x"
    assert not Painter(Output(io.StringIO)).has_colours


def test_a_text_cannot_bring_colours_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pens = painter(monkeypatch, TERM="xterm")
    assert ESCAPES.sub("", pens.paint("\x1b[31mred", 5.0)) == "\\x1b[31mred"


def test_no_colour_runs_over_the_end_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    painted = painter(monkeypatch, TERM="xterm").paint("a\nb", 5.0)
    assert re.fullmatch("\x1b\\[[0-9;]*ma\x1b\\[0m\n\x1b\\[[0-9;]*mb\x1b\\[0m", painted)


def test_a_legend_names_every_band(monkeypatch: pytest.MonkeyPatch) -> None:
    legend = ESCAPES.sub("", painter(monkeypatch, TERM="xterm").legend())
    assert legend.split() == ["bits:", *heat_map.band_names()]
