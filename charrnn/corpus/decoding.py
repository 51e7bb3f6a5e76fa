"""Bytes to text, block by block: decoded, with one kind of line end, normalised on request.

    bytes --decode--> str --CRLF, CR to LF--> --drop bad lines, BOM--> str --NFC, NFKC--> str

Each stage holds back the characters that the next block could still change.
"""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, Literal

from charrnn.corpus.files import byte_blocks, name_of
from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading

BOM: Final = "\ufeff"
WRONG: Final = "\udfff"  # marks undecodable bytes until their line is dropped; never in a text
HANDLERS: Final = {"strict": "strict", "replace": "replace", "skip": "charrnn.mark"}
HEAD: Final = 4096  # bytes kept from the beginning of a file, for the message


def blocks(source: str, reading: Reading) -> Iterator[str]:
    """Yield the text of a file, or of standard input for "-", in blocks that are never empty."""
    texts = _decode(source, reading)
    if reading.errors == "skip":
        texts = _drop_wrong_lines(texts, reading.wants_bytes_without_nul)
    texts = filter(None, texts)
    texts = chain((text.removeprefix(BOM) for text in islice(texts, 1)), texts)
    if reading.normalize != "none":
        texts = normalize(texts, reading.normalize)
    return filter(None, texts)


def _decode(source: str, reading: Reading) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(reading.encoding)(HANDLERS[reading.errors])
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    name, head = name_of(source), b""
    offset, line = 0, 1  # where the block begins
    for block in chain(byte_blocks(source), [b""]):  # an empty one is the last
        head = head if len(head) >= HEAD else head + block
        if reading.wants_bytes_without_nul:
            _check_bytes(name, reading, block, head, offset)
        try:
            text = decoder.decode(block, not block)
        except UnicodeError as error:
            end = offset + len(block)
            raise _undecodable(name, reading.encoding, error, head, end, line) from None
        if reading.newlines == "translate":
            text = newlines.decode(text, not block)
        yield text
        offset += len(block)
        line += text.count("\n")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return WRONG, error.end


codecs.register_error(HANDLERS["skip"], _mark)


def _drop_wrong_lines(texts: Iterator[str], without_nul: bool) -> Iterator[str]:
    """Drop each line with undecodable bytes, or NULs; a line is held back until it is whole."""
    is_wrong = re.compile(f"[\0{WRONG}]" if without_nul else WRONG).search

    def right_lines(text: str) -> str:
        if not is_wrong(text):
            return text
        return "\n".join(line for line in text.split("\n") if not is_wrong(line))

    held: list[str] = []
    for text in texts:
        cut = text.rfind("\n") + 1
        if cut:
            lines = "".join([*held, text[:cut]])
            held = []
            yield right_lines(lines)
        held.append(text[cut:])
    yield right_lines("".join(held))


# Characters that never combine with the one before them, in any form. All scripts with spaces have
# them in every word; Chinese and Japanese have them in every sentence.
SAFE: Final = "\0-\u02ff\u3400-\u9fff"
HEAP: Final = 1024  # characters in a row that may all be marks
_IS_SAFE: Final = re.compile(f"[{SAFE}]").match
_HEAP: Final = re.compile(f"[^{SAFE}]{{{HEAP}}}")


def normalize(texts: Iterable[str], form: Literal["NFC", "NFKC"]) -> Iterator[str]:
    """Yield the text in this form, cut only before safe characters: the result is exact.

    The one exception is a row of HEAP characters without a safe one, which no language has. It is
    cut there, because the time to put marks in order grows with the square of their number.
    """
    held = ""
    for text in texts:
        text, at = held + text, 0
        for heap in _HEAP.finditer(text):
            yield unicodedata.normalize(form, text[at : heap.end()])
            at = heap.end()
        places = range(len(text) - 1, at - 1, -1)
        last = next((place for place in places if _IS_SAFE(text, place)), at)
        yield unicodedata.normalize(form, text[at:last])
        held = text[last:]
    yield unicodedata.normalize(form, held)


MARKS: Final = {  # UTF-32 first: its mark begins with that of UTF-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
COMMON: Final = ("utf-8", "cp1252", "cp1251", "shift_jis", "gb18030", "euc_kr")  # encodings
FAR: Final = 1000  # bytes; beyond them, the beginning of a wrong line is not shown
SKIP: Final = "If only a few bytes are wrong, read on with [errors] replace, or skip."


def _check_bytes(name: str, reading: Reading, block: bytes, head: bytes, offset: int) -> None:
    """Raise CorpusError if the block shows a wider encoding or a binary file."""
    if offset == 0:
        for encoding, marks in MARKS.items():
            if block.startswith(marks):
                what = f"{name} looks like {encoding.upper()}"
                raise CorpusError(what, f"Try [encoding] {encoding}")
    nul = block.find(0)
    if nul >= 0 and reading.errors == "strict":
        what = f"{name} looks binary: there is a NUL at byte {offset + nul}"
        raise _not_a_text(name, head) or CorpusError(what, f"A corpus is text. {SKIP}")


def _not_a_text(name: str, head: bytes, encoding: str = "") -> CorpusError | None:
    """Return the error for a model file, or for UTF-16 without a mark; None for other bytes."""
    if head.startswith(b"PK\x03\x04") and b"charrnn.json" in head:
        hint = "Name a model with [model], or start a training from it with [start_from]."
        return CorpusError(f"{name} is a model of charrnn, not a text", hint)
    nuls = [head[first:HEAD:2].count(0) for first in (0, 1)]
    wide = "utf-16-le" if nuls[1] else "utf-16-be"
    if min(nuls) or 4 * max(nuls) < len(head[:HEAD]) or wide == encoding:
        return None
    return CorpusError(f"{name} looks like UTF-16 without its mark", f"Try [encoding] {wide}")


def _undecodable(
    name: str, encoding: str, error: UnicodeError, head: bytes, end: int, line: int
) -> CorpusError:
    """Return the error that names the first undecodable byte, its line and likely encodings.

    ``end`` is the offset of the first byte not yet read; the decoder's block begins in ``line``.
    """
    if (is_other := _not_a_text(name, head, encoding)) is not None:
        return is_other
    what, wrong_line = f"{name} is not {encoding.upper()}: {error}", head
    if isinstance(error, UnicodeDecodeError):
        block, start = error.object, error.start  # bytes held back before, then this block
        before = block[:start].decode(encoding, "replace")
        line += before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        offset = end - len(block) + start
        where = f"byte {offset}, in line {line}, is 0x{block[start]:02x}"
        what = f"{name} is not {encoding.upper()}: {where}"
        begins = max(block.rfind(newline, 0, start) for newline in (b"\n", b"\r")) + 1
        wrong_line = block[begins if start - begins < FAR else start :]
    offers = _offers(re.split(rb"[\r\n]", wrong_line, maxsplit=1)[0][:HEAD], encoding)
    if not offers:
        return CorpusError(what, f"Name the encoding of the text with [encoding]. {SKIP}")
    reads = "; or ".join(f"[encoding] {offer}, which reads '{text}'" for offer, text in offers)
    return CorpusError(what, f"Perhaps {reads}")


def _offers(line: bytes, tried: str) -> list[tuple[str, str]]:
    """Return the common encodings that can decode the line, each with the text it gives."""
    offers = []
    for encoding in COMMON:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(line)
        except UnicodeError:
            continue
        first = next((at for at, c in enumerate(text) if not c.isascii()), None)
        if first is None or codecs.lookup(encoding).name == codecs.lookup(tried).name:
            continue
        start = max(0, first - 10)
        shown = text[start : start + 30].strip()
        if all(c.isprintable() or c.isascii() for c in shown):
            offers.append((encoding, shown))
        if offers and encoding == "utf-8":  # never by chance
            break
    return offers
