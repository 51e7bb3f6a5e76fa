"""The text that a sample goes on from, read as the corpus was."""

from __future__ import annotations

import os
import unicodedata
from contextlib import suppress

from charrnn.cli.console import Talk
from charrnn.corpus.reading import Reading, blocks
from charrnn.sampling.sampler import REACH
from charrnn.vocabulary import Vocabulary

NAMED = 12  # of the characters that were never seen


def as_read(text: str, reading: Reading) -> str:
    """A text from the command line, with newlines and letters as a corpus would have them."""
    text = as_typed(text)
    if reading.newlines == "translate":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if reading.normalize == "none" else unicodedata.normalize(reading.normalize, text)


def as_typed(text: str) -> str:
    """The text. Bytes that the locale has no letters for are those of UTF-8, if they can be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        with suppress(UnicodeDecodeError):
            return os.fsencode(text).decode()
    return text


def from_file(source: str, reading: Reading, examples_are: str) -> str:
    """The text of a file. Where examples are lines, a newline at its end is none of the text."""
    text = "".join(blocks(source, reading))
    return text.removesuffix("\n") if examples_are in ("lines", "texts") else text


def note(prime: str, vocabulary: Vocabulary, talk: Talk) -> None:
    """Say what of a prime cannot be taken as it is."""
    if len(prime) > REACH:
        talk.note(f"the prime is long: its last {REACH:,} characters are read, and no more matter")
    unknown = vocabulary.unknown_in(prime)
    if unknown:
        names = " ".join(f"{character} (U+{ord(character):04X})" for character in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        talk.note(f"never seen in training, and read as unknown: {names}{more}")
