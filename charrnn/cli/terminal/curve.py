"""The learning curve as a small picture: held-out loss, training loss, and the line to beat.

    nats per character
    3.04 |*
         | **
         |  .***
         |    ..*****
    1.63 |--------.--****************  markov-6
         +--------------------------
         0               14,160 steps

Drawn with Braille dots, eight in a cell, or in ASCII on a plain terminal. The value at step 0 is
the loss of character frequencies, which a network starts with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from charrnn.cli.console import BLUE, GREEN, YELLOW, Output
from charrnn.text import Visible, joined, visible_line

if TYPE_CHECKING:
    from charrnn.model_file.fields import CorpusRecord

HEIGHT = 10  # lines
LABEL = 6  # columns before the picture
BEYOND = 100.0  # heights: farther away, a point is moved closer
MARGIN = 0.04  # of the height, free above and below

Point = tuple[float, float]
Paint = Callable[[Visible, str], Visible]


class Line(NamedTuple):
    """The style of a line."""

    name: str
    style: str
    mark: str  # for ASCII
    dash: int  # the dots of a dash and of a gap; 0: no gaps


BASELINE = Line("baseline", YELLOW, "-", 2)
TRAIN = Line("learning", BLUE, ".", 1)
HELD_OUT = Line("held-out", GREEN, "*", 0)
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

    def lines(self, paint: Paint) -> Iterator[Visible]:
        """Yield the lines of the picture from the top."""
        for row in range(self.height // self.down):
            cells = [(row, column) for column in range(self.width // self.across)]
            yield Visible(joined(self._cell(cell, paint) for cell in cells).rstrip())

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


def learning_curve(
    history: Sequence[Mapping[str, float]], corpus: CorpusRecord, output: Output
) -> list[Visible]:
    """Return the picture for this output, after an empty line; nothing without a curve."""
    from charrnn.display.figures import best_of, first_row

    baselines = corpus.baselines
    best = (best_of(baselines), min(baselines.values())) if baselines else None
    rows = [*first_row(corpus), *history]
    lines = picture(rows, best, output.width, output.paint, plain=output.is_plain)
    return [Visible(""), Visible("nats per character"), *lines] if lines else []


def picture(
    history: Sequence[Mapping[str, float]],
    baseline: tuple[str, float] | None,
    width: int,
    paint: Paint,
    *,
    plain: bool,
) -> list[Visible]:
    """Return the lines of the picture; none for fewer than two check-ups."""
    wide = width - LABEL - 2
    steps = [row["step"] for row in history]
    if len(history) < 2 or wide < 10:
        return []
    curves = {TRAIN: [row["train"] for row in history]}
    if "held_out" in history[0]:
        curves[HELD_OUT] = [row["held_out"] for row in history]
    low, high = _range(curves, baseline)
    canvas = Canvas(wide, HEIGHT, plain=plain)
    if baseline is not None:
        y = _height(baseline[1], low, high)
        canvas.draw([(0.0, y), (1.0, y)], BASELINE)
    for line, values in curves.items():
        xs = [(step - steps[0]) / (steps[-1] - steps[0]) for step in steps]
        ys = [_height(value, low, high) for value in values]
        canvas.draw(_thinned(list(zip(xs, ys, strict=True)), canvas.width), line)
    labels = _labels(low, high, baseline)
    bar, corner, floor = ("|", "+", "-") if plain else ("│", "└", "─")
    rows = [
        f"{labels.get(row, ''):>{LABEL - 1}} {bar}{line}"
        for row, line in enumerate(canvas.lines(paint))
    ]
    first, last = f"{steps[0]:,.0f}", f"{steps[-1]:,.0f}"
    last += " steps" if len(first) + len(last) + 7 <= wide else ""
    lines = [
        *rows,
        " " * LABEL + corner + floor * wide,
        " " * (LABEL + 1) + first + " " * max(1, wide - len(first) - len(last)) + last,
        *_legend(curves, baseline, wide, paint, plain=plain),
    ]
    return [Visible(line) for line in lines]


def _range(
    curves: Mapping[Line, Sequence[float]], baseline: tuple[str, float] | None
) -> tuple[float, float]:
    """Return the lowest and the highest loss to show, without the high start of training."""
    shown = list(curves.get(HELD_OUT, curves[TRAIN]))
    shown += [baseline[1]] if baseline is not None else []
    shown.append(curves[TRAIN][-1])
    low = min(shown)
    high = max(*shown, low + 0.01)
    free = MARGIN * (high - low)
    return max(0.0, low - free), high + free


def _height(value: float, low: float, high: float) -> float:
    """Return the position of a loss: 0 is the top, 1 the bottom; limited, to draw quickly."""
    return min(BEYOND, max(-BEYOND, (high - value) / (high - low)))


def _thinned(points: list[Point], columns: int) -> list[Point]:
    """Return at most one point for each column: the mean of its points."""
    if len(points) <= columns:
        return points
    piles: dict[int, list[Point]] = {}
    for point in points:
        piles.setdefault(round(point[0] * (columns - 1)), []).append(point)
    return [
        (sum(x for x, _ in pile) / len(pile), sum(y for _, y in pile) / len(pile))
        for pile in piles.values()
    ]


def _labels(low: float, high: float, baseline: tuple[str, float] | None) -> dict[int, str]:
    """Return the labels by row."""
    labels = {0: f"{high:.2f}", HEIGHT - 1: f"{low:.2f}"}
    if baseline is not None:
        labels[round(_height(baseline[1], low, high) * (HEIGHT - 1))] = f"{baseline[1]:.2f}"
    return labels


def _legend(
    curves: Mapping[Line, Sequence[float]],
    baseline: tuple[str, float] | None,
    wide: int,
    paint: Paint,
    *,
    plain: bool,
) -> list[str]:
    """Return the lines of the legend."""
    names = {line: line.name for line in (HELD_OUT, TRAIN) if line in curves}
    if baseline is not None:
        names[BASELINE] = visible_line(baseline[0])
    samples = {HELD_OUT: "⠒⠒", TRAIN: "⠂⠂", BASELINE: "⠤⠤"}
    entries = [
        f"{paint(Visible(line.mark * 2 if plain else samples[line]), line.style)} {name}"
        for line, name in names.items()
    ]
    gap = "   " if sum(len(name) + 6 for name in names.values()) <= wide else "\n"
    return [" " * (LABEL + 1) + line for line in gap.join(entries).split("\n")]
