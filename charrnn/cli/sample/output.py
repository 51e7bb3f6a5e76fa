"""Write samples to stdout as they are drawn.

A file or pipe gets the exact text. A terminal gets whole graphemes with control characters made
visible, and with --surprise in the colour of their surprisal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from charrnn.cli.console import Console
from charrnn.cli.sample.options import Options
from charrnn.text import Raw, Visible, goes_on, joined, visible

if TYPE_CHECKING:
    from charrnn.cli.terminal.colours import Painter
    from charrnn.sampling.sampler import Fragment, Sample

SOON = 0.01  # seconds between two writes: each takes about as long as drawing a character


class SampleWriter:
    """Writes samples, each soon after its last characters."""

    def __init__(self, options: Options, prime: str, console: Console, *, newlines: bool) -> None:
        """With ``newlines``, a blank line separates two samples."""
        self._output = console.out
        self._is_exact = options.raw or not console.out.is_terminal
        self._painter: Painter | None = None
        if options.surprise and not options.as_json:
            from charrnn.cli.terminal.colours import Painter

            self._painter = Painter(console.out)
            if self._painter.has_colours:
                console.say(Painter(console.err).legend())
        self._before = "" if options.hide_prime else prime
        between = "\n" if newlines and not options.null else ""
        self._next_before = between + self._before
        self._after = Visible("\0" if options.null else "\n")
        self._held, self._held_nats = "", 0.0  # the grapheme that is not complete
        self._waiting: list[Visible | Raw] = []
        self._flushed = float("-inf")

    def write(self, pieces: Iterable[Fragment | Sample]) -> None:
        """Write samples, or pieces of them, as they come."""
        has_begun = False
        try:
            for piece in pieces:
                if not has_begun:
                    has_begun = True
                    self._write(self._shown(self._before, [0.0] * len(self._before)))
                    self._before = self._next_before
                self._write(self._shown(piece.text, piece.nats))
                if piece.ended:
                    self._write(self._rest())
                    self._write(self._after)
                    has_begun = False
        finally:
            self._flush()

    def _shown(self, text: str, nats: Sequence[float]) -> Visible | Raw:
        if self._is_exact:
            return Raw(text)
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats, no character
            if not goes_on(self._held, character):
                ready.append(self._rest())
            self._held += character
            self._held_nats += surprisal
        return joined(ready)

    def _rest(self) -> Visible:
        held, nats = self._held, self._held_nats
        self._held, self._held_nats = "", 0.0
        return visible(held) if self._painter is None else self._painter.paint(held, nats)

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
