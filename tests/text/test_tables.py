"""Fault 9: columns of tables."""

from pathlib import Path

import pytest

from charrnn.settings.corpus import Reading
from charrnn.text.reading import text_of
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
