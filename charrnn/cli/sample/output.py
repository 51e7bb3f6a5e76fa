"""Write samples to stdout: exactly as drawn to a file or pipe, made visible on a terminal.

On a terminal, whole graphemes are written with control characters made visible, and with
--surprise in the colour of their surprisal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from charrnn import text as graphemes
from charrnn.cli.console import Output
from charrnn.text import Raw, Visible, joined, visible

if TYPE_CHECKING:
    from charrnn.cli.terminal.colours import Painter
    from charrnn.sampling.sampler import Fragment

SOON: Final = 0.01  # seconds between two writes: each takes about as long as drawing a character


class Style(Protocol):
    """A way to write text."""

    def add(self, text: str, nats: Sequence[float]) -> Visible | Raw:
        """Return the text that is complete; ``nats`` has the surprisal of each character."""
        ...

    def rest(self) -> Visible | Raw:
        """Return the text that ``add`` held back."""
        ...


class Exact:
    """The exact text: for files and pipes, and for a terminal with --raw."""

    def add(self, text: str, nats: Sequence[float]) -> Raw:
        return Raw(text)

    def rest(self) -> Raw:
        return Raw("")


class ForTerminal:
    """Whole graphemes, made visible and coloured."""

    def __init__(self, painter: Painter | None = None) -> None:
        self.painter = painter
        self._held = ""
        self._nats = 0.0

    def add(self, text: str, nats: Sequence[float]) -> Visible:
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats, no character
            if not graphemes.goes_on(self._held, character):
                ready.append(self.rest())
            self._held += character
            self._nats += surprisal
        return joined(ready)

    def rest(self) -> Visible:
        held, nats = self._held, self._nats
        self._held, self._nats = "", 0.0
        return visible(held) if self.painter is None else self.painter.paint(held, nats)


def style_for(output: Output, *, raw: bool, painter: Painter | None) -> Style:
    """Return the style that suits the output."""
    if raw or not output.is_terminal:
        return Exact()
    return ForTerminal(painter if painter is not None and painter.has_colours else None)


class SampleWriter:
    """Writes samples as they are drawn, each soon after its last characters."""

    def __init__(
        self, output: Output, style: Style, *, before: str, after: str, between: str
    ) -> None:
        """Write ``before`` (the prime) and ``after`` around each sample, ``between`` any two."""
        self._output = output
        self._style = style
        self._before = before
        self._next_before = between + before
        self._after = Visible(after)
        self._waiting: list[Visible | Raw] = []
        self._flushed = float("-inf")

    def write(self, pieces: Iterable[Fragment]) -> None:
        """Write all of these."""
        style = self._style
        has_begun = False
        try:
            for piece in pieces:
                if not has_begun:
                    has_begun = True
                    self._write(style.add(self._before, [0.0] * len(self._before)))
                    self._before = self._next_before
                self._write(style.add(piece.text, piece.nats))
                if piece.ended:
                    self._write(style.rest())
                    self._write(self._after)
                    has_begun = False
        finally:
            self._flush()

    def _write(self, text: Visible | Raw) -> None:
        """Write at once if the last write was a while ago, else with one of the next texts."""
        self._waiting.append(text)
        if time.monotonic() - self._flushed >= SOON:
            self._flush()

    def _flush(self) -> None:
        texts, self._waiting = self._waiting, []
        if any(texts):
            self._output.write(*texts)
        self._flushed = time.monotonic()
