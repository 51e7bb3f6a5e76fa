"""``eval`` for tables: CSV beside the columns that came, and limits taken from a reference."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

import charrnn
from charrnn.scoring.score import BITS
from tests.corpora import WORDS
from tests.program import Program, Result

ROWS = ("eval", "--per-example")
FIGURES = ["nats", "nats_per_character", "unknown"]
TABLE = 'id,Name,note\n1,Anna,"a, ""b"""\n2,,\n\n4,"Zoë x"\n'


def table_of(ran: Result) -> list[list[str]]:
    assert ran.status in (0, 3), ran.err
    assert ran.out_bytes.count(b"\r\n") == ran.out_bytes.count(b"\n")
    return list(csv.reader(io.StringIO(ran.out, newline="")))


def test_each_line_is_a_row_with_its_figures(well_trained: Program) -> None:
    lines = ["Anna", "", 'a,"b', " ", "Anna"]
    ran = well_trained.run(*ROWS, "-", "--csv", stdin="\n".join([*lines, ""]).encode())
    head, *rows = table_of(ran)
    assert head == ["text", *FIGURES]
    assert [row[0] for row in rows] == lines
    model = charrnn.load(well_trained / "model.npz")
    for row, score in zip(rows, model.scores(lines), strict=True):
        assert [float(cell) for cell in row[1:]] == [
            score.nats,
            score.nats_per_character,
            score.unknown,
        ]


def test_the_other_columns_come_along(well_trained: Program) -> None:
    well_trained.write("table.csv", TABLE)
    line = (*ROWS, "table.csv", "--csv")
    whole = list(csv.reader(io.StringIO(TABLE)))
    head, *rows = table_of(well_trained.run(*line, "--column", "Name"))
    assert head == [*whole[0], *FIGURES]
    assert [row[:3] for row in rows] == [
        whole[1],
        whole[2],
        ["", "", ""],
        ["4", "Zoë x", ""],
    ]
    names = charrnn.load(well_trained / "model.npz").scores(["Anna", "", "", "Zoë x"])
    assert [float(row[3]) for row in rows] == [score.nats for score in names]
    head, *rows = table_of(well_trained.run(*line, "--column", "2"))
    assert head == ["column_1", "column_2", "column_3", *FIGURES]
    assert rows[0][:3] == whole[0]


def test_several_files_keep_their_order_and_their_rows(well_trained: Program) -> None:
    well_trained.write("a.csv", "Name,n\nAnna,1\nBo,2\n")
    well_trained.write("b.csv", "Name;n\nCy;3\n")
    ran = well_trained.run(*ROWS, "a.csv", "b.csv", "--csv", "--column", "Name")
    assert [row[:2] for row in table_of(ran)[1:]] == [["Anna", "1"], ["Bo", "2"], ["Cy", "3"]]


def test_no_field_comes_under_another_heading(well_trained: Program) -> None:
    well_trained.write("a.csv", "Name,n\nAnna,1\n")
    well_trained.write("b.csv", "n,Name\n3,Cy\n")
    line = (*ROWS, "a.csv", "b.csv", "--column", "Name")
    ran = well_trained.run(*line, "--csv")
    assert (ran.status, "b.csv has other columns than the table before it" in ran.err) == (1, True)
    assert well_trained.run(*line, "-q").status == 0
    well_trained.write("a.csv", "\nName,n\nAnna,1,\nBo,2,x\n")
    ran = well_trained.run(*ROWS, "a.csv", "--column", "Name", "--csv")
    assert "a.csv, line 4 has 3 fields, and the first row has 2" in ran.err
    well_trained.write("a.csv", "Name,n\nAnna,1,\n")  # an empty field too many
    ran = well_trained.run(*ROWS, "a.csv", "--column", "Name", "--csv")
    assert [row[:2] for row in table_of(ran)] == [["Name", "n"], ["Anna", "1"]]


def test_rows_above_a_limit_keep_their_columns(well_trained: Program) -> None:
    well_trained.write("table.csv", f"n,Name\n1,{WORDS[0]}\n2,?!%&\n3,{WORDS[1]}\n4,#+*~\n")
    line = (*ROWS, "table.csv", "--column", "Name", "--csv", "--above", "8")
    ran = well_trained.run(*line)
    assert [row[0] for row in table_of(ran)[1:]] == ["2", "4"]
    assert ran.status == 3


def test_csv_on_a_terminal_shows_control_characters(well_trained: Program) -> None:
    well_trained.write("x.txt", "a\x1b[31mb\n")
    status, shown = well_trained.terminal(*ROWS, "x.txt", "--csv", "-q")
    assert status == 0
    assert "a\\x1b[31mb," in shown


@pytest.mark.parametrize("where", ["held out", "reference"])
def test_a_quantile_is_a_limit_that_a_reference_sets(well_trained: Program, where: str) -> None:
    reference = ["Anna", "Otto", "Emma", "?!"]
    well_trained.write("reference.txt", "\n".join(reference))
    more = ("--reference", "reference.txt") if where == "reference" else ()
    ran = well_trained.run("eval", "-", "--quantile", "0.5", *more, stdin=b"Anna\n!%&?\n")
    model = charrnn.load(well_trained / "model.npz")
    if where == "held out":
        rows = well_trained.run(*ROWS, "--held-out", "--sort", "input", "--json").rows
        reference = [row["text"] for row in rows]
    bits = [score.bits_per_character for score in model.scores(reference)]
    limit = float(np.quantile(bits, 0.5, method="higher"))
    of = f"the 0.5 quantile of {len(reference)} examples"
    assert f"{limit:.3f} bits per character: {of}\n" in ran.err
    above = sum(score.bits_per_character > limit for score in model.scores(["Anna", "!%&?"]))
    assert re.search(rf"^{above} examples? above", ran.err, re.M)
    assert ran.status == 3


@pytest.mark.parametrize("how", [("--dynamic", "0.1"), ("--fast",)])
def test_a_quantile_is_taken_as_the_text_is_scored(
    well_trained: Program, how: tuple[str, ...]
) -> None:
    line = ("eval", "names.txt", "--reference", "names.txt", "--quantile", "0.99", *how)
    ran = well_trained.run(*line)
    assert ran.status == 0  # the text is its own reference, so its highest loss is the quantile
    assert "\n0 examples above" in ran.err


def test_a_quantile_of_characters(well_trained: Program) -> None:
    line = ("eval", "-", "--per-char", "--quantile", "0.9", "--reference", "names.txt")
    ran = well_trained.run(*line, stdin=b"Anna\n")
    names = (well_trained / "names.txt").read_text().split()
    model = charrnn.load(well_trained / "model.npz")
    bits = [cost * BITS for name in names for cost in model.surprisal(name).nats]
    limit = float(np.quantile(bits, 0.9, method="higher"))
    assert f"{limit:.3f} bits per character: the 0.9 quantile of {len(bits):,} char" in ran.err


def test_a_stream_with_a_bad_byte_is_told_how_to_go_on(trained: Program) -> None:
    hint = "If only a few bytes are wrong, use --errors replace or skip."
    ran = trained.run("eval", "-", stdin=b"Anna\n\xff\n")
    assert (ran.status, hint in ran.err) == (1, True)
    assert trained.run("eval", "-", "--errors", "replace", stdin=b"Anna\n\xff\n").status == 0
