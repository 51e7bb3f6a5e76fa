"""What is said of bytes that cannot be read as text: what they are, and how to read them."""

from __future__ import annotations

import codecs
from typing import Any, Final

from charrnn.corpus.binary_files import kind_of
from charrnn.corpus.encodings import likely, wide
from charrnn.errors import CorpusError

WIDE_MARKS: Final = {  # UTF-32 first: its mark begins with that of UTF-16
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
FAR: Final = 1000  # bytes into a line; what is wrong there is shown without its beginning


def marked_as_wide(name: str, head: bytes) -> CorpusError | None:
    """The mark of a wide encoding, where a narrow one was to be read."""
    for encoding, marks in WIDE_MARKS.items():
        if head.startswith(marks):
            return CorpusError(
                f"{name} looks like {encoding}",
                f"Try the encoding {encoding.lower()}",
                "encoding",
                encoding=encoding.lower(),
            )
    return None


def holds_nul(name: str, head: bytes, place: int) -> CorpusError:
    """A NUL where no text has one; `head` is how the file begins."""
    return _no_text(name, head) or CorpusError(
        f"{name} looks binary: there is a NUL at byte {place}", "A corpus is text.", "nul"
    )


def not_decoded(
    name: str, encoding: str, error: UnicodeError, head: bytes, end: int, line: int
) -> CorpusError:
    """Where the text stops being text; `end` is the offset of the first byte not yet read.

    `line` is that in which the decoder's block begins.
    """
    if (found := _no_text(name, head, encoding)) is not None:
        return found
    what = f"{name} is not {encoding.upper()}"
    if not isinstance(error, UnicodeDecodeError):
        return CorpusError(f"{what}: {error}", **_other_encoding(head, encoding))
    # The decoder's object is what it had kept back and then this block, so it ends where we do.
    block, start = error.object, error.start
    offset = end - len(block) + start
    line += line_ends(block[:start], encoding)
    begins = max(block.rfind(end, 0, start) for end in (b"\n", b"\r")) + 1
    sample = block[begins if start - begins < FAR else start :]
    return CorpusError(
        f"{what}: byte {offset}, in line {line}, is 0x{block[start]:02x}",
        **_other_encoding(sample, encoding),
    )


def line_ends(before: bytes, encoding: str) -> int:
    """How many lines end in what stands before the wrong byte."""
    try:
        text = before.decode(encoding, "replace")
    except UnicodeError:  # of a codec that replaces nothing, such as idna
        text = before.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _no_text(name: str, head: bytes, encoding: str = "utf-8") -> CorpusError | None:
    kind = kind_of(head)
    if kind is not None:
        return CorpusError(f"{name} is {kind.name}, not a text", kind.hint, kind.key)
    found = wide(head)
    if found in (None, encoding.lower()):
        return None
    return CorpusError(
        f"{name} looks like {found[:6].upper()} without its mark",
        f"Try the encoding {found}",
        "encoding",
        encoding=found,
    )


def _other_encoding(sample: bytes, but: str) -> dict[str, Any]:
    """What else it could be: the hint, its key, and what it offers."""
    offers = list(likely(sample, but))
    if not offers:
        return {
            "hint": "If it is text in another encoding, name that",
            "key": "other encoding",
        }
    reads = "; or ".join(f"{name}, which reads '{text}'" for name, text in offers)
    return {"hint": f"Perhaps {reads}", "key": "likely encodings", "offers": offers}
