"""The learning curve as a small picture: held-out loss, training loss, and the line to beat.

Drawn with Braille dots, eight in a cell, or in ASCII on a plain terminal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from charrnn.text import Visible, joined

if TYPE_CHECKING:
    pass

HEIGHT = 10  # lines
LABEL = 6  # columns before the picture
BEYOND = 100.0  # heights of the picture: farther away, a point is moved closer

Point = tuple[float, float]
Paint = Callable[[Visible, str], Visible]


class Line(NamedTuple):
    style: str
    mark: str  # for ASCII
    dash: int  # the dots of a dash and of a gap; 0: no gaps


DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # [row][column] of a Braille cell


class Canvas:
    """A grid of cells for lines; the last line drawn gives a cell its colour."""

    def __init__(self, width: int, height: int, *, plain: bool) -> None:
        self.plain = plain
        self.across, self.down = (1, 1) if plain else (2, 4)  # dots in a cell
        self.width, self.height = width * self.across, height * self.down
        self._dots: dict[tuple[int, int], int] = {}
        self._lines: dict[tuple[int, int], Line] = {}

    def draw(self, points: Sequence[Point], line: Line) -> None:
        """Draw a line through points in the unit square, y downwards; clip the rest."""
        places = [(x * (self.width - 1), y * (self.height - 1)) for x, y in points]
        for (x0, y0), (x1, y1) in zip(places, places[1:] or places, strict=False):
            steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
            for step in range(steps + 1):
                at = step / steps
                self._dot(round(x0 + at * (x1 - x0)), round(y0 + at * (y1 - y0)), line)

    def framed(
        self, labels: Mapping[int, str], margin: int, first: str, last: str, paint: Paint
    ) -> Iterator[Visible]:
        """Yield the picture from the top, with labels of rows on the left and an axis below."""
        bar, corner, floor = ("|", "+", "-") if self.plain else ("│", "└", "─")
        wide = self.width // self.across
        for row in range(self.height // self.down):
            cells = joined(self._cell((row, column), paint) for column in range(wide)).rstrip()
            yield Visible(f"{labels.get(row, ''):>{margin - 1}} {bar}{cells}")
        yield Visible(" " * margin + corner + floor * wide)
        gap = " " * max(1, wide - len(first) - len(last))
        yield Visible(f"{'':{margin + 1}}{first}{gap}{last}")

    def _dot(self, x: int, y: int, line: Line) -> None:
        if not 0 <= y < self.height:
            return
        if line.dash and x // (line.dash if not self.plain else 1) % 2:
            return
        cell = y // self.down, x // self.across
        bit = DOTS[y % self.down][x % self.across] if not self.plain else 1
        self._dots[cell] = self._dots.get(cell, 0) | bit
        self._lines[cell] = line

    def _cell(self, cell: tuple[int, int], paint: Paint) -> Visible:
        if cell not in self._dots:
            return Visible(" ")
        line = self._lines[cell]
        shown = line.mark if self.plain else chr(0x2800 + self._dots[cell])
        return paint(Visible(shown), line.style)
