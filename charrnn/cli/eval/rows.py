"""A row for each example: what it cost, and the example.

        nats  nats/char   chars  text
       31.32      3.915       7  Zyxqwvu

Sorted, they are kept until the end; in the order of the input each goes out as soon as it is read.

The surprisal of each character: a text in colours, or a row a character.

Colours are for a terminal that has some. Elsewhere a row has the character, its nats and its rank,
with tabs between them; END stands for the end of an example.

What surprises more than was said to be usual: counted, and told by the exit status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from charrnn.cli.console import ABOVE, CYAN, DIM, Console
from charrnn.cli.terminal.colours import Painter
from charrnn.cli.terminal.tables import Column, Table, count
from charrnn.corpus.segmentation import END_CODE, text_of
from charrnn.corpus.segmentation import NEWLINE as NEWLINE_CODE
from charrnn.scoring import heat_map as surprisal_bands
from charrnn.scoring.pieces import Gatherer, Origins, ScoredBlock
from charrnn.scoring.ranking import Batch, Ranking, Row
from charrnn.scoring.score import BITS
from charrnn.text import Raw, Visible, encodable, joined, visible_json, visible_line

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

    def hear(self, piece: ScoredBlock) -> None:
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


HEAD = Visible("character\tnats\trank")
END = Visible("END")


class HeatMap:
    """The text in colours, newlines and ends made visible, for those can surprise too."""

    def __init__(self, examples_are: str, console: Console) -> None:
        self._console = console
        self._painter = Painter(console.out)
        self._gap = Visible("\n" if examples_are == "lines" else "\n\n")
        marks = ("$", "$") if console.out.is_plain else ("■", "↵")
        self._end, self._newline = map(Visible, marks)

    def hear(self, piece: ScoredBlock) -> None:
        """Show a piece."""
        self._console.out.write(joined(self._painted(piece)))

    def finish(self) -> None:
        """Say what the colours mean."""
        self._console.say(Painter(self._console.err).legend())

    def _painted(self, piece: ScoredBlock) -> Iterator[Visible]:
        bands = surprisal_bands.bands_of_text(piece.codes, piece.nats)
        breaks = (piece.codes == NEWLINE_CODE) | (piece.codes == END_CODE)
        for start, stop in surprisal_bands.band_runs(bands, breaks):
            band = int(bands[start])
            if not breaks[start]:
                yield self._painter.paint_band(text_of(piece.codes[start:stop]), band)
            elif piece.codes[start] == END_CODE:
                yield joined([self._mark(self._end, band), self._gap])
            else:
                yield joined([self._mark(self._newline, band), Visible("\n")])

    def _mark(self, mark: Visible, band: int) -> Visible:
        """What is no character of the text stands back, unless it surprised."""
        if band:
            return self._painter.paint_band(mark, band)
        return self._console.out.paint(mark, DIM)


class CharacterRows:
    """A row for each character, for programs."""

    def __init__(self, console: Console, *, as_json: bool) -> None:
        self._output = console.out
        self._line = character_json_line if as_json else table_line
        if not as_json and console.out.is_terminal:
            console.out.write_lines([HEAD])

    def hear(self, piece: ScoredBlock) -> None:
        """Write a piece."""
        assert piece.ranks is not None
        codes, nats, ranks = piece.codes.tolist(), piece.nats.tolist(), piece.ranks.tolist()
        names, parts = list(piece.parts), [each.tolist() for each in piece.parts.values()]
        each = zip(*parts, strict=True) if parts else [()] * len(codes)
        shares = (dict(zip(names, some, strict=True)) for some in each)
        self._output.write(joined(map(self._line, codes, nats, ranks, shares)))

    def finish(self) -> None:
        """That was all."""


def heat_map(examples_are: str, console: Console, *, as_json: bool) -> HeatMap | CharacterRows:
    """What suits stdout."""
    if as_json or not Painter(console.out).has_colours:
        return CharacterRows(console, as_json=as_json)
    return HeatMap(examples_are, console)


def character_json_line(code: int, nats: float, rank: int, parts: Mapping[str, float]) -> Visible:
    """One object on one line; the character of an end is null."""
    character = "null"
    if code != END_CODE:
        character = visible_json(json.dumps(chr(code), ensure_ascii=False))
    more = f', "parts": {json.dumps(parts)}' if parts else ""
    return Visible(
        f'{{"schema": "charrnn.eval.character/1", "character": {character}, "nats": {nats!r},'
        f' "rank": {rank}{more}}}\n'
    )


def table_line(code: int, nats: float, rank: int, parts: Mapping[str, float]) -> Visible:
    """One row; what is no visible character is written as an escape. What each part of the model
    says comes last.
    """
    character = END if code == END_CODE else visible_line(chr(code))
    more = "".join(f"\t{name} {cost:.3f}" for name, cost in parts.items())
    return Visible(f"{character}\t{nats:.3f}\t{rank}{more}\n")


class Alarm:
    """Counts the examples above so many bits per character, or the characters above so many."""

    def __init__(self, bits: float, *, of_characters: bool) -> None:
        self.bits = bits
        self.found = 0
        self._gatherer = None if of_characters else Gatherer()

    def hear(self, piece: ScoredBlock) -> None:
        """Look at a piece."""
        nats = piece.nats
        if self._gatherer is not None:
            rows = self._gatherer.add(piece)
            nats = np.zeros(0) if rows is None else rows.nats_per_character
        self.found += int(np.count_nonzero(nats * BITS > self.bits))

    def finish(self) -> None:
        """That was all."""

    def tell(self, console: Console) -> None:
        """Say how many there are, and end with a status of its own if there is one."""
        what, unit = "character", "bits"
        if self._gatherer is not None:
            what, unit = "example", "bits per character"
        console.note(f"{count(self.found, what)} above {self.bits:g} {unit}")
        if self.found:
            raise SystemExit(ABOVE)
