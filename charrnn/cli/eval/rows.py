"""Rows of ``charrnn eval``: one for each example or character, and the coloured text.

        nats  nats/char   chars  times  text
       31.32      3.915       7      1  Zyxqwvu

With --above, rows have its unit. Sorted rows are kept until the end. In input order, each row is
written as soon as it is scored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, repeat

import numpy as np

from charrnn.cli.console import ABOVE, CYAN, DIM, Console
from charrnn.cli.eval.options import Options, Threshold
from charrnn.cli.terminal.colours import Painter
from charrnn.cli.terminal.tables import Column, Table, count, fitted
from charrnn.corpus.files import name_of
from charrnn.corpus.segmentation import END_CODE, NEWLINE, text_of
from charrnn.scoring import heat_map, pieces
from charrnn.scoring.pieces import Gatherer, Row, ScoredBlock
from charrnn.scoring.score import BITS
from charrnn.text import Raw, Visible, encodable, joined, visible_json, visible_line

PLACE = "where"
PART = 9  # columns for the nats per character of the network, of the counts, ...
LONGEST_PLACE = 24  # columns for a file and a line
DIGITS = 6  # columns for the number of a line
TEXT = 8  # columns that are kept free for the text
GAP = "  "
ELLIPSIS = "..."
BATCH = 10_000  # rows in a write


class ExampleRows:
    def __init__(
        self, options: Options, origins: pieces.Origins, parts: Sequence[str], console: Console
    ) -> None:
        """Each of ``parts``, the names of what the model mixes, gets a column."""
        self._files = files = [name_of(source) for source in options.sources]
        self._origins, self._above, self._as_json = origins, options.above, options.as_json
        output = console.out
        self._console, self._output, self._is_terminal = console, output, output.is_terminal
        self._gatherer = Gatherer()
        self._unit = unit = "nats" if options.above is None else options.above.unit
        self._merged = 0  # examples that share a row with an equal one
        self._ranking: pieces.Ranking | None = None
        if not options.keeps_order:
            self._ranking = pieces.Ranking(options.top)
        columns = [Column(unit, 10, 2), Column(f"{unit}/char", 11), Column("chars", 8, 1)]
        columns += [Column("times", 7, 3), *(Column(name, PART, 5) for name in parts)]
        if len(files) > 1:
            width = min(LONGEST_PLACE, 1 + DIGITS + max(map(len, files)))
            columns.append(Column(PLACE, len(GAP) + width, 4))
        room = output.window - 1 - len(GAP)
        self._table = Table(columns, room - TEXT, output)
        self._room = max(len(ELLIPSIS), room - self._table.width)
        is_table = not options.as_json
        if is_table and self._is_terminal:  # in a pipe, every line is an example
            text = output.paint(Visible(GAP + "text"), CYAN)
            output.write_lines([joined([self._table.head(), text])])

    def add(self, block: ScoredBlock) -> None:
        """Add a block; write or keep the examples that end in it."""
        rows = self._gatherer.add(block)
        if rows is None:
            return
        files, lines = self._origins.take("rows", len(rows))
        rows = replace(rows, files=files, lines=lines)
        if self._above is not None:
            rows = rows.above(self._above.bits)
        if self._ranking is None:
            self._write(map(rows.row, range(len(rows))))
        else:
            self._ranking.add(rows)

    def finish(self) -> None:
        if self._ranking is not None:
            self._write(self._ranking.rows())
        if self._merged:
            share = f"{count(self._merged, 'repeated example')} without a row: see times"
            self._console.note(f"{share}, or show each with --per-example alone")

    def _write(self, rows: Iterable[Row]) -> None:
        lines = map(self._line, rows)
        while batch := list(islice(lines, BATCH)):
            self._output.write(*batch)

    def _line(self, row: Row) -> Visible | Raw:
        self._merged += row.times - 1
        if self._as_json:
            return self._json_line(row)
        scale = BITS if self._unit == "bits" else 1.0
        each = scale / (row.characters + 1)
        figures = {
            self._unit: f"{scale * row.nats:.2f}",
            f"{self._unit}/char": f"{each * row.nats:.3f}",
            "chars": str(row.characters),
            "times": str(row.times),
            **{name: f"{each * nats:.3f}" for name, nats in row.parts.items()},
        }
        if len(self._files) > 1:
            figures[PLACE] = fitted(f"{self._files[row.file]}:{row.line}", LONGEST_PLACE + 1)
        cells = self._table.row(figures)
        if not self._is_terminal:
            return Raw(f"{cells}{GAP}" + row.text.replace("\n", "\\n") + "\n")
        shown = visible_line(row.text[: self._room + 1])
        if len(shown) > self._room:
            shown = Visible(shown[: self._room - len(ELLIPSIS)] + ELLIPSIS)
        return joined([cells, Visible(GAP), shown, Visible("\n")])

    def _json_line(self, row: Row) -> Visible:
        mean = row.nats_per_character
        file = text_json(self._files[row.file]) if self._files else "null"
        return Visible(
            f'{{"schema": "charrnn.eval.example/1", "number": {row.line},'
            f' "text": {text_json(row.text)}, "characters": {row.characters},'
            f' "unknown": {row.unknown}, "nats": {row.nats!r}, "nats_per_character": {mean!r},'
            f' "bits_per_character": {mean * BITS!r}, "file": {file},'
            f' "times": {row.times}{parts_json(row.parts)}}}\n'
        )


def text_json(text: str) -> Visible:
    return visible_json(json.dumps(encodable(text), ensure_ascii=False))


def parts_json(parts: Mapping[str, float]) -> str:
    """Return the end of a JSON line: the nats of each part of the model, if it has several."""
    return f', "parts": {json.dumps(parts)}' if parts else ""


class HeatMap:
    """Writes the text coloured by surprisal; newlines and ends have visible marks."""

    def __init__(self, examples_are: str, console: Console) -> None:
        self._console = console
        self._painter = Painter(console.out)
        end, newline = ("$", "$") if console.out.is_plain else ("■", "↵")
        gap = "\n" if examples_are == "lines" else "\n\n"
        self._breaks = {int(END_CODE): (end, gap), int(NEWLINE): (newline, "\n")}

    def add(self, block: ScoredBlock) -> None:
        bands, painted = heat_map.bands_of_text(block.codes, block.nats), list[Visible]()
        breaks = (block.codes == NEWLINE) | (block.codes == END_CODE)
        for start, stop in heat_map.band_runs(bands, breaks):
            band = int(bands[start])
            if not breaks[start]:
                painted.append(self._painter.paint_band(text_of(block.codes[start:stop]), band))
                continue
            mark, gap = self._breaks[int(block.codes[start])]
            dim = self._console.out.paint(Visible(mark), DIM)
            painted += [self._painter.paint_band(mark, band) if band else dim, Visible(gap)]
        self._console.out.write(joined(painted))

    def finish(self) -> None:
        """Write the legend to stderr."""
        self._console.say(Painter(self._console.err).legend())


class CharacterRows:
    """Writes a row for each character: it, its nats and its rank, with tabs between.

    With --above, only characters above it have a row, in its unit.
    """

    def __init__(self, console: Console, above: Threshold | None, *, as_json: bool) -> None:
        self._output, self._above, self._as_json = console.out, above, as_json
        self._scale = BITS if above is not None and above.unit == "bits" else 1.0
        if not as_json and console.out.is_terminal:
            unit = "nats" if above is None else above.unit
            console.out.write_lines([Visible(f"character\t{unit}\trank")])

    def add(self, block: ScoredBlock) -> None:
        if self._above is not None:
            block = block[block.nats * BITS > self._above.bits]
        assert block.ranks is not None
        columns = [each.tolist() for each in (block.codes, block.nats, block.ranks)]
        costs = zip(*(part.tolist() for part in block.parts.values()), strict=True)
        parts = (dict(zip(block.parts, each, strict=True)) for each in costs)
        self._output.write(joined(map(self._line, *columns, parts if block.parts else repeat({}))))

    def finish(self) -> None:
        """Do nothing: every row is written."""

    def _line(self, code: int, nats: float, rank: int, parts: Mapping[str, float]) -> Visible:
        if self._as_json:
            is_end = code == END_CODE
            character = "null" if is_end else json.dumps(chr(code), ensure_ascii=False)
            return Visible(
                f'{{"schema": "charrnn.eval.character/1", "character": {visible_json(character)},'
                f' "nats": {nats!r}, "rank": {rank}{parts_json(parts)}}}\n'
            )
        character = "END" if code == END_CODE else visible_line(chr(code))
        more = "".join(f"\t{name} {self._scale * cost:.3f}" for name, cost in parts.items())
        return Visible(f"{character}\t{self._scale * nats:.3f}\t{rank}{more}\n")


class Alarm:
    """Counts the examples, or characters, above a threshold (--above)."""

    def __init__(self, above: Threshold, *, of_characters: bool) -> None:
        self.above = above
        self.count = 0
        self._gatherer = None if of_characters else Gatherer()

    def add(self, block: ScoredBlock) -> None:
        if self._gatherer is None:
            self.count += int(np.count_nonzero(self.costs(block) > self.above.bits))
        elif (rows := self._gatherer.add(block)) is not None:
            self.count += len(rows.above(self.above.bits))

    def costs(self, block: ScoredBlock) -> pieces.Floats:
        """Return the bits of each character, or for each character of an example."""
        if self._gatherer is None:
            return block.nats * BITS
        rows = self._gatherer.add(block)
        return np.zeros(0) if rows is None else rows.nats_per_character * BITS

    def report(self, console: Console) -> None:
        """Report the count; exit with status 3 if it is not 0."""
        name, each = "character", ""
        if self._gatherer is not None:
            name, each = "example", " per character"
        console.note(f"{count(self.count, name)} above {self.above}{each}")
        if self.count:
            raise SystemExit(ABOVE)


def above_json(alarm: Alarm | None) -> dict[str, object]:
    """Return how many examples or characters are above the threshold; null without one."""
    found = None if alarm is None else alarm.count
    return {"above": found, "above_count": found}  # the first is the older name
