"""Lists as people have them: a column of a table, characters to strip, hints of the plan."""

from __future__ import annotations

import csv
import io
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charrnn.corpus import files
from charrnn.corpus.checks import findings
from charrnn.corpus.columns import Records, column_of
from charrnn.corpus.files import blocks
from charrnn.errors import CorpusError, SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from tests.evaluating import scored
from tests.program import Program

NAMES = ["Anna", "Berta", "Cleo", "Dora", "Emma", "Frida", "Greta", "Hanna", "Ida", "Jana"]
TABLE = "id;Name;note\n" + "".join(f'{i};{name};"a ""b"";\nc"\n' for i, name in enumerate(NAMES))


def read(path: Path, text: str, block: int = 1 << 17, **how: str) -> list[str]:
    path.write_text(text, newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", block)
        return "".join(blocks(str(path), Reading(**how))).splitlines()  # type: ignore[arg-type]


@given(
    st.lists(st.lists(st.text("ab,\";\t' ", max_size=4), min_size=2, max_size=3), min_size=1),
    st.integers(1, 9),
)
def test_a_column_is_what_the_csv_module_reads(rows: list[list[str]], block: int) -> None:
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([["x", "y"], *rows])
    text = table.getvalue()
    pieces = [text[at : at + block] for at in range(0, len(text), block)]
    assert "".join(column_of(pieces, "y", "")).split("\n") == [row[1] for row in rows] + [""]


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("name,\nAnna,\nBo,\n", "name", ["Anna", "Bo"]),
        ("Anna\t1\nBo\t2\n", "1", ["Anna", "Bo"]),
        ('say\tby\n"Oh," he\t"x\n', "say", ['"Oh," he']),  # quotes between tabs are characters
        ("a,b;c,d;e,f\n", "2", ["b;c"]),  # more commas than semicolons
        ("\ufeffNAME ,n\nAnna,1\nBo\n\nCy,3", "name", ["Anna", "Bo", "", "Cy"]),
        ('n,text\n1,"two\nlines"\n2,\n3,x\n', "text", ["two lines", "", "x"]),
        ("n\n", "n", []),
        ("\n\n", "n", []),
    ],
)
def test_tables_are_read_by_simple_rules(
    tmp_path: Path, text: str, column: str, expected: list[str]
) -> None:
    for block in (1, 3, 1 << 17):
        assert read(tmp_path / "table", text, block, column=column) == expected


def test_rows_come_with_the_block_that_they_stand_in() -> None:
    texts, records = iter(["name,n\nAnna,1\nBer", "ta,2\nCl", "eo,3"]), Records(True)
    column = column_of(texts, "name", "", records)
    assert "".join(islice(column, 1)) == "Anna\n"
    assert "".join(column) == "Berta\nCleo\n"
    assert (records.header, list(records.rows)[1]) == (["name", "n"], ["Berta", "2"])
    list(column_of(["a,b\nc,d\n"], "1", "", records := Records()))
    assert not records.rows  # kept only where they are written


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("name,n\nAnna,1\n", "title", "has no column title; its first row is: name, n"),
        ("Anna,1\n", "3", "has no column 3"),
        ('name,n\n"Anna,1\nBo,2\n', "name", "is not a table: line 3, unexpected end of data"),
        ('\n\nname,n\n"Anna,1\n', "name", "is not a table: line 4, unexpected end of data"),
    ],
)
def test_a_table_without_the_column_is_refused(
    tmp_path: Path, text: str, column: str, what: str
) -> None:
    with pytest.raises(CorpusError, match=what):
        read(tmp_path / "table", text, column=column)


@pytest.mark.parametrize("column", ["0", "name"])
def test_what_is_no_column_of_examples_is_refused(column: str) -> None:
    with pytest.raises(SettingError, match="column"):
        CorpusConfig("paragraphs", reading=Reading(column=column))
    with pytest.raises(SettingError, match="column"):
        Reading(column="00")


def test_characters_are_stripped_from_both_ends_of_each_line(tmp_path: Path) -> None:
    text = "1. Anna,\n22. Bo-1,\n"
    for block in (1, 1 << 17):
        assert read(tmp_path / "x", text, block, strip="0123456789., ") == ["Anna", "Bo-"]
    assert read(tmp_path / "x", 'n,name\n1," Bo "\n', column="name", strip=" ") == ["Bo"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (NAMES, []),
        (NAMES[:9], []),
        ([f"{name}, so." for name in NAMES], [("comma in lines", 10, "1")]),
        (["name\tn", *(f"{name}\t1" for name in NAMES)], [("tab in lines", 11, "name")]),
        (["id,name", *(f"1,{name}" for name in NAMES)], [("comma in lines", 11, "name")]),
        ([f"{name}," for name in NAMES], [("same ending", 10, ",")]),
        (["Name,", *(f"{name}," for name in NAMES)], [("header", 1, "Name")]),
        ([f"{name}." for name in NAMES], []),  # sentences
        ([f"{i}. {name}" for i, name in enumerate(NAMES)], [("numbered", 10, "0")]),
        ([f"- {name}" for name in NAMES], [("numbered", 10, "-")]),
        ([f"2024-01-01 12:00 {name}" for name in NAMES], []),
    ],
)
def test_traits_of_nearly_all_lines_are_found(
    lines: list[str], expected: list[tuple[str, int, str]]
) -> None:
    found = findings(lines[:1], lines)
    assert [(one.kind, one.count, one.of) for one in found] == [
        (kind, count, len(lines)) for kind, count, _ in expected
    ]
    assert all(what in one.what for (_, _, what), one in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("".join(f"{name},\n" for name in NAMES * 2), ("--strip", ",")),
        ("name\n" + "".join(f'"{name}"\n' for name in NAMES * 2), ("--column", "name")),
        ("Name;n\n" + "".join(f"{name};1\n" for name in NAMES * 2), ("--column", "Name")),
        (
            "".join(f"{i}. {n}\n" for i, n in enumerate(NAMES * 2)),
            ("--strip", "0123456789.):-*•– "),
        ),
    ],
)
def test_the_option_that_the_plan_names_mends_the_list(
    program: Program, text: str, option: tuple[str, str]
) -> None:
    program.write("list.txt", text)
    words = " ".join(program.run("train", "list.txt", "--dry-run").out.split())
    shown = option[1] if option[1].isalpha() else f"'{option[1]}'" if " " in option[1] else ","
    assert f"{option[0]} {shown}" in words
    mended = program.run("train", "list.txt", "--dry-run", "--json", *option).json
    assert mended["corpus"]["characters"] < len(text)
    assert {one["kind"] for one in mended["warnings"]} <= {"repeated"}


@pytest.fixture
def table(program: Program) -> Program:
    """The program with a model of a column of a table."""
    program.write("table.csv", TABLE * 3)
    program.train("table.csv", "--column", "Name")
    return program


def test_a_column_is_kept_for_held_out_text_and_resume(table: Program) -> None:
    assert (
        scored(table)["characters"]
        == table.run("info", "--json").json["corpus"]["held_out_characters"]
    )
    assert "read with --column Name" in table.run("info").out
    assert table.run("train", "--resume", "--epochs", "2").status == 0
    table.refuses("train", "--resume", "--column", "id", what="--column id", hint="Leave it out")
    assert table.run("sample", "--not-in", "table.csv", "-n", "3").status == 0


def test_a_column_is_that_of_the_files_of_the_corpus_alone(table: Program) -> None:
    rows = table.run("eval", "table.csv", "--per-example", "--json").rows
    assert [row["text"] for row in rows[:10]] == NAMES
    rows = table.run("eval", "-", "--per-example", "--json", stdin=b"x;Anna\n").rows
    assert [row["text"] for row in rows] == ["x;Anna"]
    rows = table.run("embed", "-", "--column", "2", "--strip", "A", stdin=b"x;Anna\n").rows
    assert [row["text"] for row in rows] == ["nna"]


def test_a_row_is_an_example_whatever_the_model_learned_from(table: Program) -> None:
    table.write("verses.txt", "a\nb\n\n" * 20)
    table.train("verses.txt", "-m", "verses.npz")
    args = ("-m", "verses.npz", "--column", "Name", "--per-example", "--json")
    assert len(table.run("eval", "table.csv", *args).rows) == 3 * 11 - 1
    table.refuses(
        *("eval", "table.csv", "--column", "1", "--examples", "files"),
        what="--column and --examples files exclude",
        hint="each row is an example",
        status=2,
    )
    table.refuses("fill", "A_", "--strip", "x", what="--strip", hint="TEXT", status=2)


def test_a_sweep_reads_the_column(table: Program) -> None:
    args = ("--column", "Name", "--try", "lr=0.001,0.01", "--layers", "1", "--hidden", "2")
    swept = table.run("sweep", "table.csv", *args, "--epochs", "1", "-o", "runs")
    assert swept.status == 0, swept.err
    model = next(iter((table / "runs").glob("*.npz")))
    assert table.run("info", "-m", model, "--json").json["corpus"]["characters"] < 200
