"""Other cells and another way to end, through the ordinary commands."""

from __future__ import annotations

import json

import pytest

from tests.program import Program

SMALL = ("--hidden", "6", "--layers", "2", "--epochs", "2", "--cores", "1")


@pytest.mark.parametrize("cell", ["tanh", "gru", "lstm"])
@pytest.mark.parametrize("ends", ["symbol", "halt"])
def test_a_cell_and_an_end_are_chosen_kept_shown_and_used(
    program: Program, cell: str, ends: str
) -> None:
    trained = program.run("train", "names.txt", "--cell", cell, "--ends", ends, *SMALL, "--json")
    described = program.run("info", "--json").json
    assert (described["settings"]["cell"], described["settings"]["ends"]) == (cell, ends)
    assert described["parameters"] == trained.json["parameters"]
    one = program.run("sample", "--seed", "5", "--json").json
    many = program.run("sample", "--seed", "5", "--json", "-n", "100").out
    assert json.loads(many.splitlines()[0]) == one
    program.write("drawn.txt", one["text"] + "\n")
    if one["ended"] == "end" and one["text"].strip():
        assert program.run("eval", "drawn.txt", "--json").json["nats"] == pytest.approx(
            one["nats"], abs=1e-4
        )
    assert program.run("train", "--resume", "--epochs", "3", "-q").status == 0


def test_a_run_keeps_its_clock_and_its_way_to_end(program: Program) -> None:
    program.run("train", "names.txt", "--clock", "--ends", "length", *SMALL, "-q").says()
    program.refuses(
        *("train", "--resume", "--ends", "halt"),
        what="--ends halt contradicts model.npz, which has length",
        hint="Leave it out",
    )
    program.run("train", "--resume", "--clock", "--epochs", "3", "-q").says()
