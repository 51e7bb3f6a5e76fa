"""Names to examples: unpack, decode, take a column, cut. Each text is in memory as a whole.

    lines        ab⏎⏎cd⏎ef    ->  ab■cd■ef■
    paragraphs   ab⏎cd⏎⏎⏎ef⏎  ->  ab⏎cd■ef■
    files        ab⏎cd⏎       ->  ab⏎cd⏎■

Examples are an array of code points with END_CODE (■) after each. Blank lines are dropped.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import io
import lzma
import os
import re
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import dropwhile, groupby, pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Kind, Reading
from charrnn.system.packaged import CORPORA, path_of
from charrnn.system.visible import did_you_mean
from charrnn.text.tidy import Tidied, clean, clean_lines
from charrnn.text.vocabulary import END_CODE, Codes, codes_of

COLUMN_SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}  # of tables
UNPACKERS: Final[dict[str, Callable[[], Any]]] = {  # by the suffix of a file
    ".gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    ".xz": lzma.LZMADecompressor,
    ".bz2": bz2.BZ2Decompressor,
}
LONE: Final = "\udfff"  # a lone surrogate, which no text has: it marks the gaps between paragraphs
LOOK: Final = 1 << 16  # characters that show how to cut a text


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def text_of(source: str, reading: Reading, tidied: Tidied | None = None) -> str:
    """Return the text of a file, or of standard input for "-", with a newline after each line.

    If the reading is tidy, lines are cleaned; with ``tidied``, some are also dropped.
    """
    name, data = name_of(source), bytes_of(source)
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
        text = column_of(text, reading.column, name)
    if reading.normalize != "none":
        text = unicodedata.normalize(reading.normalize, text)
    if reading.tidy:
        text = clean_lines(text) if tidied is None else tidied.tidy(text)
    return text


def bytes_of(source: str) -> bytes:
    """Return the bytes of a file, unpacked if its suffix says so, or of standard input."""
    name = name_of(source)
    try:
        if source == "-":
            return sys.stdin.buffer.read()
        with open(path_of(source), "rb") as file:
            data = file.read()
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
    begun, data = "", b"-"
    while data:
        data = stream.read1(1 << 20)
        try:
            *lines, begun = (begun + decoder.decode(data, not data)).split("\n")
        except UnicodeError as error:
            what = f"standard input is not {reading.encoding.upper()}: {error}"
            raise CorpusError(what, "Name the encoding of the text with [encoding].") from None
        lines += [begun] if begun and not data else []
        lines = [line.removesuffix("\r").lstrip("\ufeff") for line in lines]
        if reading.normalize != "none":
            lines = [unicodedata.normalize(reading.normalize, line) for line in lines]
        yield [clean(line)[0] for line in lines] if reading.tidy else lines


def column_of(text: str, column: str, name: str) -> str:
    """Return a column of a table as text, a line for each row; breaks in a field become spaces.

    A number counts columns from 1. Any other column is named in the first row, which is left out.
    The separator is the one that the first line has most of. Quotes enclose fields, except between
    tabs, where they are characters.
    """
    head = text.lstrip().split("\n", 1)[0]
    separator = max(COLUMN_SEPARATORS, key=head.count)
    is_tabbed = separator == "\t" and "\t" in head
    quoting: Literal[0, 3] = csv.QUOTE_NONE if is_tabbed else csv.QUOTE_MINIMAL
    table = csv.reader(io.StringIO(text, "\n"), delimiter=separator, quoting=quoting, strict=True)
    try:
        rows = [*dropwhile(lambda row: not "".join(row).strip(), table)]
    except csv.Error as error:
        what = f"{name} is not a table: line {table.line_num}, {error}"
        raise CorpusError(what, 'Mend that line; a " may have no end.') from None
    first = rows[0] if rows else []
    names = [*first, *(field.strip().casefold() for field in first)]  # as they are, or alike
    wanted = column if column in first else column.strip().casefold()
    if column.isdecimal():
        at = int(column) - 1
    else:
        at = names.index(wanted) % len(first) if wanted in names else len(first)
        rows = rows[1:]
    if first and at >= len(first):
        what = f"{name} has no column {column}; its first row is: {', '.join(first)[:200]}"
        raise CorpusError(what, "Give [column] one of its names, or a number from 1.")
    fields = (row[at] if at < len(row) else "" for row in rows)
    return "".join([re.sub("[\r\n]+", " ", field) + "\n" for field in fields])


def cut(text: str, kind: Kind) -> Codes:
    """Return the code points of the examples of a text, END_CODE after each."""
    if kind == "files":
        return np.append(codes_of(text), END_CODE) if text.strip() else codes_of("")
    end = "\n" if kind == "lines" else LONE  # of an example
    text = re.sub(r"\n(?:[^\S\n]*\n)+", end, f"\n{text}\n").strip(f"\n{LONE}")
    codes = codes_of(text + end if text else "")  # (S,)
    del text  # a large one takes much memory
    return np.where(codes == ord(end), END_CODE, codes)


def line_numbers(text: str, kind: Kind) -> NDArray[np.int64]:
    """Return the lines on which the examples of a text begin, from 1."""
    if kind == "files":
        return np.ones(1 if text.strip() else 0, np.int64)
    visible = np.array([bool(line.strip()) for line in text.split("\n")])
    if kind == "paragraphs":
        visible[1:] &= ~visible[:-1].copy()
    return np.flatnonzero(visible) + 1


def join(texts: Sequence[str]) -> Codes:
    """Return the code points of texts that are an example each, END_CODE after each."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return np.insert(codes_of("".join(texts)), ends, END_CODE)


def texts_of(codes: Codes) -> list[str]:
    """Return the texts of examples with END_CODE after each."""
    ends = np.flatnonzero(codes == END_CODE).tolist()
    data = np.where(codes == END_CODE, ord("\n"), codes).astype("<u4").tobytes()
    text = data.decode("utf-32-le", "surrogatepass")
    return [text[last_end + 1 : end] for last_end, end in pairwise([-1, *ends])]


def choose_cut(text: str) -> Literal["lines", "paragraphs"]:
    """Return the examples of a text that begins so: paragraphs if many are short, else lines.

    A paragraph has at most 16 lines on average: more is a chapter. One in ten has several lines:
    else the text is a list with gaps. In the groups of a list, lines have a word or two, and few
    groups end in a full stop or another mark.
    """
    lines = text[:LOOK].split("\n")
    lines = lines[:-1] if len(text) >= LOOK else lines  # the last one may be incomplete
    visible = [line.strip() for line in lines]
    groups = [list(group) for is_visible, group in groupby(visible, bool) if is_visible]
    long = sum(len(group) > 1 for group in groups)
    marked = sum(unicodedata.category(group[-1][-1])[0] not in "LMN" for group in groups)
    total, words = sum(map(len, groups)), sum(len(line.split()) for line in visible)
    is_list = 10 * long < len(groups) or (words <= 2 * total and 4 * marked < len(groups))
    is_prose = total <= 16 * len(groups) and not is_list
    return "paragraphs" if len(groups) >= 10 and is_prose else "lines"
