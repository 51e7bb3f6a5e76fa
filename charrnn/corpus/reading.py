"""Bytes to text, a block at a time: decoded, line ends made alike, normalised if asked.

    bytes --decode--> str --CRLF, CR to LF--> --drop bad lines, BOM--> str --NFC, NFKC--> str

Each stage keeps back what the next block could still change, so that the text does not depend
on where the blocks were cut.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from typing import Final

from charrnn.corpus.encodings import SAMPLE
from charrnn.corpus.normalization import normalized
from charrnn.corpus.sources import byte_blocks, name_of
from charrnn.corpus.undecodable import holds_nul, marked_as_wide, not_decoded
from charrnn.settings.corpus import Reading as Reading

BOM: Final = "\ufeff"
WRONG: Final = "\udfff"  # stands for wrong bytes until their line is left out; in no text
HANDLERS: Final = {"strict": "strict", "replace": "replace", "skip": "charrnn.mark"}


def blocks(source: str, reading: Reading) -> Iterator[str]:
    """The text of a file, or of standard input for "-", in blocks that are never empty."""
    texts = _decoded(source, reading)
    if reading.errors == "skip":
        texts = _without_wrong_lines(texts, reading.wants_bytes_without_nul)
    texts = _without_mark(texts)
    if reading.normalize != "none":
        texts = normalized(texts, reading.normalize)
    return filter(None, texts)


def _decoded(source: str, reading: Reading) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(reading.encoding)(HANDLERS[reading.errors])
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    name, head = name_of(source), b""  # what it begins with tells what it is
    offset = 0  # in bytes, of the block
    line = 1
    for block, last in _and_then_nothing(byte_blocks(source)):
        head = head if len(head) >= SAMPLE else head + block
        if reading.wants_bytes_without_nul:
            _check(name, reading, block, head, offset)
        try:
            text = decoder.decode(block, last)
        except UnicodeError as error:
            end = offset + len(block)
            raise not_decoded(name, reading.encoding, error, head, end, line) from None
        if reading.newlines == "translate":
            text = newlines.decode(text, last)
        yield text
        offset += len(block)
        line += text.count("\n")


def _and_then_nothing(stream: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The blocks, then an empty one marked as the last."""
    for block in stream:
        yield block, False
    yield b"", True


def _check(name: str, reading: Reading, block: bytes, head: bytes, offset: int) -> None:
    """Refuse what is no text in bytes, before a decoder calls it a wrong byte."""
    if offset == 0 and (found := marked_as_wide(name, block)) is not None:
        raise found
    nul = block.find(0)
    if nul >= 0 and reading.errors == "strict":
        raise holds_nul(name, head, offset + nul)


def _marked(error: UnicodeError) -> tuple[str, int]:
    """What stands for the wrong bytes, and where to go on."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return WRONG, error.end


codecs.register_error(HANDLERS["skip"], _marked)


def _without_wrong_lines(texts: Iterator[str], without_nul: bool) -> Iterator[str]:
    """The text without the lines that hold wrong bytes; a line is kept back until it is whole."""
    is_wrong = re.compile(f"[\0{WRONG}]" if without_nul else WRONG).search
    held: list[str] = []
    for text in texts:
        cut = text.rfind("\n") + 1
        if cut:
            lines = "".join([*held, text[:cut]])
            held = []
            yield _right_lines(lines, is_wrong)
        held.append(text[cut:])
    yield _right_lines("".join(held), is_wrong)


def _right_lines(text: str, is_wrong: Callable[[str], object]) -> str:
    if not is_wrong(text):
        return text
    return "\n".join(line for line in text.split("\n") if not is_wrong(line))


def _without_mark(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        if text:
            yield text.removeprefix(BOM)
            break
    yield from texts
