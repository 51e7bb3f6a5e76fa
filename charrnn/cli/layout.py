"""Facts in two columns, a name and what there is to say of it, wrapped to the window.

corpus     dinosaurs: 1,184 lines to learn from, 13,841
           characters, 54 symbols
network    2 layers of 128 units
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TextIO

from charrnn import escaping
from charrnn.cli import console

NARROW, WIDE = 20, 100  # columns that a text is set to at least, and at most
IN_A_FILE = 80  # which must not depend on the size of somebody's window
INDENT = 11
TOGETHER = "\u00a0"
BOLD, DIM, GREEN, YELLOW, BLUE, CYAN = "1", "2", "32", "33", "34", "36"

Fact = tuple[str, str]


def window(stream: TextIO) -> int:
    """The columns of the terminal; those of a file are always the same."""
    if not stream.isatty():
        return IN_A_FILE
    with suppress(ValueError, OSError):
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
        if columns > 0:  # some pseudo-terminals have none
            return columns
    return IN_A_FILE


def width(stream: TextIO) -> int:
    """The columns to set a text in: no line is too long to read."""
    return max(NARROW, min(window(stream) - 1, WIDE))


def paint(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, where the stream takes colours."""
    return f"\x1b[{style}m{text}\x1b[0m" if console.takes_colour(stream) else text


def rows(facts: Iterable[Fact], stream: TextIO) -> Iterator[str]:
    """The lines for these facts. A fact without a name goes on with the one before."""
    indent = indentation(stream)
    for name, text in facts:
        lead = " " * indent
        if name and indent < INDENT:
            yield paint(name, CYAN, stream)
        elif name:
            lead = paint(f"{name:{INDENT}}", CYAN, stream)
        for line in wrap(text, width(stream) - indent):
            yield lead + line
            lead = " " * indent


def indentation(stream: TextIO) -> int:
    """The columns before what is said; in a narrow window the name stands on a line above."""
    return INDENT if width(stream) >= 3 * INDENT else 2


def say(facts: Iterable[Fact], stream: TextIO) -> None:
    """Write these facts."""
    for line in rows(facts, stream):
        stream.write(line + "\n")
    stream.flush()


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of at most so many columns. TOGETHER is a space where no line ends."""
    lines = textwrap.wrap(escaping.visible_line(text), max(8, columns), break_on_hyphens=False)
    return [line.replace(TOGETHER, " ") for line in lines] or [""]


class Growing:
    """A fact of which there is more and more to say, each piece shown as it comes."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._stream = stream
        self._indent = " " * indentation(stream)
        self._left = self._room = width(stream) - len(self._indent)
        lead = paint(f"{name:{INDENT}}", CYAN, stream)
        self._write(lead if len(self._indent) == INDENT else f"{lead}\n{self._indent}")

    def add(self, piece: str) -> None:
        """Show one more, on a line of its own if there is no room beside the last."""
        gap = "" if self._left == self._room else "   "
        if len(gap) + len(piece) > self._left:
            self._write("\n" + self._indent)
            gap, self._left = "", self._room
        self._write(gap + piece)
        self._left -= len(gap) + len(piece)

    def close(self) -> None:
        """That was all."""
        self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
