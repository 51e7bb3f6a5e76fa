"""A corpus is found again from any folder, and beside a model that has moved together with it."""

import shutil
from dataclasses import replace

import pytest

import charrnn
from tests.program import BRIEF, Program


@pytest.fixture
def program(program: Program) -> Program:
    for folder in ("models", "texts", "away"):
        (program / folder).mkdir()
    (program / "names.txt").rename(program / "texts" / "names.txt")
    return program


@pytest.mark.parametrize("absolute", [False, True])
def test_the_corpus_is_found_from_another_folder(
    program: Program, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    name = (program / "texts/names.txt") if absolute else "texts/names.txt"
    program.run("train", name, *BRIEF, "-m", "models/m.npz").says()
    here = program.run("eval", "--json", "-m", "models/m.npz").json
    monkeypatch.chdir(program / "away")
    there = program.run("eval", "--json", "-m", "../models/m.npz", cwd=program / "away").json
    assert there["nats"] == here["nats"]
    info = program.run("info", "--json", "-m", "../models/m.npz", cwd=program / "away").json
    assert info["resume"]["is_possible"]
    again = ("train", "--resume", "--epochs", "3", "-m", "../models/m.npz", "--json")
    assert program.run(*again, cwd=program / "away").json["settings"]["epochs"] == 3
    assert list(charrnn.resume("../models/m.npz", epochs=4))


def test_a_model_and_its_corpus_may_move_together(program: Program) -> None:
    program.run("train", "texts/names.txt", *BRIEF, "-m", "models/m.npz").says()
    (program / "elsewhere").mkdir()
    for folder in ("models", "texts"):
        shutil.move(program / folder, program / "elsewhere" / folder)
    program.write("texts.txt", "")
    assert program.run("eval", "-m", "elsewhere/models/m.npz").status == 0


def test_another_text_of_that_name_in_this_folder_is_not_taken_for_it(program: Program) -> None:
    program.run("train", "texts/names.txt", *BRIEF, "-m", "models/m.npz").says()
    shutil.move(program / "models/m.npz", program / "models/n.npz")
    (program / "away/texts").mkdir()
    program.write("away/texts/names.txt", "something else\n")
    assert program.run("eval", "-m", "../models/n.npz", cwd=program / "away").status == 0


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_recorded_as_what_cannot_be_read_again(name: str) -> None:
    record = replace(charrnn.load("dinosaurs").corpus, sources=(name, "/tmp/a.txt"))
    assert record.seen_from("/tmp").sources == ("-", "a.txt")
