"""A row for each example: what it cost, and the example.

        nats  nats/char   chars  text
       31.32      3.915       7  Zyxqwvu

Sorted, they are kept until the end; in the order of the input each goes out as soon as it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from charrnn.cli.console import CYAN, Console
from charrnn.cli.table import Column, Table
from charrnn.escaping import Raw, Visible, encodable, joined, visible_json, visible_line
from charrnn.scoring.blocks import Gatherer, Piece, Rows
from charrnn.scoring.surprisal_bands import BITS

COLUMNS = (Column("nats", 10, 2), Column("nats/char", 11), Column("chars", 8, 1))
TEXT = 8  # columns for the text, before the others are left out
GAP = "  "
NEWLINE = Visible("\n")
ELLIPSIS = "..."
AT_ONCE = 10_000  # rows written together, where they are many

Place = tuple[Rows, int, int]  # where an example is among some, and its number among all


class ExampleRows:
    """Makes rows of pieces, and writes them to stdout."""

    def __init__(self, sort: str, console: Console, *, as_json: bool) -> None:
        self._sort = sort
        self._as_json = as_json
        self._output = console.out
        self._is_terminal = console.out.is_terminal
        self._gatherer = Gatherer()
        self._kept: list[Rows] = []
        self._count = 0
        columns = console.out.window - 1 - len(GAP)
        self._table = Table(COLUMNS, columns - TEXT, console.out)
        self._room = max(len(ELLIPSIS), columns - self._table.width)
        if not as_json and self._is_terminal:  # a program counts on a line an example
            text = console.out.paint(Visible(GAP + "text"), CYAN)
            console.out.write_lines([joined([self._table.head(), text])])

    def hear(self, piece: Piece) -> None:
        """Look at a piece: the examples that end in it are complete."""
        rows = self._gatherer.add(piece)
        if rows is None:
            return
        if self._sort == "input":
            self._write((rows, i, self._count + i) for i in range(len(rows)))
        else:
            self._kept.append(rows)
        self._count += len(rows)

    def finish(self) -> None:
        """Write what was kept, the odd ones first; what costs the same stays in its order."""
        if not self._kept:
            return
        costs = [row.nats if self._sort == "nats" else row.nats_per_character for row in self._kept]
        order = np.argsort(-np.concatenate(costs), kind="stable")
        firsts = np.cumsum([0, *(len(rows) for rows in self._kept)])
        self._write(self._in_order(order, firsts))

    def _in_order(self, order: NDArray[np.intp], firsts: NDArray[np.int64]) -> Iterator[Place]:
        for number in order.tolist():
            batch = int(np.searchsorted(firsts, number, side="right")) - 1
            yield self._kept[batch], number - int(firsts[batch]), number

    def _write(self, chosen: Iterable[Place]) -> None:
        lines: list[Visible | Raw] = []
        for rows, i, number in chosen:
            lines.append(self._line(rows, i, number))
            if len(lines) == AT_ONCE:
                self._write_lines(lines)
                lines = []
        self._write_lines(lines)

    def _write_lines(self, lines: list[Visible | Raw]) -> None:
        if lines:
            self._output.write(*lines)

    def _line(self, rows: Rows, i: int, number: int) -> Visible | Raw:
        """One line; on a terminal it is cut to the window."""
        if self._as_json:
            return joined([json_line(rows, i, number), NEWLINE])
        cells = {
            "nats": f"{rows.nats[i]:.2f}",
            "nats/char": f"{rows.nats_per_character[i]:.3f}",
            "chars": str(rows.characters[i]),
        }
        text = rows.text(i)
        if not self._is_terminal:
            return Raw(f"{self._table.row(cells)}{GAP}" + text.replace("\n", "\\n") + "\n")
        shown = visible_line(text[: self._room + 1])
        if len(shown) > self._room:
            shown = Visible(shown[: self._room - len(ELLIPSIS)] + ELLIPSIS)
        return joined([self._table.row(cells), Visible(GAP), shown, NEWLINE])


def json_line(rows: Rows, i: int, number: int) -> Visible:
    """One object on one line; its number counts from 1 in the order of the input."""
    nats, mean = float(rows.nats[i]), float(rows.nats_per_character[i])
    text = json.dumps(encodable(rows.text(i)), ensure_ascii=False)
    return Visible(
        f'{{"schema": "charrnn.eval.example/1", "number": {number + 1},'
        f' "text": {visible_json(text)}, "characters": {rows.characters[i]},'
        f' "unknown": {rows.unknown[i]}, "nats": {nats!r}, "nats_per_character": {mean!r},'
        f' "bits_per_character": {mean * BITS!r}}}'
    )
