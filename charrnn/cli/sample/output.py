"""How samples get to stdout: as they are, or for the eyes, and what stands between them.

To a file or a pipe go the characters that were drawn. To a terminal go whole graphemes, their
control characters made visible, coloured by surprisal if that was asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from charrnn import text as graphemes
from charrnn.cli.console import Output
from charrnn.text import Raw, Visible, joined, visible

if TYPE_CHECKING:
    from charrnn.cli.terminal.colours import Painter
    from charrnn.sampling.sampler import Piece

NEWLINE: Final = Visible("\n")
SOON: Final = 0.01  # seconds until what is written is there: no eye sees more than a hundred steps


class Buffer:
    """Writes at once if it has been a while, else soon: handing over takes as long as drawing."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._texts: list[Visible | Raw] = []
        self._handed_over = float("-inf")

    def write(self, text: Visible | Raw) -> None:
        """Let the text be there soon, at the latest with the next one that is a while away."""
        self._texts.append(text)
        if time.monotonic() - self._handed_over >= SOON:
            self.flush()

    def flush(self) -> None:
        """Let everything be there now."""
        texts, self._texts = self._texts, []
        if any(texts):
            self._output.write(*texts)
        self._handed_over = time.monotonic()


class Style(Protocol):
    """How text is written, given the nats of each of its characters."""

    def add(self, text: str, nats: Sequence[float]) -> Visible | Raw:
        """What of it, and of what was held back, is to be written."""
        ...

    def rest(self) -> Visible | Raw:
        """What was held back."""
        ...


class AsItIs:
    """For files and pipes, and for a terminal with --raw."""

    def add(self, text: str, nats: Sequence[float]) -> Raw:
        return Raw(text)

    def rest(self) -> Raw:
        return Raw("")


class ForTerminal:
    """Grapheme by grapheme, made visible."""

    def __init__(self, painter: Painter | None = None) -> None:
        self.painter = painter
        self._held = ""
        self._nats = 0.0

    def add(self, text: str, nats: Sequence[float]) -> Visible:
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats and no character
            if not graphemes.goes_on(self._held, character):
                ready.append(self.rest())
            self._held += character
            self._nats += surprisal
        return joined(ready)

    def rest(self) -> Visible:
        held, nats = self._held, self._nats
        self._held, self._nats = "", 0.0
        return visible(held) if self.painter is None else self.painter.paint(held, nats)


@dataclass(frozen=True)
class Frame:
    """What is written around the samples."""

    before: str = ""  # each: the prime
    after: Visible = NEWLINE  # each
    between: str = ""  # two of them


def style_for(output: Output, *, raw: bool, painter: Painter | None) -> Style:
    """What the output needs."""
    if raw or not output.is_terminal:
        return AsItIs()
    return ForTerminal(painter if painter is not None and painter.has_colours else None)


class Samples:
    """Writes samples as they come, some and then some more."""

    def __init__(self, output: Output, style: Style, frame: Frame) -> None:
        self._output = output
        self._style = style
        self._frame = frame
        self._before = frame.before

    def write(self, pieces: Iterable[Piece]) -> None:
        """Write all of these."""
        buffer, style, frame = Buffer(self._output), self._style, self._frame
        has_begun = False
        try:
            for piece in pieces:
                if not has_begun:
                    has_begun = True
                    buffer.write(style.add(self._before, [0.0] * len(self._before)))
                    self._before = frame.between + frame.before
                buffer.write(style.add(piece.text, piece.nats))
                if piece.ended:
                    buffer.write(style.rest())
                    buffer.write(frame.after)
                    has_begun = False
        finally:
            buffer.flush()
