"""Bytes to text, a block at a time: decoded, line ends made alike, normalised if asked.

    bytes --decode--> str --CRLF, CR to LF--> str --drop BOM--> str --NFC, NFKC--> str

Each stage keeps back what the next block could still change, so that the text does not depend
on where the blocks were cut.
"""

from __future__ import annotations

import codecs
import io
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal

from charrnn.corpus.sources import byte_blocks, name_of
from charrnn.errors import CorpusError
from charrnn.settings import Reading as Reading

BOM: Final = "\ufeff"
WIDE_MARKS: Final = {  # UTF-32 first: its mark begins with that of UTF-16
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def blocks(source: str, reading: Reading) -> Iterator[str]:
    """The text of a file, or of standard input for "-", in blocks that are never empty."""
    texts = _without_mark(_decoded(source, reading))
    if reading.normalize != "none":
        texts = _normalized(texts, reading.normalize)
    return filter(None, texts)


def _decoded(source: str, reading: Reading) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(reading.encoding)()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    offset = 0  # in bytes, of the block
    line = 1
    for block, last in _and_then_nothing(byte_blocks(source)):
        if reading.wants_bytes_without_nul:
            _check_kind(source, block, offset)
        try:
            text = decoder.decode(block, last)
        except UnicodeError as error:
            raise _not_decoded(source, reading.encoding, error, offset + len(block), line) from None
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


def _check_kind(source: str, block: bytes, offset: int) -> None:
    """Refuse what is no text in bytes, before a decoder calls it a wrong byte."""
    if offset == 0:
        for encoding, marks in WIDE_MARKS.items():
            if block.startswith(marks):
                raise CorpusError(
                    f"{name_of(source)} looks like {encoding}",
                    f"Try the encoding {encoding.lower()}",
                    "encoding",
                    encoding=encoding.lower(),
                )
    nul = block.find(0)
    if nul >= 0:
        raise CorpusError(
            f"{name_of(source)} looks binary: there is a NUL at byte {offset + nul}",
            "A corpus is text. For UTF-16 without a mark, try the encoding utf-16-le",
            "binary",
        )


def _not_decoded(
    source: str, encoding: str, error: UnicodeError, end: int, line: int
) -> CorpusError:
    """Where the text stops being text; `end` is the offset of the first byte not yet read."""
    what = f"{name_of(source)} is not {encoding.upper()}"
    other = "latin-1, cp1252 or utf-16" if encoding.lower().startswith("utf") else "utf-8"
    hint = f"If it is text in another encoding, name that: {other}"
    if not isinstance(error, UnicodeDecodeError):
        return CorpusError(f"{what}: {error}", hint, "decoding", other=other)
    # The decoder's object is what it had kept back and then this block, so it ends where we do.
    offset = end - len(error.object) + error.start
    before = error.object[: error.start].decode(encoding, "replace")
    line += len(before.replace("\r\n", "\n").replace("\r", "\n").split("\n")) - 1
    wrong = error.object[error.start]
    where = f"byte {offset}, in line {line}"
    return CorpusError(f"{what}: {where}, is 0x{wrong:02x}", hint, "decoding", other=other)


def _without_mark(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        if text:
            yield text.removeprefix(BOM)
            break
    yield from texts


def _normalized(texts: Iterator[str], form: Literal["NFC", "NFKC"]) -> Iterator[str]:
    held: list[str] = []  # what a mark in the next block could still change
    for text in texts:
        cut = _last_safe_cut(text)
        if cut is None:
            held.append(text)
            continue
        yield unicodedata.normalize(form, "".join([*held, text[:cut]]))
        held = [text[cut:]]
    yield unicodedata.normalize(form, "".join(held))


def _last_safe_cut(text: str) -> int | None:
    """The last place before which nothing can reach across: at a character that joins no other."""
    return next((at for at in range(len(text) - 1, -1, -1) if joins_nothing(text[at])), None)


def joins_nothing(character: str) -> bool:
    """Whether a character never melts into the one before it, whatever the form.

    Latin, Greek, Cyrillic, the Hebrew and Arabic letters, kana, ideographs and Hangul syllables:
    not all there are, but no text goes on for long without one of them, or a space.
    """
    return (
        character < "\u0300"
        or "\u0370" <= character < "\u0483"
        or "\u05d0" <= character < "\u05eb"
        or "\u0620" <= character < "\u064b"
        or "\u3041" <= character < "\u3097"
        or "\u30a1" <= character < "\u30fb"
        or "\u3400" <= character < "\ua000"
        or "\uac00" <= character < "\ud7a4"
    )
