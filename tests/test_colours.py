"""The colours of surprisal in terminals of each kind."""

from __future__ import annotations

import io
import math
import re

import pytest

from charrnn.cli.console import Output
from charrnn.cli.terminal.colours import Painter
from charrnn.score import band_names
from charrnn.text import clusters

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


@pytest.mark.parametrize(
    "graphemes",
    [
        ["x", "e\u0301", "y", "\n", "\u0301", "x", "\0"],
        ["👍🏽", "👩\u200d👩\u200d👧", "x"],
        ["🇩🇪", "🇫🇷", "🇮", "x", "🇩🇪"],
        ["\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f", "\u1112\u1161\u11ab", "中"],
    ],
)
def test_a_cluster_has_the_colour_of_its_first_character(graphemes: list[str]) -> None:
    costs = [99.0] * len("".join(graphemes))
    for i in range(len(graphemes)):
        costs[len("".join(graphemes[:i]))] = i
    assert clusters("".join(graphemes), costs) == [(g, i) for i, g in enumerate(graphemes)]


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
    assert len(set(painted)) == len(band_names())
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
    assert legend.split() == ["bits:", *band_names()]
