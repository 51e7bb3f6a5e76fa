"""Columns of tables: which one to read, and lines that look like rows of a table."""

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Final, Literal

from charrnn.errors import CorpusError, NoColumnError
from charrnn.settings.corpus import Normalization, Reading
from charrnn.system.visible import did_you_mean
from charrnn.text.tidy import HEADINGS

COLUMN_SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}
SEPARATOR_OR_QUOTED: Final = re.compile(
    r'[,;\t\n]|(?<![^,;\t\n])"[^"]*+(?:""[^"]*+)*+"(?=[,;\t\n]|\Z)'
)
LARGEST_FIELD: Final = (1 << 31) - 1  # the most that csv takes everywhere
ENOUGH_LINES: Final = 10  # lines that show what all lines have in common
NEARLY_ALL: Final = 0.95
Row = tuple[int, str, str]  # the line on which it begins, a text, and its label or ""


def rows_of(text: str, reading: Reading, name: str) -> list[Row]:
    """Return the rows of a table; where they have labels, those with a text.

    A number counts columns from 1. Any other column is named in the first row, which is left out.
    """
    columns, (table, broken) = [str(reading.column)], fields_of(text, name)
    if reading.label_by not in (None, "file"):
        columns.append(str(reading.label_by))
    if (form := reading.normalize) != "none":  # which may make a comma: not of the table as a whole
        columns = [normalized(column, form) for column in columns]
        table = [(line, [normalized(field, form) for field in fields]) for line, fields in table]
    first = table[0][1] if table else []
    words: Sequence[list[str]] = ([], ["file"])  # beside names of columns
    places = [place_of(*pair, first, name) for pair in zip(columns, words, strict=False)]
    if broken is not None:
        raise broken if table else NoColumnError(broken.what, broken.hint_pattern)
    if not all(column.isdecimal() for column in columns):  # the first row has the names
        table = table[1:]
    rows = []
    for line, fields in table:
        texts = [fields[at] if at < len(fields) else "" for at in places]
        field, *label = (re.sub("[\r\n]+", " ", text) for text in texts)  # each on one line
        if label and field.strip() and not label[0].strip():
            what = f"line {line} of {name} has a text and no label"
            raise CorpusError(what, "Fill that field, or leave the line out.")
        if field.strip() or not label:
            rows.append((line, field, "".join(label).strip()))
    return rows


def normalized(text: str, form: Normalization) -> str:
    return text if form == "none" else unicodedata.normalize(form, text)


def lines_in(text: str) -> Sequence[int]:
    """Return the line on which each piece between breaks begins, as sed counts: LF ends a line."""
    if "\r" not in text:
        return range(1, text.count("\n") + 2)
    return [*accumulate((end == "\n" for end in re.findall("[\r\n]", text)), initial=1)]


def fields_of(text: str, name: str) -> tuple[list[tuple[int, list[str]]], CorpusError | None]:
    """Return the rows of a table, the first with text first, and on which line each begins.

    Where a row is broken, return those above it, and the error.

    The separator is the one that the first row has most of outside its quotes. These enclose
    fields, except between tabs, where they are characters.
    """
    numbers, text = lines_in(text), text.replace("\r", "\n")
    visible = re.search(r"^.*\S", text, re.MULTILINE)
    found = SEPARATOR_OR_QUOTED.finditer(text, visible.start() if visible else 0)
    first = Counter(takewhile("\n".__ne__, (match[0] for match in found)))
    separator = max(COLUMN_SEPARATORS, key=first.__getitem__)
    is_tabbed = separator == "\t" and first["\t"] > 0
    quoting: Literal[0, 3] = csv.QUOTE_NONE if is_tabbed else csv.QUOTE_MINIMAL
    table = csv.reader(io.StringIO(text, "\n"), delimiter=separator, quoting=quoting, strict=True)
    usual_limit = csv.field_size_limit(min(len(text) + 1, LARGEST_FIELD))
    rows, at, broken = list[tuple[int, list[str]]](), 0, None
    try:
        for fields in table:
            if rows or "".join(fields).strip().lower() not in ("", "sep="):  # which Excel writes
                rows.append((numbers[at], fields))
            at = table.line_num
    except csv.Error as error:
        what = f"{name} is not a table: line {numbers[at]}, {error}"
        broken = CorpusError(what, 'Mend that line; a " may have no end.')
    finally:
        csv.field_size_limit(usual_limit)
    return rows, broken


def place_of(column: str, words: Sequence[str], first: Sequence[str], name: str) -> int:
    """Return the place of a column in the rows of a table that begins with this row."""
    names = [*first, *(field.strip().casefold() for field in first)]  # as they are, or alike
    wanted = column if column in first else column.strip().casefold()
    if column.isdecimal():
        at = int(column) - 1
    else:
        at = names.index(wanted) % len(first) if wanted in names else len(first)
    if first and at >= len(first):
        what = f"{name} has no column {column}; its first row is: {', '.join(first)[:200]}"
        near = did_you_mean(column, [*words, *first])
        near = f"That name has number {first.index(column) + 1}." if column in first else near
        raise NoColumnError(what, f"{near} Give one of its names, or a number from 1.".lstrip())
    return at


def table_in(head: str, lines: Sequence[str], are_cells: bool) -> tuple[str, int, str] | None:
    """Return what shows that lines are rows of a table, in how many lines, and a column to read.

    ``head`` is the first line of their file. Cells of a table may be below a heading, no more.
    """
    if len(lines) < ENOUGH_LINES:
        return None
    fields = [field.strip(" \"'") for field in re.split(f"[{''.join(COLUMN_SEPARATORS)}]", head)]
    headings = [field for field in fields if field.casefold() in HEADINGS]
    heading = min(headings, key=lambda field: field.casefold() == "id", default="")
    for separator, word in () if are_cells else COLUMN_SEPARATORS.items():
        inner = Counter(line.strip(f"{separator} ").count(separator) for line in lines)
        often, count = inner.most_common(1)[0]
        if often and count >= NEARLY_ALL * len(lines):
            return f"{word} in lines", count, heading or "1"
    return ("header", 1, heading) if heading else None
