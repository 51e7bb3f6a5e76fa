"""How samples get to stdout: as they are, or for the eyes, and what stands between them.

To a file or a pipe go the characters that were drawn. To a terminal go whole graphemes, their
control characters made visible, coloured by surprisal if that was asked for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from charrnn import escaping, graphemes
from charrnn.cli.console import write_result

if TYPE_CHECKING:
    from charrnn.cli.surprisal_colours import Painter
    from charrnn.sampling.sampler import Piece

SOON: Final = 0.01  # seconds until what is written is there: no eye sees more than a hundred steps


class Pen:
    """Writes at once if it has been a while, else soon: handing over takes as long as drawing."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._handed_over = float("-inf")

    def write(self, text: str) -> None:
        """Let the text be there soon, at the latest with the next one that is a while away."""
        self._texts.append(text)
        if time.monotonic() - self._handed_over >= SOON:
            self.hand_over()

    def hand_over(self) -> None:
        """Let everything be there now."""
        text = "".join(self._texts)
        self._texts.clear()
        if text:
            write_result(text, raw=True)
        self._handed_over = time.monotonic()


class Voice(Protocol):
    """Something that takes text, and the nats of each of its characters."""

    def say(self, text: str, nats: Sequence[float]) -> str:
        """What of it, and of what was held back, is to be written."""
        ...

    def pause(self) -> str:
        """What was held back."""
        ...


class Plain:
    """Text as it is."""

    def say(self, text: str, nats: Sequence[float]) -> str:
        return text

    def pause(self) -> str:
        return ""


class Careful:
    """Text for a terminal, grapheme by grapheme."""

    def __init__(self, painter: Painter | None = None) -> None:
        self.painter = painter
        self._held = ""
        self._nats = 0.0

    def say(self, text: str, nats: Sequence[float]) -> str:
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats and no character
            if not graphemes.goes_on(self._held, character):
                ready.append(self.pause())
            self._held += character
            self._nats += surprisal
        return "".join(ready)

    def pause(self) -> str:
        held, nats = self._held, self._nats
        self._held, self._nats = "", 0.0
        return escaping.visible(held) if self.painter is None else self.painter.paint(held, nats)


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
    pen = Pen()
    begun = False
    opening = frame.before
    try:
        for piece in pieces:
            if not begun:
                begun = True
                pen.write(voice.say(opening, [0.0] * len(opening)))
                opening = frame.between + frame.before
            pen.write(voice.say(piece.text, piece.nats))
            if piece.ended:
                pen.write(voice.pause() + frame.after)
                begun = False
    finally:
        pen.hand_over()
