"""A row for each example: what it cost, and the example.

        nats  nats/char   chars  text
       31.32      3.915       7  Zyxqwvu

Sorted, they are kept until the end; in the order of the input each goes out as soon as it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from charrnn.cli.console import CYAN, Console
from charrnn.cli.table import Column, Table
from charrnn.escaping import Raw, Visible, encodable, joined, visible_json, visible_line
from charrnn.scoring.origins import Origins
from charrnn.scoring.pieces import Gatherer, Piece
from charrnn.scoring.ranking import Batch, Ranking, Row
from charrnn.scoring.surprisal_bands import BITS

COLUMNS = (Column("nats", 10, 2), Column("nats/char", 11), Column("chars", 8, 1))
TIMES = Column("times", 7, 3)
PLACE = "where"
PART = 9  # columns for the nats per character of a part of the model
LONGEST_PLACE = 24  # columns for a file and a line
DIGITS = 6  # of a line
TEXT = 8  # columns for the text, before the others are left out
GAP = "  "
NEWLINE = Visible("\n")
ELLIPSIS = "..."
AT_ONCE = 10_000  # rows written together, where they are many


class ExampleRows:
    """Makes rows of pieces, and writes them to stdout."""

    def __init__(
        self,
        files: Sequence[str],
        origins: Origins,
        console: Console,
        *,
        sort: str,
        top: int | None,
        above: float | None,
        as_json: bool,
        parts: Sequence[str] = (),
    ) -> None:
        """``parts`` are those of the model, of which each has a column."""
        self._parts = parts
        self._files = files
        self._origins = origins
        self._above = above
        self._as_json = as_json
        self._output = console.out
        self._is_terminal = console.out.is_terminal
        self._gatherer = Gatherer()
        self._ranking = None if sort == "input" else Ranking(by_nats=sort == "nats", top=top)
        columns = console.out.window - 1 - len(GAP)
        self._table = Table(self._columns(), columns - TEXT, console.out)
        self._room = max(len(ELLIPSIS), columns - self._table.width)
        if not as_json and self._is_terminal:  # a program counts on a line an example
            text = console.out.paint(Visible(GAP + "text"), CYAN)
            console.out.write_lines([joined([self._table.head(), text])])

    def hear(self, piece: Piece) -> None:
        """Look at a piece: the examples that end in it are complete."""
        rows = self._gatherer.add(piece)
        if rows is None:
            return
        batch = Batch.new(rows, *self._origins.take(len(rows)))
        if self._above is not None:
            batch = batch.above(self._above)
        if self._ranking is None:
            self._write(map(batch.row, range(len(batch))))
        else:
            self._ranking.add(batch)

    def finish(self) -> None:
        """Write what was kept, the odd ones first."""
        if self._ranking is not None:
            self._write(self._ranking.rows())

    def _columns(self) -> list[Column]:
        """What there is to tell: how often, where the same is told once; where, in many files."""
        columns = [*COLUMNS, *([] if self._ranking is None else [TIMES])]
        columns += [Column(name, PART, 5) for name in self._parts]
        if len(self._files) > 1:
            width = min(LONGEST_PLACE, 1 + DIGITS + max(map(len, self._files)))
            columns.append(Column(PLACE, len(GAP) + width, 4))
        return columns

    def _write(self, rows: Iterable[Row]) -> None:
        lines: list[Visible | Raw] = []
        for row in rows:
            lines.append(self._line(row))
            if len(lines) == AT_ONCE:
                self._output.write(*lines)
                lines = []
        if lines:
            self._output.write(*lines)

    def _line(self, row: Row) -> Visible | Raw:
        """One line; on a terminal it is cut to the window."""
        if self._as_json:
            file = self._files[row.file] if self._files else None
            return joined([json_line(row, file), NEWLINE])
        cells = self._table.row(self._cells(row))
        if not self._is_terminal:
            return Raw(f"{cells}{GAP}" + row.text.replace("\n", "\\n") + "\n")
        shown = visible_line(row.text[: self._room + 1])
        if len(shown) > self._room:
            shown = Visible(shown[: self._room - len(ELLIPSIS)] + ELLIPSIS)
        return joined([cells, Visible(GAP), shown, NEWLINE])

    def _cells(self, row: Row) -> dict[str, str]:
        cells = {
            "nats": f"{row.nats:.2f}",
            "nats/char": f"{row.nats_per_character:.3f}",
            "chars": str(row.characters),
            "times": str(row.times),
            **{name: f"{nats / (row.characters + 1):.3f}" for name, nats in row.parts.items()},
        }
        if len(self._files) > 1:
            place = f"{visible_line(self._files[row.file])}:{row.line}"
            if len(place) > LONGEST_PLACE:
                place = f"..{place[2 - LONGEST_PLACE :]}"
            cells[PLACE] = place
        return cells


def json_line(row: Row, file: str | None) -> Visible:
    """One object on one line; its number is the line of the file on which it begins."""
    mean = row.nats_per_character
    text = visible_json(json.dumps(encodable(row.text), ensure_ascii=False))
    name = "null" if file is None else json.dumps(encodable(file), ensure_ascii=False)
    parts = f', "parts": {json.dumps(row.parts)}' if row.parts else ""
    return Visible(
        f'{{"schema": "charrnn.eval.example/1", "number": {row.line}, "text": {text},'
        f' "characters": {row.characters}, "unknown": {row.unknown}, "nats": {row.nats!r},'
        f' "nats_per_character": {mean!r}, "bits_per_character": {mean * BITS!r},'
        f' "file": {visible_json(name)}, "times": {row.times}{parts}}}'
    )
