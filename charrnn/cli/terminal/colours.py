"""Text coloured by surprisal, with the colours of the terminal: 16 million, 256, 16 or none."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import Final

from charrnn.cli.console import Output
from charrnn.scoring import heat_map
from charrnn.scoring.score import BITS
from charrnn.text import Visible, joined, visible

# The colours of each band. The lowest keeps the colours of the terminal.
GROUNDS: Final = "#55585f", "#75672f", "#a3690f", "#cc4a1a", "#d3123f"
FULL: Final = "", *(f"#ffffff on {ground}" for ground in GROUNDS), "bold #ffffff on #c400a0"
FEW: Final = (  # of the 16 colours, those that differ in every theme
    "",
    "cyan",
    "yellow",
    "black on cyan",
    "black on yellow",
    "white on red",
    "bold white on magenta",
)


class Painter:
    """A painter of text by surprisal, without colours if the output has none."""

    def __init__(self, output: Output) -> None:
        self._depth: str | None = None  # the number of colours, as Rich names it
        if output.takes_colour:
            from rich.console import Console

            # Give a size, since Rich would trust any number in the environment.
            console = Console(file=output.stream, force_terminal=True, width=output.width, height=1)
            system = console.color_system
            self._depth = "standard" if system in (None, "windows") else system
        self.has_colours = self._depth is not None

    def paint(self, text: str, nats: float) -> Visible:
        """Return the text, made visible, in the colour of a surprisal."""
        return self.paint_band(text, bisect_right(heat_map.BOUNDS, nats * BITS))

    def paint_band(self, text: str, band: int) -> Visible:
        """Return the text, made visible, in the colour of a band. Newlines stay plain."""
        shown = visible(text)
        if self._depth is None or not band:
            return shown
        before, after = _styles(self._depth)[band]
        lines = shown.split("\n")
        return Visible("\n".join(f"{before}{line}{after}" if line else "" for line in lines))

    def legend(self) -> Visible:
        names = enumerate(heat_map.band_names())
        bands = (self.paint_band(f" {name} ", band) for band, name in names)
        return joined([Visible("bits:"), *bands], " ")


@cache
def _styles(depth: str) -> list[tuple[str, str]]:
    """Return the escape codes before and after a text for each band."""
    from rich.console import COLOR_SYSTEMS
    from rich.style import Style

    system, codes = COLOR_SYSTEMS[depth], []
    for name in FEW if depth == "standard" else FULL:
        style = Style.parse(name)
        fitting = Style(  # a new style, since a style caches its codes
            color=style.color and style.color.downgrade(system),
            bgcolor=style.bgcolor and style.bgcolor.downgrade(system),
            bold=style.bold,
        )
        before, _, after = fitting.render("\0", color_system=system).partition("\0")
        codes.append((before, after))
    return codes
