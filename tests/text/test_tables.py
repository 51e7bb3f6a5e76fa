"""Faults 9 and 50: columns of tables."""

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.text.reading import labelled_texts
from charrnn.text.tables import rows_of
from charrnn.text.tidy import Tidied


@pytest.mark.parametrize(
    ("table", "column", "rows", "starts"),
    [
        ("n,Name\n1,Bo\n2,Al\n", "name", ["Bo", "Al"], [2, 3]),
        ("\n \n n ;x\n1;2\n3\n", "x", ["2", ""], [4, 5]),
        ('a,b\n"x, y","1\n2"\n', "b", ["1 2"], [2]),
        ("a\nb\n\nc", "1", ["a", "b", "", "c"], [1, 2, 3, 4]),
        ("a,A\n1,2", "A", ["2"], [2]),
        ("", "a", [], []),
        ("\n \nn,x\n1,2\n\n3,4", "x", ["2", "", "4"], [4, 5, 6]),
        ('n,x\n1,"a\nb\n"\n2,c\n', "x", ["a b ", "c"], [2, 5]),
        ('n,"x\ny"\n1,2\n', "2", ["x y", "2"], [1, 3]),
        ("n,x\n", "x", [], []),
        ('"a\nb","c\nd"\ne,f', "2", ["c d", "f"], [1, 4]),  # its separator is outside the quotes
        ('"Bo; A; ""B""",x\n', "2", ["x"], [1]),
        ('x,"a;b;c"\n', "2", ["a;b;c"], [1]),
        ('"a\tb"\n"c\td"\n', "1", ["a\tb", "c\td"], [1, 2]),
        ('\tx\n1\t"a" b\n', "x", ['"a" b'], [2]),  # pandas names no column of numbers
        ('n,x\r1,"a\rb"\n2,c\r3,d\n4,e', "x", ["a b", "c", "d", "e"], [1, 2, 2, 3]),
        ("Sep=;\nn;x\n1;a,b,c", "x", ["a,b,c"], [3]),
    ],
)
def test_fault_50_rows_are_known_by_the_lines_on_which_they_begin(
    table: str, column: str, rows: list[str], starts: list[int]
) -> None:
    found = rows_of(table, Reading(column=column), "a.csv")
    assert [field for _, field, _ in found] == rows
    assert [line for line, _, _ in found] == starts


def test_fault_50_a_cell_may_be_long() -> None:
    before = csv.field_size_limit()
    cell, reading = "a" * 140_000, Reading(column="x")
    assert rows_of(f'n,x\n1,"{cell}"\n', reading, "a.csv") == [(2, cell, "")]
    with pytest.raises(CorpusError) as error:
        rows_of(f'n,x\n1,"{cell}\n2,b\n', reading, "a.csv")
    assert error.value.what == "a.csv is not a table: line 2, unexpected end of data"
    assert csv.field_size_limit() == before


def test_a_cell_is_normalized_and_not_its_table() -> None:
    data = "\ufb01e\u0301,x\nＡ，Ｂ,c\n".encode()  # the ligature fi, and wide letters
    for name in ("fi\xe9", "\ufb01e\u0301"):
        reading = Reading(column=name, normalize="NFKC")
        assert [*labelled_texts("a.csv", reading, Tidied(), lambda _: data)] == [("", "A,B\n")]


CELLS = st.text(st.sampled_from("ab,;\"' \né\u2028"), max_size=6)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=9)


@settings(max_examples=settings().max_examples * 10)
@given(ROWS, st.sampled_from(",;\t"), st.integers(0, 2), st.booleans())
def test_tables_of_csv(rows: list[tuple[str, ...]], separator: str, at: int, by_name: bool) -> None:
    names = ("id", "Some Word", "c")
    if separator == "\t":  # where quotes are characters, and breaks cannot stand in a field
        rows = [tuple(cell.replace("\n", "") for cell in row) for row in rows]
        lines = ["\t".join(row) + "\n" for row in (names, *rows)]
    else:
        lines = []
        for row in (names, *rows):
            file = io.StringIO()
            csv.writer(file, delimiter=separator, lineterminator="\n").writerow(row)
            lines.append(file.getvalue())
    shown = rows if by_name else [names, *rows]
    column = names[at].upper() if by_name else str(at + 1)
    found = rows_of("".join(lines), Reading(column=column), "a.csv")
    assert [field for _, field, _ in found] == [re.sub("\n+", " ", row[at]) for row in shown]
    before = [1 + "".join(lines[:number]).count("\n") for number in range(len(lines))]
    assert [line for line, _, _ in found] == before[by_name:]
