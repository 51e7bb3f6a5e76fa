"""The colours of surprisal in terminals of each kind."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.style import Style

from charrnn.cli.console import Output
from charrnn.cli.eval import coloured
from charrnn.text import clusters

ESCAPES = re.compile("\x1b\\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_said_of_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_style_keeps_its_codes() -> None:
    """Forget the codes that rich made for the terminal of another test."""
    Style.parse.cache_clear()
    Style._add.cache_clear()


def painted(text: str, bits: float) -> str:
    """Return a text as a terminal gets it."""
    stream = Terminal()
    costs = [bits * math.log(2)] * (len(text) + 1)
    Output(lambda: stream).rich.print(coloured(text, costs), end="", soft_wrap=True)
    return stream.getvalue().replace("$", "")


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
    ("env", "bits", "code"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 2.5, "48;2;"),
        ({"TERM": "xterm-256color"}, 4, "48;5;"),
        ({"TERM": "xterm"}, 6, "97;4"),
    ],
)
def test_each_terminal_gets_the_colours_it_has(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], bits: float, code: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert painted("x", 0.5) == "x\n"
    assert code in painted("x", bits)
    assert ESCAPES.sub("", painted("x", bits)) == "x\n"


def test_a_text_cannot_bring_colours_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert ESCAPES.sub("", painted("\x1b[31mred [b]", 5.0)) == "\\x1b[31mred [b]\n"
