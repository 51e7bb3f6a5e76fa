"""The surprisal of each character: a text in colours, or a row a character.

Colours are for a terminal that has some. Elsewhere a row has the character, its nats and its rank,
with tabs between them; END stands for the end of an example.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from charrnn.cli.console import DIM, Console
from charrnn.cli.surprisal_colours import Painter
from charrnn.corpus.segmentation import END_CODE, NEWLINE
from charrnn.escaping import Visible, joined, visible_json, visible_line
from charrnn.scoring import surprisal_bands
from charrnn.scoring.pieces import Piece, text_of

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

    def hear(self, piece: Piece) -> None:
        """Show a piece."""
        self._console.out.write(joined(self._painted(piece)))

    def finish(self) -> None:
        """Say what the colours mean."""
        self._console.say(Painter(self._console.err).legend())

    def _painted(self, piece: Piece) -> Iterator[Visible]:
        bands = surprisal_bands.bands_of_text(piece.codes, piece.nats)
        breaks = (piece.codes == NEWLINE) | (piece.codes == END_CODE)
        for start, stop in surprisal_bands.runs(bands, breaks):
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
        self._line = json_line if as_json else table_line
        if not as_json and console.out.is_terminal:
            console.out.write_lines([HEAD])

    def hear(self, piece: Piece) -> None:
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


def json_line(code: int, nats: float, rank: int, parts: Mapping[str, float]) -> Visible:
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
