"""Names to texts: open, unpack, decode, take a column. Each text is in memory as a whole."""

import bz2
import codecs
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from charrnn.errors import CorpusError, EncodingError
from charrnn.settings.corpus import Normalization, Reading
from charrnn.system.packaged import CORPORA, path_of
from charrnn.system.visible import did_you_mean, either
from charrnn.text.tables import normalized, rows_of
from charrnn.text.tidy import Tidied, clean

Read = Callable[[str], bytes]
Warn = Callable[[str], object]
Mark = tuple[int, str]  # the size of a file and its SHA-256, by which it is known again

STREAMS: Final = ("/dev/stdin", "/dev/fd/", "/proc/")  # another file in each process
PACKINGS: Final[dict[str, tuple[bytes, Callable[[], Any]]]] = {  # by suffix: how data begins
    ".gz": (rb"\x1f\x8b\x08", lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)),
    ".xz": (rb"\xfd7zXZ\0", lzma.LZMADecompressor),
    ".bz2": (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", bz2.BZ2Decompressor),
}
TEXT_SUFFIXES: Final = (".txt", ".text", ".csv", ".tsv", ".md")  # that are no part of a label
ENCODINGS: Final = "utf-8", "latin-1", "utf-16-le"  # of most texts without a mark of UTF-16
UTF_16_MARKS: Final = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
NO_TEXTS: Final = {  # by how they begin: what they are, and what to do
    rb"PK\x03\x04(?s:.{26})charrnn\.json": ("a model, and no text", "Name a text."),
    rb"PK\x03\x04": ("a zip archive", "Unpack it, or save it as text, and name that."),
    rb"(?s:.{257})ustar(?:\x0000|  \0)": ("a tar archive", "Unpack it, and name its files."),
}
LONGEST_MARK: Final = 265  # bytes at the beginning of packed data, or of an archive
TIMES_UNPACKED, LEAST_ROOM = 64, 1 << 26  # bytes of unpacked data


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def text_of(source: str, reading: Reading, warn: Warn | None = None) -> str:
    """Return the whole text of a file, or of standard input for "-"."""
    return text_in(unpacked(content_of(source), source), source, reading, warn)


def text_in(data: bytes, source: str, reading: Reading, warn: Warn | None = None) -> str:
    """Return the text of the content of a source. A CR in it divides lines that LF ends."""
    if path_of(source) != source:  # of the package
        reading = replace(reading, encoding="utf-8")
    text = "".join(decoded([data], name_of(source), reading, warn))
    text = text if "\n" in text else text.replace("\r", "\n")
    return text if reading.column is not None else normalized(text, reading.normalize)


def read_typed(text: str, form: Normalization) -> str:
    """Return a text of the command line as it would be read from a file."""
    with suppress(UnicodeError):  # bytes that the locale cannot decode may be UTF-8
        text = os.fsencode(text).decode()
    return normalized(text.replace("\r\n", "\n").replace("\r", "\n"), form)


def labelled_texts(
    source: str, reading: Reading, tidied: Tidied, read: Read
) -> Iterator[tuple[str, str]]:
    """Yield label, or "", and text of a file, or of each label in a column of it.

    ``tidied`` knows the lines of earlier files. ``read`` returns the content of a source, unpacked.
    """
    texts = {"": text_in(read(source), source, reading)}
    if reading.column is not None:
        lines: dict[str, list[str]] = {}
        for _, field, label in rows_of(texts.pop(""), reading, name_of(source)):
            lines.setdefault(label, []).append(field + "\n")
        texts = {label: "".join(of_label) for label, of_label in lines.items()} or {"": ""}
    if reading.label_by == "file":
        texts = {label_of(source): texts[""]}
    for label, text in texts.items():
        text = text.replace("\r", "\n")
        yield label, tidied.tidy(text, label) if reading.tidy else text


def label_of(source: str) -> str:
    """Return the label of a file: its name without its folder and the usual suffixes."""
    if source == "-":
        what = "label_by file needs a name, and standard input has none"
        raise CorpusError(what, "Name a file, or a column with [label_by].", "label_by")
    name = os.path.basename(source)
    for suffixes in (tuple(PACKINGS), TEXT_SUFFIXES):
        stem, suffix = os.path.splitext(name)
        name = stem if stem and suffix.lower() in suffixes else name
    return name


def decoded(
    pieces: Iterable[bytes], name: str, reading: Reading, warn: Warn | None = None
) -> Iterator[str]:
    """Yield the text of bytes as they come, with LF for each CR LF and no BOM before it."""
    decoder = codecs.getincrementaldecoder(reading.encoding)()
    with_breaks = io.IncrementalNewlineDecoder(decoder, translate=False)
    size, ends, mark = 0, {"\n": 0, "\r": 0}, "\ufeff"
    for data in chain(pieces, [b""]):
        for beginning, (what, hint) in NO_TEXTS.items():
            if not size and re.match(beginning, data):
                raise CorpusError(f"{name} is {what}", hint)
        size += len(data)
        state = with_breaks.getstate()
        try:
            text = with_breaks.decode(data, not data)
        except UnicodeError as error:
            place = place_of(error, size, ends, reading)
            what = f"{name} is not {reading.encoding.upper()}: {place}"
            decoder.errors, text = "replace", ""
            with_breaks.setstate(state)
            with suppress(UnicodeError):  # there is no BOM
                text = with_breaks.decode(data, not data)
            if reading.errors == "strict" or not text:
                known = codecs.lookup(reading.encoding).name
                others = [name for name in ENCODINGS if name != known]
                if size == len(data) and data.startswith(UTF_16_MARKS) and known != "utf-16":
                    others, text = ["utf-16"], ""
                hint = f"Try [encoding] {either(others)}{', or [errors] replace' if text else ''}."
                raise EncodingError(what, hint) from None
            if warn is not None:
                warn(f"{what}; U+FFFD takes the place of such bytes")
        text = text.replace("\r\n", "\n") if "\r" in text else text  # which is quicker
        ends = {end: count + text.count(end) for end, count in ends.items()}
        if text:
            yield text.removeprefix(mark)
            mark = ""


def place_of(error: UnicodeError, size: int, ends: dict[str, int], reading: Reading) -> str:
    """Say where bytes cannot be decoded: ``size`` were read, after so many ``ends`` of lines."""
    if not isinstance(error, UnicodeDecodeError):
        return str(error)
    data = error.object[: error.start], error.object
    before, text = (part.decode(reading.encoding, "replace") for part in data)
    end = "\n" if ends["\n"] or "\n" in text else "\r"
    line = 1 + ends[end] + before.count(end)
    byte = size - len(error.object) + error.start
    return f"byte {byte}, in line {line}, is 0x{error.object[error.start]:02x}"


def content_of(source: str) -> bytes:
    """Return the bytes of a file as they are on the disk, or of standard input."""
    try:
        if source == "-":
            return sys.stdin.buffer.read()
        with open(path_of(source), "rb") as file:
            return file.read()
    except (OSError, ValueError, AttributeError) as error:  # the last: there is no sys.stdin
        what = f"{name_of(source)} cannot be read: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, FileNotFoundError):
            what = f"{source or 'a file without a name'} does not exist"
        hint = f"{did_you_mean(source, CORPORA)} Check the name, and the folder you are in."
        raise CorpusError(what, hint.strip()) from error


def is_kept(source: str) -> bool:
    """Return whether a source is a regular file, which can be read again under its name."""
    return source != "-" and not source.startswith(STREAMS) and os.path.isfile(path_of(source))


def packing_of(data: bytes) -> str | None:
    """Return the suffix for data that begins as packed data does."""
    return next((suffix for suffix, (mark, _) in PACKINGS.items() if re.match(mark, data)), None)


def unpacked(data: bytes, source: str, *, is_bounded: bool = False) -> bytes:
    """Return the content of all streams in packed data, and other data as it is."""
    suffix = packing_of(data) or os.path.splitext(source)[1]
    if suffix not in PACKINGS:
        return data
    room, pieces = TIMES_UNPACKED * len(data) + LEAST_ROOM, []
    while data:  # the modules of Python ignore a damaged stream after the first one
        stream = PACKINGS[suffix][1]()
        while not stream.eof:
            piece = b""
            with suppress(OSError, zlib.error, lzma.LZMAError):
                piece = stream.decompress(data, LEAST_ROOM)
            data = getattr(stream, "unconsumed_tail", b"")  # others than zlib keep it inside
            pieces.append(piece)
            room -= len(piece)
            is_torn, is_too_much = not (piece or stream.eof), is_bounded and room < 0
            if is_torn or is_too_much:
                why = "damaged or cut short" if is_torn else "far larger when it is unpacked"
                what = f"{name_of(source)} cannot be read: its {suffix} data is {why}"
                raise CorpusError(what, "Copy the text again, or unpack it and name that file.")
        data = stream.unused_data.lstrip(b"\0")  # which may follow a stream
    return b"".join(pieces)


def lines_of_input(reading: Reading, warn: Warn | None = None) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of standard input with their numbers, all that are there at once.

    Text without LF, in which CR ends lines, comes at the end.
    """
    unfinished, number = list[str](), 1  # pieces of a line, and its number
    for text in chain(decoded(pieces_of_input(), name_of("-"), reading, warn), [None]):
        first, *lines = [""] if text is None else text.split("\n")
        unfinished.append(first)
        if lines or (text is None and any(unfinished)):
            lines = ["".join(unfinished), *lines]
            unfinished = [] if text is None else [lines.pop()]
            if text is None:
                last = lines[0].removesuffix("\r")
                lines = [last] if number > 1 else last.split("\r")
            lines = [normalized(line, reading.normalize) for line in lines]
            rows = [(at, row) for at, line in enumerate(lines, number) for row in line.split("\r")]
            yield [(at, clean(row)[0] or row) for at, row in rows] if reading.tidy else rows
            number += len(lines)


def pieces_of_input() -> Iterator[bytes]:
    """Yield the bytes of standard input as soon as they come; packed data as a whole."""
    stream: Any = sys.stdin.buffer
    data = stream.readline(LONGEST_MARK)
    if packing_of(data):
        data = unpacked(data + stream.read(), "-")
    while data:
        yield data
        data = stream.read1(1 << 20)
