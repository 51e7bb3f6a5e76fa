"""The heat of a text in the colours that a terminal has: 16 million, 256, 16, or none."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import Final

from charrnn.cli.console import Output
from charrnn.scoring import heat_map
from charrnn.scoring.score import BITS
from charrnn.text import Visible, joined, visible

# The ink and the ground of each band. The lowest has the colours of the terminal itself.
FULL: Final = (
    "",
    "#ffffff on #55585f",
    "#ffffff on #75672f",
    "#ffffff on #a3690f",
    "#ffffff on #cc4a1a",
    "#ffffff on #d3123f",
    "bold #ffffff on #c400a0",
)
FEW: Final = (  # of the 16, those that every theme keeps apart
    "",
    "cyan",
    "yellow",
    "black on cyan",
    "black on yellow",
    "white on red",
    "bold white on magenta",
)


class Painter:
    """Colours text by surprisal; has no colours where the output takes none."""

    def __init__(self, output: Output) -> None:
        self._depth = _depth(output)

    @property
    def has_colours(self) -> bool:
        """Whether anything would come out in colour."""
        return self._depth is not None

    def paint(self, text: str, nats: float) -> Visible:
        """The text, made visible, in the colour of that surprisal."""
        return self.paint_band(text, bisect_right(heat_map.BOUNDS, nats * BITS))

    def paint_band(self, text: str, band: int) -> Visible:
        """The same, where the band is known; a newline stays plain, so no colour runs on."""
        shown = visible(text)
        if self._depth is None or not band:
            return shown
        style = _styles(self._depth)[band]
        lines = (Visible(line) for line in shown.split("\n"))
        return joined((style(line) if line else line for line in lines), "\n")

    def legend(self) -> Visible:
        """One line that says which colour is how many bits."""
        names = enumerate(heat_map.band_names())
        shown = joined((self.paint_band(f" {name} ", band) for band, name in names), " ")
        return joined([Visible("bits: "), shown])


class _Brush:
    """A style, made into what goes before a text and what goes after it."""

    def __init__(self, colour: str, depth: str) -> None:
        from rich.color import ColorSystem
        from rich.style import Style

        system = {
            "truecolor": ColorSystem.TRUECOLOR,
            "256": ColorSystem.EIGHT_BIT,
            "standard": ColorSystem.STANDARD,
        }[depth]
        style = Style.parse(colour)
        fitting = Style(  # a new one: a style remembers its codes, whatever it is asked for next
            color=style.color and style.color.downgrade(system),
            bgcolor=style.bgcolor and style.bgcolor.downgrade(system),
            bold=style.bold,
        )
        self._before, _, self._after = fitting.render("\0", color_system=system).partition("\0")

    def __call__(self, text: Visible) -> Visible:
        return Visible(f"{self._before}{text}{self._after}")


@cache
def _styles(depth: str) -> list[_Brush]:
    return [_Brush(colour, depth) for colour in (FEW if depth == "standard" else FULL)]


def _depth(output: Output) -> str | None:
    """What Rich calls the colours of this terminal; None where it takes none."""
    if not output.takes_colour:
        return None
    from rich.console import Console

    # The size does not matter, and where it is not given Rich takes any number of the environment.
    console = Console(file=output.stream, force_terminal=True, width=output.width, height=1)
    system = console.color_system
    return "standard" if system in (None, "windows") else system
