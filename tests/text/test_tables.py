"""Faults 9 and 50: columns of tables."""

import csv
from pathlib import Path

import pytest

from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.text.reading import text_of
from charrnn.text.tables import column_of
from tests.text.test_reading import file_of


@pytest.mark.quick
@pytest.mark.parametrize(
    ("table", "column", "rows"),
    [
        ("n,Name\n1,Bo\n2,Al\n", "name", ["Bo", "Al"]),
        ("n,Name\n1,Bo\n2,Al\n", "2", ["Name", "Bo", "Al"]),
        ("\n \n n ;x\n1;2\n3\n", "x", ["2", ""]),
        ('a\tb"c\tb\n1\t2"\t3\n', "2", ['b"c', '2"']),
        ('a,b\n"x, y","1\n2"\n', "b", ["1 2"]),
        ('a,b\n"x, ""y""",1\n', "A", ['x, "y"']),
        ("a\nb\n\nc", "1", ["a", "b", "", "c"]),
        ("a,A\n1,2", "A", ["2"]),
        ("", "a", []),
    ],
)
def test_columns(tmp_path: Path, table: str, column: str, rows: list[str]) -> None:
    source = file_of(tmp_path, table.encode())
    assert text_of(source, Reading(column=column)) == "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize(
    ("table", "column", "starts"),
    [
        ("\n \nn,x\n1,2\n\n3,4", "x", [4, 5, 6]),
        ('n,x\n1,"a\nb\n"\n2,c\n', "x", [2, 5]),
        ('n,"x\ny"\n1,2\n', "2", [1, 3]),
        ("n,x\n", "x", []),
    ],
)
def test_fault_50_rows_are_known_by_the_lines_on_which_they_begin(
    table: str, column: str, starts: list[int]
) -> None:
    assert column_of(table, column, "a.csv")[1] == starts


def test_fault_50_a_cell_may_be_long() -> None:
    before = csv.field_size_limit()
    cell = "a" * 140_000
    assert column_of(f'n,x\n1,"{cell}"\n', "x", "a.csv") == (f"{cell}\n", [2])
    with pytest.raises(CorpusError) as error:
        column_of(f'n,x\n1,"{cell}', "x", "a.csv")
    assert error.value.what == "a.csv is not a table: line 2, unexpected end of data"
    assert csv.field_size_limit() == before
