"""What a terminal shows, as an SVG: moved cursors are followed, and no font is loaded."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from operator import itemgetter

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

CODE = re.compile(r"\x1b\[\??([\d;]*)([A-Za-z])|([\r\n\b])|([^\x1b\r\n\b])")
WIDTH, HEIGHT, MARGIN = 8.4, 19, 14  # of a character and around them, in pixels
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
GROUND, INK, FAINT, EDGE = "#14181f", "#dfe4ea", "#8d97a5", "#59636e"
THEME = TerminalTheme(
    (20, 24, 31),
    (223, 228, 234),
    [
        *((60, 66, 77), (255, 123, 114), (126, 211, 133), (227, 179, 65)),
        *((121, 176, 255), (210, 150, 255), (86, 200, 214), (223, 228, 234)),
    ],
)


def lines_shown(output: str) -> list[str]:
    """Return the lines that a terminal shows at the end, with the codes of their colours."""
    rows: list[list[tuple[str, str]]] = [[]]
    row = column = 0
    style = ""
    for found in CODE.finditer(output):
        number, command, control, character = found.groups()
        count = int(number) if (number or "").isdigit() else 1
        if character:
            rows[row] += [(" ", "")] * (column + 1 - len(rows[row]))
            rows[row][column] = character, style
            column += 1
        elif control:
            row += control == "\n"
            column = max(0, column - 1) if control == "\b" else 0
            rows += [[] for _ in range(row + 1 - len(rows))]
        elif command == "m":
            style = "" if number in ("", "0") else f"{style}\x1b[{number}m"
        elif command == "A":
            row = max(0, row - count)
        elif command == "K":
            rows[row] = [] if number == "2" else rows[row][:column]
    return ["".join(coloured(cells)) for cells in rows]


def coloured(cells: list[tuple[str, str]]) -> Iterator[str]:
    """Yield pieces of a line, each in one style, between the codes of it."""
    for style, group in groupby(cells, key=itemgetter(1)):
        text = "".join(character for character, _ in group)
        yield f"{style}{text}\x1b[0m" if style else text


def picture_of(lines: Iterable[str]) -> str:
    """Return lines of a terminal as an SVG."""
    console = Console(width=200, color_system="truecolor", force_terminal=True)
    texts = [Text.from_ansi(line) for line in lines]
    while texts and not texts[-1].plain.strip():
        texts.pop()
    parts: list[str] = []
    for row, text in enumerate(texts):
        column = 0
        for segment in text.render(console):
            style = segment.style or Style()
            parts += drawn(segment.text.rstrip("\n"), style, MARGIN + column * WIDTH, row)
            column += segment.cell_length
    width = max(48, *(text.cell_len for text in texts)) * WIDTH + 2 * MARGIN
    return panel(width, len(texts) * HEIGHT + 2 * MARGIN, parts)


def drawn(text: str, style: Style, x: float, row: int) -> Iterator[str]:
    """Yield the elements of a piece of a line: its ground, and its words."""
    y = MARGIN + row * HEIGHT
    if style.bgcolor:
        ground = style.bgcolor.get_truecolor(THEME).hex
        width = len(text) * WIDTH
        yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" fill="{ground}"/>'
    ink = style.color.get_truecolor(THEME).hex if style.color else INK
    ink = FAINT if style.dim else ink
    weight = ' font-weight="700"' if style.bold else ""
    for found in re.finditer(r"\S+(?: \S+)*", text):  # runs of spaces are not drawn
        at, length = x + found.start() * WIDTH, len(found[0]) * WIDTH
        place = f'x="{at:.1f}" y="{y + 14}" textLength="{length:.1f}"'
        yield f'<text {place} fill="{ink}"{weight}>{escape(found[0])}</text>'


def panel(width: float, height: float, parts: Iterable[str]) -> str:
    """Return an SVG with a dark ground of its own, which light and dark pages can show."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    edge = f'width="{width - 1:.0f}" height="{height - 1:.0f}" fill="{GROUND}" stroke="{EDGE}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="14">'
    ground = f'<rect x=".5" y=".5" rx="8" {edge}/>'
    return "\n".join([head, ground, *parts, "</svg>\n"])
