"""What the command line says of a corpus: how it was cut, and what is doubtful about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from charrnn import model_file as checkpoint
from tests.program import Program

SMALL = ("--hidden", "8", "--layers", "1", "--epochs", "1", "-q")
NAMES = "\n".join(f"{a}{b}{c}" for a in "bdk" for b in "aeiou" for c in "nrst")
BOOK = "It was a dark night,\nand it rained.\n\n" * 12


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_plan_says_what_else_a_list_with_blank_lines_could_have_been(program: Program) -> None:
    Path("names.txt").write_text("Names\n\n" + NAMES + "\n\nend\n")
    ran = program.run("train", "names.txt", "--dry-run")
    said = (
        "each line is one example; 2 blank lines are skipped (--examples paragraphs would give 3)"
    )
    assert said in words(ran.out)


def test_a_list_and_a_book_are_each_cut_in_their_own_way(program: Program) -> None:
    Path("names.txt").write_text(NAMES)
    Path("book.txt").write_text(BOOK)
    said = words(program.run("train", "names.txt", "book.txt", "--dry-run").out)
    assert "each line of names.txt is one example (no blank lines found" in said
    assert "each paragraph of book.txt is one example; blank lines separate them" in said
    ran = program.run("train", "names.txt", "book.txt", "--dry-run", "--json", "--holdout", "0")
    assert ran.json["corpus"]["examples_are"] == "mixed"
    assert ran.json["corpus"]["examples"] == 60 + 12


def test_a_mixed_corpus_is_resumed_scored_and_told_of_as_it_was_cut(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("names.txt").write_text(NAMES)
    Path("book.txt").write_text(BOOK)
    assert program.run("train", "names.txt", "book.txt", *SMALL).status == 0
    monkeypatch.setattr(
        "charrnn.corpus.segmentation.choose_cut", lambda head: "lines"
    )  # another rule
    assert checkpoint.load("model.npz").corpus.cuts == ("lines", "paragraphs")
    assert program.run("train", "--resume", "--epochs", "2", *SMALL[:-3]).status == 0
    scored = program.run("eval", "--json", "-q").json
    assert scored["examples"] == program.run("info", "--json").json["corpus"]["held_out_examples"]
    assert "examples" in program.run("info").out
    assert program.run("sample", "--not-in", "names.txt", "--max-chars", "9").status == 0


def test_the_plan_doubts_names_that_stand_there_six_times(program: Program) -> None:
    Path("names.txt").write_text("\n".join([NAMES] * 6))
    said = words(program.run("train", "names.txt", "--dry-run").out)
    assert (
        "of 36 held-out examples also occur in the training text:"
        " the held-out loss is too optimistic" in said
    )


def test_the_plan_doubts_a_corpus_of_two_lines(program: Program) -> None:
    Path("names.txt").write_text("anna\nbob und berta\n")
    said = words(program.run("train", "names.txt", "--dry-run", "--seed", "1").out)
    assert "only 1 example to train on; see --examples" in said


def test_the_plan_of_names_that_stand_there_once_has_no_doubts(program: Program) -> None:
    Path("names.txt").write_text(NAMES)
    assert "warning" not in program.run("train", "names.txt", "--dry-run").out
