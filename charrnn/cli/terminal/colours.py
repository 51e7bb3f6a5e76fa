"""Text coloured by surprisal, with the colours of the terminal: 16 million, 256, 16 or none."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from charrnn.cli.console import Output
from charrnn.score import band_names, band_of
from charrnn.text import Visible, clusters, joined, visible, visible_line

ELLIPSIS: Final = "..."

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
        return self.paint_band(text, band_of(nats))

    def paint_band(self, text: str, band: int) -> Visible:
        """Return the text, made visible, in the colour of a band. Newlines stay plain."""
        shown = visible(text)
        if self._depth is None or not band:
            return shown
        before, after = _styles(self._depth)[band]
        lines = shown.split("\n")
        return Visible("\n".join(f"{before}{line}{after}" if line else "" for line in lines))

    def legend(self) -> Visible:
        names = enumerate(band_names())
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


def coloured(painter: Painter, text: str, costs: list[float]) -> Visible:
    """Return a text and its end in colours of surprisal; a cluster has that of its first code."""
    marks = {"\n": "\n", "\0": "$\n"}
    return joined(
        [
            painter.paint(marks.get(shown, shown), nats)
            for shown, nats in clusters([*text, "\0"], costs)
        ]
    )


def excerpt(text: str, costs: Any, room: int) -> Visible:
    """Return a text on one line, cut around its most surprising characters to fit."""
    import numpy as np

    shown, room = visible_line(text), max(room, 10)
    if len(shown) <= room:
        return shown
    size = max(1, room - 2 * len(ELLIPSIS))
    sums = np.cumsum([0, *costs])
    begin = int(np.argmax(sums[size:] - sums[:-size])) if len(sums) > size else 0
    before = ELLIPSIS if begin else ""
    after = visible_line(text[begin:])
    cut = after[: room - len(before)]
    return Visible(before + (cut if cut == after else cut[: -len(ELLIPSIS)] + ELLIPSIS))
