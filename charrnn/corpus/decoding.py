"""Bytes to text, a block at a time: decoded, line ends made alike, normalised if asked.

    bytes --decode--> str --CRLF, CR to LF--> --drop bad lines, BOM--> str --NFC, NFKC--> str

Each stage keeps back what the next block could still change, so that the text does not depend
on where the blocks were cut.

What is said of bytes that cannot be read as text: what they are, and how to read them.

Which encoding some bytes may have that are not UTF-8: a guess, from what they would read.

Each candidate reads the bytes, and what it reads is weighed: letters that are frequent in its
languages speak for it, rare ones and signs against it, and so do words that no one spells. That is
enough to tell apart what is offered to somebody who will look at it.

What a file is that is no text: told by how it begins.

Text made NFC or NFKC, block by block, as if it were done all at once.

Text is cut only before characters that join no other. There is one exception: a letter under a
heap of marks. Putting marks in order takes a time that grows with the square of their number, so
after every HEAP of them, counted from the first, the order begins anew. No language has so many."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.files import byte_blocks, name_of
from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading as Reading
from charrnn.vocabulary import codes_of

SAMPLE: Final = 4096  # bytes that are looked at
SHOWN: Final = 30  # characters of what would be read
BEFORE: Final = 10  # of them before the first that is not ASCII
PLAUSIBLE: Final = 0.5  # the weight of what is offered, at least
NEAR: Final = 0.8  # of the best one's, at least
OFFERED: Final = 3

Weigh = Callable[[str], float]


def _letters(frequent: str, rare: str = "", weight: float = 1.0) -> Weigh:
    weights = {
        **{letter.upper(): 0.4 * weight for letter in rare},
        **{letter.upper(): 0.8 * weight for letter in frequent},
        **dict.fromkeys("«»„“”’…–—", 0.5 * weight),
        **dict.fromkeys(rare, 0.4 * weight),
        **dict.fromkeys(frequent, weight),
    }
    return lambda character: weights.get(character, 0.0)


def _first_byte(character: str, encoding: str) -> int:
    try:
        return character.encode(encoding)[0]
    except UnicodeError:
        return 0


def _japanese(character: str) -> float:
    if "\u3040" <= character < "\u3100" or character in "、。「」・":
        return 1.0
    return 0.9 if 0xB0 <= _first_byte(character, "euc_jp") < 0xD0 else 0.1


def _simplified(character: str) -> float:
    if character in "，。、；：？！“”《》（）\u3000":
        return 0.95
    return 0.95 if 0xB0 <= _first_byte(character, "gb2312") < 0xD8 else 0.2


def _traditional(character: str) -> float:
    return 0.95 if 0xA1 <= _first_byte(character, "big5") < 0xC7 else 0.2


def _korean(character: str) -> float:
    return 1.0 if 0xB0 <= _first_byte(character, "euc_kr") < 0xC9 else 0.2


_russian = _letters("оеаинтсрвлкмдпу", "яыьгзбчйхжшюцщэфъёіїєґ")
_western = _letters("éèàçùâêîôûëïüöäßñáíóúåøæãõœ", "ìòýðþÿ")
_central = _letters("ąćęłńóśźżáčďéěíňřšťúůýžľőűöüäß", "ĺŕôâăîșţ", 0.9)
_turkish = _letters("ğşıçöüİ", "âîû", 0.95)
_greek = _letters("αοιετσνηυρπκμλςίόάέήύώγδ", "βζθξφχψϊϋΰ")
_hebrew = _letters("אבגדהוזחטיכלמנסעפצקרשת", "םןךףץ", 0.95)
_arabic = _letters("اليمونتربةعدسفكحهجقش", "صطخذضزءأإآئىثظغؤ", 0.8)

LATIN: Final = {"cp1252": _western, "cp1250": _central, "cp1254": _turkish}
ALPHABETS: Final = {
    "cp1251": _russian,
    "koi8-r": _russian,
    "cp866": _russian,
    "iso8859-5": _russian,
    "cp1253": _greek,
    "cp1255": _hebrew,
    "cp1256": _arabic,
}
IDEOGRAPHS: Final = {
    "shift_jis": _japanese,
    "euc_jp": _japanese,
    "gb18030": _simplified,
    "big5": _traditional,
    "euc_kr": _korean,
}
UTF8: Final[dict[str, Weigh]] = {"utf-8": lambda character: 2.0}  # never by chance


def likely(sample: bytes, but: str) -> list[tuple[str, str]]:
    """Encodings that may be meant, the likeliest first, each with what it would read.

    They are told from the first SAMPLE bytes. Never is the one among them that was tried.
    """
    tried = codecs.lookup(but).name
    weighed: list[tuple[float, str, str]] = []
    for encoding, weigh in {**UTF8, **LATIN, **ALPHABETS, **IDEOGRAPHS}.items():
        if codecs.lookup(encoding).name == tried:
            continue
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(sample[:SAMPLE])
        except UnicodeError:
            continue
        if all(text != other for _, _, other in weighed):  # or it says nothing new
            weighed.append((_weight(text, encoding, weigh), encoding, text))
    weighed.sort(key=lambda found: -found[0])
    best = max(PLAUSIBLE, NEAR * weighed[0][0]) if weighed else 0.0
    return [(name, _shown(text)) for weight, name, text in weighed[:OFFERED] if weight >= best]


def _weight(text: str, encoding: str, weigh: Weigh) -> float:
    strange = [character for character in text if not character.isascii()]
    if not strange:
        return 0.0
    spelt = encoding in LATIN or encoding in ALPHABETS
    odd = _odd_letters(text, encoding in LATIN) if spelt else 0
    return sum(map(weigh, strange)) / len(strange) * (1 - odd / len(strange))


def _odd_letters(text: str, is_latin: bool) -> int:
    """How many letters beyond ASCII stand where none does.

    Three accents in a row are rare in Latin. In other alphabets no ASCII letter comes before one in
    a word, nor a small letter before a capital.
    """
    odd = 0
    for two, one, letter in zip("  " + text, " " + text, text, strict=False):
        if letter.isascii() or not (letter.isalpha() and one.isalpha()):
            continue
        if is_latin:
            odd += two.isalpha() and not one.isascii() and not two.isascii()
        else:
            odd += one.isascii() or (one.islower() and letter.isupper())
    return odd


def _shown(text: str) -> str:
    """What stands around the first character beyond ASCII, on one line, nothing in it obeyed."""
    line = next(line for line in text.split("\n") if not line.isascii())
    first = next(at for at, character in enumerate(line) if not character.isascii())
    start = max(0, first - BEFORE)
    shown = line[start : start + SHOWN].strip()
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def wide(head: bytes) -> str | None:
    """The UTF-16 or UTF-32 without a mark that a file begins in: told by where the NULs stand."""
    head = head[: min(len(head), SAMPLE) // 4 * 4] or head[: len(head) // 2 * 2]
    nuls = [head[place::4].count(0) for place in range(4)]
    units = len(head) // 4
    if units and nuls[2] == nuls[3] == units:
        return "utf-32-le"
    if units and nuls[0] == nuls[1] == units:
        return "utf-32-be"
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    if not even + odd or (even and odd) or (even + odd < 16 and 4 * (even + odd) < len(head)):
        return None
    encoding = "utf-16-le" if odd else "utf-16-be"
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeError:
        return None
    return encoding


class FileKind(NamedTuple):
    """What it is, and how to come by the text in it."""

    name: str
    hint: str
    key: str = ""


UNPACK: Final = "Unpack it first."
SAVE_AS_TEXT: Final = "Save it as plain text first."
NO_TEXT: Final = "A corpus is text."

ZIPPED: Final = {  # by a name that stands in the archive
    b"word/": FileKind("a Word document (docx)", SAVE_AS_TEXT),
    b"xl/": FileKind("an Excel workbook (xlsx)", "Save its column of texts as plain text first."),
    b"ppt/": FileKind("a PowerPoint file (pptx)", SAVE_AS_TEXT),
    b"mimetypeapplication/epub": FileKind("an EPUB book", SAVE_AS_TEXT),
    b"mimetypeapplication/vnd.oasis": FileKind("an OpenDocument file", SAVE_AS_TEXT),
    b"charrnn.json": FileKind("a model of charrnn", "Name it as the model.", "model"),
    b".npy": FileKind("a NumPy archive (npz)", NO_TEXT),
    b"": FileKind("a zip archive", UNPACK),
}
BEGINNINGS: Final = {
    b"%PDF-": FileKind("a PDF", "Take the text out of it first, for instance with pdftotext."),
    b"\x89PNG\r\n\x1a\n": FileKind("a PNG image", NO_TEXT),
    b"\xff\xd8\xff": FileKind("a JPEG image", NO_TEXT),
    b"GIF8": FileKind("a GIF image", NO_TEXT),
    b"\x1f\x8b\x08": FileKind("packed twice: there is gzip in it", UNPACK),
    b"\xfd7zXZ\x00": FileKind("packed twice: there is xz in it", UNPACK),
    b"BZh": FileKind("packed twice: there is bzip2 in it", UNPACK),
    b"\x28\xb5\x2f\xfd": FileKind("packed with zstd", UNPACK),
    b"7z\xbc\xaf\x27\x1c": FileKind("a 7z archive", UNPACK),
    b"Rar!\x1a\x07": FileKind("a RAR archive", UNPACK),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": FileKind("an old Office document", SAVE_AS_TEXT),
    b"\x93NUMPY": FileKind("a NumPy array (npy)", NO_TEXT),
    b"\x7fELF": FileKind("a program (ELF)", NO_TEXT),
    b"SQLite format 3\x00": FileKind("an SQLite database", "Export its texts first."),
    b"PAR1": FileKind("a Parquet table", "Export its column of texts first."),
}
TAR_AT: Final = 257


def kind_of(head: bytes) -> FileKind | None:
    """What begins so, if it is one of those that are taken for a text now and then."""
    if head.startswith(b"PK\x03\x04"):
        return next(kind for name, kind in ZIPPED.items() if name in head)
    if head.startswith(b"ustar", TAR_AT):
        return FileKind("a tar archive", UNPACK)
    return next((kind for magic, kind in BEGINNINGS.items() if head.startswith(magic)), None)


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


HEAP: Final = 128  # marks
FIRST_MARK: Final = 0x300
MARKS_END: Final = 0x1F000  # there are none beyond


def normalized(texts: Iterable[str], form: Literal["NFC", "NFKC"]) -> Iterator[str]:
    """The same text in that form, however it was cut into blocks."""
    held: list[str] = []  # what a mark in the next block could still change
    marks = 0  # that it ends in
    for text in texts:
        start = 0
        cuts, marks = _heaps(text, marks)
        for cut in cuts:
            yield unicodedata.normalize(form, "".join([*held, text[start:cut]]))
            held, start = [], cut
        safe = _last_safe_cut(text, start)
        if safe is not None:
            yield unicodedata.normalize(form, "".join([*held, text[start:safe]]))
            held, start = [], safe
        held.append(text[start:])
    yield unicodedata.normalize(form, "".join(held))


def _heaps(text: str, before: int) -> tuple[list[int], int]:
    """Where each HEAP of marks in a row is full, some having stood before; those at the end."""
    if text.isascii():
        return [], 0 if text else before
    is_mark = _marks().take(codes_of(text), mode="clip")
    others = np.concatenate(([-1 - before], np.flatnonzero(~is_mark), [len(text)]))
    marks = np.diff(others) - 1
    cuts = [
        at
        for i in np.flatnonzero(marks >= HEAP).tolist()
        for at in range(int(others[i]) + 1 + HEAP, int(others[i + 1]) + 1, HEAP)
    ]
    return cuts, int(marks[-1]) % HEAP


@cache
def _marks() -> NDArray[np.bool_]:
    """By code point, whether it is a mark that changes places with others; the last is none."""
    places = [unicodedata.combining(chr(code)) for code in range(FIRST_MARK, MARKS_END)]
    return np.concatenate((np.zeros(FIRST_MARK, np.bool_), np.array(places) > 0, [False]))


def _last_safe_cut(text: str, start: int) -> int | None:
    """The last place before which nothing can reach across: at a character that joins no other."""
    safe = range(len(text) - 1, start - 1, -1)
    return next((at for at in safe if joins_nothing(text[at])), None)


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
