"""Tables that suit the window: entries of a name and a text, and rows of columns.

    corpus     dinosaurs: 1,184 lines to learn from, 13,841
               characters, 54 symbols
    network    2 layers of 128 units

Where the window is narrow, text is wrapped, and the columns of least weight are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from charrnn.cli.console import CYAN, Output
from charrnn.cli.formatting import TOGETHER
from charrnn.escaping import Visible, joined, visible_line

INDENT = 11
NOTHING: Mapping[str, str] = {}

Entry = tuple[str, str]


def entries(given: Iterable[Entry], output: Output) -> Iterator[Visible]:
    """The lines for these entries. One without a name goes on with the one before."""
    indent = indentation(output)
    for name, text in given:
        lead = Visible(" " * indent)
        if name and indent < INDENT:
            yield output.paint(visible_line(name), CYAN)
        elif name:
            lead = output.paint(visible_line(f"{name:{INDENT}}"), CYAN)
        for line in wrap(text, output.width - indent):
            yield joined([lead, line])
            lead = Visible(" " * indent)


def indentation(output: Output) -> int:
    """The columns before what is said; in a narrow window the name stands on a line above."""
    return INDENT if output.width >= 3 * INDENT else 2


def wrap(text: str, columns: int) -> list[Visible]:
    """The text in lines of at most so many columns, of which a Chinese character takes two."""
    room, lines = max(8, columns), [""]
    for word in visible_line(text).split(" "):
        pieces = chop_cells(word, room) if cell_len(word) > room else [word]
        for piece in pieces:
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cell_len(longer) <= room and piece is pieces[0]:
                lines[-1] = longer
            elif lines[-1]:
                lines.append(piece)
            else:
                lines[-1] = piece
    return [Visible(line.rstrip(" ").replace(TOGETHER, " ")) for line in lines]


class Column(NamedTuple):
    """A column of a table."""

    name: str
    width: int
    rank: int = 0  # the lower ones stay when the window is narrow, those of 0 in every window
    is_left: bool = False


class Table:
    """Columns, as many of them as there is room for."""

    def __init__(self, columns: Sequence[Column], room: int, output: Output) -> None:
        self._output = output
        kept = set()
        for column in sorted(columns, key=lambda one: one.rank):
            if column.width <= room or not column.rank:
                kept.add(column)
                room -= column.width
        self.columns = [column for column in columns if column in kept]
        self.width = sum(column.width for column in self.columns)

    def head(self) -> Visible:
        """The names of the columns."""
        return self._output.paint(self.row({one.name: one.name for one in self.columns}), CYAN)

    def row(self, cells: Mapping[str, str], styles: Mapping[str, str] = NOTHING) -> Visible:
        """A row, each cell in its style; a cell that is not there is empty."""
        shown = []
        for name, width, _, is_left in self.columns:
            cell = visible_line(cells.get(name, ""))
            text = Visible(f"{cell:{'<' if is_left else '>'}{width}}")
            shown.append(self._output.paint(text, styles[name]) if name in styles else text)
        return Visible(joined(shown).rstrip())
