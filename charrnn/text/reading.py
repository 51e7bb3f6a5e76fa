"""Names to texts: open, unpack, decode, take a column. Each text is in memory as a whole."""

import bz2
import codecs
import lzma
import os
import re
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, Final

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.system.packaged import CORPORA, path_of
from charrnn.system.visible import did_you_mean
from charrnn.text.tables import column_of
from charrnn.text.tidy import Tidied, clean

Read = Callable[[str], bytes]
Mark = tuple[int, str]  # the size of a file and its SHA-256, by which it is known again

STREAMS: Final = ("/dev/stdin", "/dev/fd/", "/proc/")  # another file in each process
UNPACKERS: Final[dict[str, Callable[[], Any]]] = {  # by the suffix of a file
    ".gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    ".xz": lzma.LZMADecompressor,
    ".bz2": bz2.BZ2Decompressor,
}


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def text_of(
    source: str, reading: Reading, tidied: Tidied | None = None, read: Read | None = None
) -> str:
    """Return the text of a file, or of standard input for "-", with a newline after each line.

    If the reading is tidy, lines are cleaned, and some dropped: ``tidied`` has seen those before.
    ``read`` returns the content of a source, if that is not just what is typed.
    """
    name, data = name_of(source), bytes_of(source, read or content_of)
    try:
        text = data.decode(reading.encoding, reading.errors)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(reading.encoding, "replace")
        line = len(re.findall("\r\n?|\n", before)) + 1
        place = f"byte {error.start}, in line {line}, is 0x{data[error.start]:02x}"
        what = f"{name} is not {reading.encoding.upper()}: {place}"
        raise CorpusError(what, "Try [encoding] latin-1 or utf-16, or [errors] replace.") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if reading.column is not None:
        text, _ = column_of(text, reading.column, name)
    if reading.normalize != "none":
        text = unicodedata.normalize(reading.normalize, text)
    if reading.tidy:
        text = (tidied or Tidied()).tidy(text)
    return text


def content_of(source: str) -> bytes:
    """Return the bytes of a file as they are on the disk, or of standard input."""
    if source == "-":
        return sys.stdin.buffer.read()
    with open(path_of(source), "rb") as file:
        return file.read()


def is_kept(source: str) -> bool:
    """Return whether a source is a regular file, which can be read again under its name."""
    is_stream = source == "-" or source.startswith(STREAMS)
    return not is_stream and os.path.isfile(path_of(source))


def bytes_of(source: str, read: Read) -> bytes:
    """Return the bytes of a file, unpacked if its suffix says so, or of standard input."""
    name = name_of(source)
    try:
        data = read(source)
        suffix = os.path.splitext(source)[1]
        return unpacked(data, suffix) if suffix in UNPACKERS else data
    except (OSError, ValueError, AttributeError) as error:  # the last: there is no sys.stdin
        what = f"{name} cannot be read: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, FileNotFoundError):
            what = f"{name or 'a file without a name'} does not exist"
        near = did_you_mean(get_close_matches(source, CORPORA))
        raise CorpusError(what, f"{near}Check the name, and the folder you are in.") from error


def unpacked(data: bytes, suffix: str) -> bytes:
    """Return the content of all streams in a packed file. NULs may follow a stream.

    The modules of Python ignore a damaged stream after the first one. This loop reads every stream.
    """
    contents = []
    while data:
        stream = UNPACKERS[suffix]()
        with suppress(OSError, zlib.error, lzma.LZMAError):
            contents.append(stream.decompress(data))
        if not stream.eof:
            raise ValueError(f"its {suffix} data is damaged or cut short")
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(contents)


def lines_of_input(reading: Reading) -> Iterator[list[str]]:
    """Yield the lines of standard input as soon as they come, all that are there at once."""
    decoder = codecs.getincrementaldecoder(reading.encoding)(reading.errors)
    stream: Any = sys.stdin.buffer
    unfinished, data = "", b"-"
    while data:
        data = stream.read1(1 << 20)
        try:
            *lines, unfinished = (unfinished + decoder.decode(data, not data)).split("\n")
        except UnicodeError as error:
            what = f"standard input is not {reading.encoding.upper()}: {error}"
            raise CorpusError(what, "Name the encoding of the text with [encoding].") from None
        lines += [unfinished] if unfinished and not data else []
        lines = [line.removesuffix("\r").lstrip("\ufeff") for line in lines]
        if reading.normalize != "none":
            lines = [unicodedata.normalize(reading.normalize, line) for line in lines]
        yield [clean(line)[0] for line in lines] if reading.tidy else lines
