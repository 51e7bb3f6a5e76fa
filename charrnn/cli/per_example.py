"""A row for each example: what it cost, and the example.

        nats  nats/char  chars  text
       31.32      3.915      7  Zyxqwvu

Sorted, they are kept until the end; in the order of the input each goes out as soon as it is read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from charrnn import escaping
from charrnn.cli import layout
from charrnn.cli.console import write_result
from charrnn.cli.layout import CYAN
from charrnn.scoring.blocks import Gatherer, Piece, Rows
from charrnn.scoring.surprisal_bands import BITS

HEAD = f"{'nats':>10}{'nats/char':>11}{'chars':>8}  text"
NUMBERS = len(HEAD) - len("text")
ELLIPSIS = "..."
AT_ONCE = 10_000  # rows written together, where they are many


class ExampleRows:
    """Makes rows of pieces, and writes them to stdout."""

    def __init__(self, sort: str, *, as_json: bool) -> None:
        self._sort = sort
        self._gatherer = Gatherer()
        self._kept: list[Rows] = []
        self._count = 0
        self._line = json_line if as_json else table_line
        if not as_json and sys.stdout.isatty():  # a program counts on a line an example
            write_result(layout.paint(HEAD, CYAN, sys.stdout) + "\n", raw=True)

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

    def _in_order(
        self, order: NDArray[np.intp], firsts: NDArray[np.int64]
    ) -> Iterator[tuple[Rows, int, int]]:
        for number in order.tolist():
            batch = int(np.searchsorted(firsts, number, side="right")) - 1
            yield self._kept[batch], number - int(firsts[batch]), number

    def _write(self, chosen: Iterable[tuple[Rows, int, int]]) -> None:
        lines: list[str] = []
        for rows, i, number in chosen:
            lines.append(self._line(rows, i, number))
            if len(lines) == AT_ONCE:
                write_result("".join(lines), raw=True)
                lines = []
        if lines:
            write_result("".join(lines), raw=True)


def json_line(rows: Rows, i: int, number: int) -> str:
    """One object on one line; its number counts from 1 in the order of the input."""
    nats, mean = float(rows.nats[i]), float(rows.nats_per_character[i])
    text = json.dumps(escaping.encodable(rows.text(i)), ensure_ascii=False)
    return (
        f'{{"schema": "charrnn.eval.example/1", "number": {number + 1},'
        f' "text": {escaping.visible_json(text)}, "characters": {rows.characters[i]},'
        f' "unknown": {rows.unknown[i]}, "nats": {nats!r}, "nats_per_character": {mean!r},'
        f' "bits_per_character": {mean * BITS!r}}}\n'
    )


def table_line(rows: Rows, i: int, number: int) -> str:
    """One line, cut to the window if that is where it goes."""
    text = rows.text(i)
    if not sys.stdout.isatty():
        text = text.replace("\n", "\\n")
    else:
        room = max(len(ELLIPSIS), layout.window(sys.stdout) - NUMBERS - 1)
        text = escaping.visible_line(text[: room + 1])
        text = text if len(text) <= room else text[: room - len(ELLIPSIS)] + ELLIPSIS
    numbers = f"{rows.nats[i]:10.2f}{rows.nats_per_character[i]:11.3f}{rows.characters[i]:8}"
    return f"{numbers}  {text}\n"
