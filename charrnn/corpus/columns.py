"""Columns of tables as lines of text, and lines without what does not belong to the text.

Rows are read by Python's csv. The separator is the one that the first line has most of: tab,
semicolon or comma. Quotes enclose fields except between tabs, where they are characters. Each row
becomes a line; line breaks in a field become spaces.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Final, Literal

from charrnn.errors import CorpusError
from charrnn.text import script_of

SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}


@dataclass
class Records:
    """The rows of tables in the order of their lines, for output beside the text."""

    keeps: bool = False  # any rows
    tables: set[str] = field(default_factory=set)  # the names of their sources
    header: list[str] = field(default_factory=list)  # of all tables
    rows: deque[list[str]] = field(default_factory=deque)

    def begin(self, name: str, header: list[str]) -> None:
        """Begin a table. Raise CorpusError if its columns are not those of the tables before."""
        self.tables.add(name)
        self.header = self.header or header
        if self.keeps and header != self.header:
            what = f"{name} has other columns than the table before it"
            raise CorpusError(what, "Score each table by itself.")

    def add(self, row: list[str], name: str, line: int) -> None:
        """Keep a row. Raise CorpusError if it has more fields than the table has columns."""
        if not self.keeps:
            return
        columns = len(self.header)
        if any(row[columns:]):
            what = f"{name}, line {line:,} has {len(row)} fields, and the first row has {columns}"
            raise CorpusError(what, "Mend that line: quotes enclose a field with a separator.")
        self.rows.append(row[:columns])


def whole_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the same text in blocks of whole lines; a rest without a newline comes last."""
    held: list[str] = []
    for text in texts:
        cut = text.rfind("\n") + 1
        if cut:
            yield "".join([*held, text[:cut]])
            held = []
        held.append(text[cut:])
    yield "".join(held)


def strip_lines(texts: Iterable[str], characters: str) -> Iterator[str]:
    """Yield the text without these characters at either end of a line."""
    for text in whole_lines(texts):
        yield "\n".join([line.strip(characters) for line in text.split("\n")])


def lines_of_script(texts: Iterable[str], script: str) -> Iterator[str]:
    """Yield the lines without a character of another script."""
    of = cache(script_of)
    for text in whole_lines(texts):
        lines = text.split("\n")
        yield "\n".join([line for line in lines if {"", script}.issuperset(map(of, line))])


def column_of(
    texts: Iterable[str], column: str, name: str, records: Records | None = None
) -> Iterator[str]:
    """Yield a column of a table, a line for each row, as soon as a block of the table is read.

    A number counts columns from 1. Any other column is named in the first row, which is left out.
    ``name`` is the name of the source. ``records`` gets the whole rows.
    """
    waiting: deque[str] = deque()  # lines of the block

    def lines() -> Iterator[str]:
        for text in whole_lines(texts):
            *whole, rest = text.split("\n")
            waiting.extend(f"{line}\n" for line in whole)
            waiting.extend([rest] if rest else [])
            while waiting:
                yield waiting.popleft()

    every = lines()
    blank, first = next(((n, line) for n, line in enumerate(every) if line.strip()), (0, ""))
    if not first:
        return
    separator = max(SEPARATORS, key=first.count)
    quoting: Literal[0, 3] = csv.QUOTE_NONE if separator == "\t" in first else csv.QUOTE_MINIMAL
    table = csv.reader(chain([first], every), delimiter=separator, quoting=quoting, strict=True)
    records = records or Records()
    at, done = -1, []
    try:
        for row in table:
            if at < 0:
                at = _place(column, row, name)
                is_named = not column.isdecimal()
                header = row if is_named else [f"column_{n}" for n in range(1, len(row) + 1)]
                records.begin(name, header)
                if is_named:
                    continue
            records.add(row, name, blank + table.line_num)
            done.append(re.sub("[\r\n]+", " ", row[at]) if at < len(row) else "")
            if not waiting:
                yield "".join([f"{text}\n" for text in done])
                done = []
    except csv.Error as error:
        what = f"{name} is not a table: line {blank + table.line_num}, {error}"
        raise CorpusError(what, 'Mend that line; a " may have no end.') from None
    yield "".join([f"{text}\n" for text in done])


def _place(column: str, first: Sequence[str], name: str) -> int:
    """Return the index of the column in a row. Raise CorpusError if the first row lacks it."""
    if column.isdecimal():
        if int(column) <= len(first):
            return int(column) - 1
    else:
        for same in (str, lambda text: text.strip().casefold()):
            names = list(map(same, first))
            if same(column) in names:
                return names.index(same(column))
    what = f"{name} has no column {column}; its first row is: {', '.join(first)[:200]}"
    raise CorpusError(what, "Give [column] one of its names, or a number from 1.")
