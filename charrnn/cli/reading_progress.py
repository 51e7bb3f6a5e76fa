"""A progress bar for texts that take a while to read: on a terminal, after a second."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from charrnn.cli import charset, layout
from charrnn.cli.console import Talk
from charrnn.scoring.blocks import Piece
from charrnn.scoring.score import bytes_of

if TYPE_CHECKING:
    from tqdm import tqdm

SOON = 1.0  # seconds


class ReadingBar:
    """How much of a text has been read, of about so many bytes."""

    def __init__(self, size: int | None, talk: Talk, *, is_alone: bool) -> None:
        self._size = size
        # Rows on the same screen tell by themselves how it goes.
        self._is_drawn = talk.animated and (is_alone or not sys.stdout.isatty())
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> ReadingBar:
        if self._is_drawn:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._size,
                file=sys.stderr,
                leave=False,
                delay=SOON,
                unit="B",
                unit_scale=True,
                desc="reading",
                ascii=" =" if charset.are_plain(sys.stderr) else " ▏▎▍▌▋▊▉█",
                ncols=layout.window(sys.stderr) - 1,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()

    def hear(self, piece: Piece) -> None:
        """So much more."""
        if self._bar is not None:
            self._bar.update(bytes_of(piece.codes))

    def finish(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
