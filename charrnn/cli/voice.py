"""How samples get to stdout: as they are, or for the eyes, and what stands between them.

To a file or a pipe go the characters that were drawn. To a terminal go whole graphemes, their
control characters made visible, coloured by surprisal if that was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from charrnn.cli import graphemes
from charrnn.cli.terminal import write_result

if TYPE_CHECKING:
    from charrnn.cli.heat import Painter
    from charrnn.sampling import Piece


class Voice(Protocol):
    """Something that takes text, and the nats of each of its characters."""

    def say(self, text: str, nats: Sequence[float]) -> None: ...
    def pause(self) -> None:
        """Keep nothing back."""


class Plain:
    """Text as it is."""

    def say(self, text: str, nats: Sequence[float]) -> None:
        if text:
            write_result(text, raw=True)

    def pause(self) -> None:
        pass


class Careful:
    """Text for a terminal, grapheme by grapheme."""

    def __init__(self, painter: Painter | None = None) -> None:
        self.painter = painter
        self._held = ""
        self._nats = 0.0

    def say(self, text: str, nats: Sequence[float]) -> None:
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats and no character
            if not graphemes.goes_on(self._held, character):
                ready.append(self._release())
            self._held += character
            self._nats += surprisal
        self._write("".join(ready))

    def pause(self) -> None:
        self._write(self._release())

    def _release(self) -> str:
        held, nats = self._held, self._nats
        self._held, self._nats = "", 0.0
        return held if self.painter is None else self.painter.paint(held, nats)

    def _write(self, text: str) -> None:
        if text:
            write_result(text, raw=self.painter is not None)


@dataclass(frozen=True)
class Frame:
    """What is written around the samples."""

    before: str = ""  # each: the prime
    after: str = "\n"  # each
    between: str = ""  # two of them


def voice_for(*, raw: bool, painter: Painter | None) -> Voice:
    """The voice that stdout needs."""
    if raw or not sys.stdout.isatty():
        return Plain()
    return Careful(painter if painter is not None and painter.has_colours else None)


def tell(pieces: Iterable[Piece], voice: Voice, frame: Frame) -> None:
    """Say all of it as it comes."""
    begun = False
    opening = frame.before
    for piece in pieces:
        if not begun:
            begun = True
            voice.say(opening, [0.0] * len(opening))
            opening = frame.between + frame.before
        voice.say(piece.text, piece.nats)
        if piece.ended:
            voice.pause()
            write_result(frame.after, raw=True)
            begun = False
