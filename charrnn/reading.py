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
import lzma
import os
import re
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from itertools import groupby, pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from charrnn.errors import CorpusError
from charrnn.settings import Kind, Reading
from charrnn.system import NAMES, path_of
from charrnn.text import question
from charrnn.tidy import Tidied, clean, clean_lines
from charrnn.vocabulary import Codes, codes_of

SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}  # of tables
UNPACKERS: Final[dict[str, Callable[[], Any]]] = {  # by the suffix of a file
    ".gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    ".xz": lzma.LZMADecompressor,
    ".bz2": bz2.BZ2Decompressor,
}

END_CODE: Final = np.uint32(0x110000)  # the first number that is not a code point
NEWLINE: Final = np.uint32(ord("\n"))
LONE: Final = "\udfff"  # a lone surrogate, which no text has: it marks the gaps between paragraphs
LOOK: Final = 1 << 16  # characters that show how to cut a text


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def text_of(source: str, reading: Reading, tidied: Tidied | None = None) -> str:
    """Return the text of a file, or of standard input for "-".

    If the reading is tidy, lines are cleaned; with ``tidied``, some are also dropped.
    """
    name = name_of(source)
    text = _decoded(_bytes_of(source), reading, name)
    if reading.column is not None:
        text = column_of(text, reading.column, name)
    if reading.normalize != "none":
        text = unicodedata.normalize(reading.normalize, text)
    if reading.tidy:
        text = clean_lines(text) if tidied is None else tidied.tidy(text)
    return text


def _bytes_of(source: str) -> bytes:
    """Return the bytes of a file or of standard input; a suffix says how they are packed."""
    name = name_of(source)
    try:
        if source == "-":
            return sys.stdin.buffer.read()
        with open(path_of(source), "rb") as file:
            data = file.read()
        return _unpacked(data, os.path.splitext(source)[1])
    except (OSError, ValueError, AttributeError) as error:  # the last: there is no sys.stdin
        what = f"{name} cannot be read: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, FileNotFoundError):
            what = f"{name or 'a file without a name'} does not exist"
        near = question(get_close_matches(source, NAMES))
        hint = f"{near}Check the name, and the folder you are in."
        raise CorpusError(what, hint) from error


def _unpacked(data: bytes, suffix: str) -> bytes:
    """Return the content of all streams in a packed file. NULs may follow a stream.

    The modules of Python ignore a damaged stream after the first one. This loop reads every stream.
    """
    if suffix not in UNPACKERS:
        return data
    parts = []
    while data:
        stream = UNPACKERS[suffix]()
        try:
            parts.append(stream.decompress(data))
        except (OSError, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"its {suffix} data is damaged ({error})") from None
        if not stream.eof:
            raise ValueError(f"its {suffix} data is cut short")
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(parts)


def _decoded(data: bytes, reading: Reading, name: str) -> str:
    """Return the text of these bytes, with a newline at the end of each line."""
    try:
        text = data.decode(reading.encoding, reading.errors)
    except UnicodeError as error:
        where = str(error)
        if isinstance(error, UnicodeDecodeError):
            before = data[: error.start].decode(reading.encoding, "replace")
            line = len(re.findall("\r\n?|\n", before)) + 1
            where = f"byte {error.start}, in line {line}, is 0x{data[error.start]:02x}"
        what = f"{name} is not {reading.encoding.upper()}: {where}"
        hint = "Try [encoding] latin-1 or utf-16, or [errors] replace."
        raise CorpusError(what, hint) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


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
    blank = len(text) - len(re.sub(r"\A(?:[^\S\n]*\n)+", "", text))
    lines = text[blank:].removesuffix("\n").split("\n")
    separator = max(SEPARATORS, key=lines[0].count)
    has_tabs = separator in lines[0] and separator == "\t"
    quoting: Literal[0, 3] = csv.QUOTE_NONE if has_tabs else csv.QUOTE_MINIMAL
    ended = (f"{line}\n" for line in lines)
    table = csv.reader(ended, delimiter=separator, quoting=quoting, strict=True)
    try:
        first, *rows = table
    except csv.Error as error:
        line = text.count("\n", 0, blank) + table.line_num
        what = f"{name} is not a table: line {line}, {error}"
        raise CorpusError(what, 'Mend that line; a " may have no end.') from None
    if column.isdecimal():
        at, rows = int(column) - 1, [first, *rows]
    else:
        names = [*first, *(field.strip().casefold() for field in first)]  # as they are, or alike
        wanted = column if column in first else column.strip().casefold()
        at = names.index(wanted) % len(first) if wanted in names else len(first)
    if first and at >= len(first):
        what = f"{name} has no column {column}; its first row is: {', '.join(first)[:200]}"
        raise CorpusError(what, "Give [column] one of its names, or a number from 1.")
    fields = (row[at] if at < len(row) else "" for row in rows)
    return "".join([re.sub("[\r\n]+", " ", field) + "\n" for field in fields]) if first else ""


def cut(text: str, kind: Kind) -> Codes:
    """Return the code points of the examples of a text, END_CODE after each."""
    if kind == "files":
        return np.append(codes_of(text), END_CODE) if text.strip() else codes_of("")
    end = "\n" if kind == "lines" else LONE  # of an example
    text = re.sub(r"\n(?:[^\S\n]*\n)+", end, f"\n{text}\n").strip(f"\n{LONE}")
    codes = codes_of(text + end if text else "")  # (S,)
    del text  # a large one takes much memory
    ended: Codes = np.where(codes == ord(end), END_CODE, codes)
    return ended


def line_numbers(text: str, kind: Kind) -> NDArray[np.int64]:
    """Return the lines on which the examples of a text begin, from 1."""
    if kind == "files":
        return np.ones(1 if text.strip() else 0, np.int64)
    visible = np.array([bool(line.strip()) for line in text.split("\n")])
    if kind == "paragraphs":
        visible[1:] &= ~visible[:-1].copy()
    return np.flatnonzero(visible) + 1


def join(texts: Iterable[str]) -> Codes:
    """Return the code points of texts that are an example each, END_CODE after each."""
    listed = list(texts)
    ends = np.cumsum([len(text) for text in listed], dtype=np.int64)
    return np.insert(codes_of("".join(listed)), ends, END_CODE)


def texts_of(codes: Codes) -> list[str]:
    """Return the texts of examples with END_CODE after each."""
    ends = np.flatnonzero(codes == END_CODE).tolist()
    data = np.where(codes == END_CODE, NEWLINE, codes).astype("<u4").tobytes()
    text = data.decode("utf-32-le", "surrogatepass")
    return [text[before + 1 : end] for before, end in pairwise([-1, *ends])]


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
