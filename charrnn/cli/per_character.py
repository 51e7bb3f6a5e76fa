"""The surprisal of each character: a text in colours, or a row a character.

Colours are for a terminal that has some. Elsewhere a row has the character, its nats and its rank,
with tabs between them; END stands for the end of an example.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from charrnn import escaping
from charrnn.cli import charset, layout
from charrnn.cli.console import write_result
from charrnn.cli.layout import DIM
from charrnn.cli.surprisal_colours import Painter
from charrnn.corpus.segmentation import END_CODE, NEWLINE
from charrnn.scoring import surprisal_bands
from charrnn.scoring.blocks import Piece, text_of

HEAD = "character\tnats\trank\n"
END = "END"


class HeatMap:
    """The text in colours, newlines and ends made visible, for those can surprise too."""

    def __init__(self, examples_are: str) -> None:
        self._painter = Painter(sys.stdout)
        self._gap = "\n" if examples_are == "lines" else "\n\n"
        self._end, self._newline = ("$", "$") if charset.are_plain(sys.stdout) else ("■", "↵")

    def hear(self, piece: Piece) -> None:
        """Show a piece."""
        write_result("".join(self._painted(piece)), raw=True)

    def finish(self) -> None:
        """Say what the colours mean."""
        sys.stderr.write(Painter(sys.stderr).legend() + "\n")

    def _painted(self, piece: Piece) -> Iterator[str]:
        bands = surprisal_bands.bands_of_text(piece.codes, piece.nats)
        breaks = (piece.codes == NEWLINE) | (piece.codes == END_CODE)
        for start, stop in surprisal_bands.runs(bands, breaks):
            band = int(bands[start])
            if not breaks[start]:
                yield self._painter.paint_band(text_of(piece.codes[start:stop]), band)
            elif piece.codes[start] == END_CODE:
                yield self._mark(self._end, band) + self._gap
            else:
                yield self._mark(self._newline, band) + "\n"

    def _mark(self, mark: str, band: int) -> str:
        """What is no character of the text stands back, unless it surprised."""
        if band:
            return self._painter.paint_band(mark, band)
        return layout.paint(mark, DIM, sys.stdout)


class CharacterRows:
    """A row for each character, for programs."""

    def __init__(self, *, as_json: bool) -> None:
        self._line = json_line if as_json else table_line
        if not as_json and sys.stdout.isatty():
            write_result(HEAD, raw=True)

    def hear(self, piece: Piece) -> None:
        """Write a piece."""
        assert piece.ranks is not None
        codes, nats, ranks = piece.codes.tolist(), piece.nats.tolist(), piece.ranks.tolist()
        write_result("".join(map(self._line, codes, nats, ranks)), raw=True)

    def finish(self) -> None:
        """That was all."""


def heat_map(examples_are: str, *, as_json: bool) -> HeatMap | CharacterRows:
    """What suits stdout."""
    if as_json or not Painter(sys.stdout).has_colours:
        return CharacterRows(as_json=as_json)
    return HeatMap(examples_are)


def json_line(code: int, nats: float, rank: int) -> str:
    """One object on one line; the character of an end is null."""
    character = "null"
    if code != END_CODE:
        character = escaping.visible_json(json.dumps(chr(code), ensure_ascii=False))
    return (
        f'{{"schema": "charrnn.eval.character/1", "character": {character}, "nats": {nats!r},'
        f' "rank": {rank}}}\n'
    )


def table_line(code: int, nats: float, rank: int) -> str:
    """One row; what is no visible character is written as an escape."""
    character = END if code == END_CODE else escaping.visible_line(chr(code))
    return f"{character}\t{nats:.3f}\t{rank}\n"
