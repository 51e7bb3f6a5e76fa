"""``charrnn train --from``: a run that starts from the parameters of a model."""

from __future__ import annotations

import pytest

import charrnn
from charrnn.network.parameters import Parameters
from charrnn.settings.training import TrainConfig
from tests.corpora import NAMES
from tests.program import Program
from tests.runs import SIZE

OTHERS = "émile\nzoë\nnoë\nchloë\njörg\nanna\nbob\n" * 4
LEARNING = ("--epochs", "2", "--cores", "1")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model that has learned names.txt."""
    there = Program(tmp_path_factory.mktemp("old"))
    there.write("names.txt", NAMES)
    line = (*SIZE, "--cell", "gru", "--epochs", "40", "-m", "old.npz")
    there.run("train", "names.txt", *line).says()
    return (there / "old.npz").read_bytes()


@pytest.fixture
def program(program: Program, old: bytes) -> Program:
    """The program with a model of names in old.npz, and with other names."""
    program.write("old.npz", old)
    program.write("others.txt", OTHERS)
    return program


def test_the_plan_says_what_is_kept_and_what_is_new(program: Program) -> None:
    told = program.run("train", "others.txt", "--from", "old.npz", "--dry-run").out
    had = charrnn.load("old.npz")
    new = "".join(sorted(set(OTHERS) - set(had.vocabulary.characters) - {"\n"}))
    assert "ë" in new
    assert f"old.npz: all {had.parameters.flat.size:,} parameters reused" in told
    assert f"{len(new)} new characters: {new}" in told
    assert "--hidden" not in told
    assert "1 layer of 6 units" in told


def test_what_the_model_to_start_from_may_know_of_the_held_out_text_is_warned_of(
    program: Program,
) -> None:
    def warned(*line: str) -> bool:
        planned = " ".join(program.run("train", *line, "--dry-run").out.split())
        return "may know what is held out now" in planned

    program.run("train", "names.txt", "--epochs", "1", "-m", "old.npz")
    assert warned("names.txt", "--from", "old.npz")
    assert warned("./names.txt", "--from", "old.npz", "--seed", "1")
    assert not warned("names.txt", "--from", "latin")
    assert warned("dinosaurs", "--from", "latin")
    program.write("others.txt", "anna\nbob\n" * 9)
    assert not warned("names.txt", "--from", "old.npz", "--valid", "others.txt")
    assert not warned("names.txt", "--from", "old.npz", "--holdout", "0")


def test_a_run_that_starts_from_a_model_begins_better_and_knows_both_vocabularies(
    program: Program,
) -> None:
    slow = ("--epochs", "1", "--lr", "1e-12", "--json", "--force")
    alone = program.run("train", "names.txt", *SIZE, *slow, "-m", "new.npz").json["best"]
    line = ("train", "names.txt", "others.txt", *slow, "--cores", "1", "--from", "old.npz")
    assert program.run(*line, "--dry-run").json["settings"]["cell"] == "gru"
    program.run("train", "names.txt", *slow, "--from", "old.npz", "-m", "new.npz").says()
    inherited = charrnn.load("new.npz").trained.best
    assert inherited is not None
    assert inherited[1] < alone["nats_per_character"] - 0.1
    program.run(*line, "-m", "both.npz").says()
    vocabulary = charrnn.load("both.npz").vocabulary.characters
    assert set(vocabulary) >= set(charrnn.load("old.npz").vocabulary.characters) | {"ë"}


def test_it_is_gone_on_with_and_scored_like_any_other(program: Program) -> None:
    ours = ("--from", "old.npz", "-m", "new.npz")
    program.run("train", "others.txt", *LEARNING, *ours, "-q").says("")
    assert program.run("eval", "-m", "new.npz").status == 0
    program.run("train", "--resume", "--epochs", "4", "-m", "new.npz", "-q").says("")
    assert charrnn.load("new.npz").trained.counters["epoch"] == 4
    assert "fine-tuned from a model with" in program.run("info", "-m", "new.npz").out


def test_from_python_it_is_a_model_that_is_handed_over(program: Program) -> None:
    old = charrnn.load("old.npz")
    texts = OTHERS.split()
    new = charrnn.fit(texts, TrainConfig(epochs=1), start_from=old)
    assert new.parameters.architecture.cell_name == "gru"
    assert set(new.vocabulary.characters) >= set(old.vocabulary.characters) | set("ëö")
    new.save("new.npz")
    assert "ë" in charrnn.load("new.npz").vocabulary.characters
    assert isinstance(charrnn.resume("new.npz", texts, epochs=2).model.parameters, Parameters)


@pytest.mark.parametrize("more", [(), ("--teacher-forcing",)])
def test_52_new_characters_fit_a_cell_that_reads_its_outputs(
    program: Program, more: tuple[str, ...]
) -> None:
    program.train("names.txt", "-m", "output.npz", "--cell", "output", *more).says()
    ours = ("others.txt", "--from", "output.npz")
    assert "new characters" in program.run("train", *ours, "--dry-run").out
    program.run("train", *ours, *LEARNING, "-m", "new.npz", "-q").says("")
    assert program.run("sample", "-m", "new.npz", "-n", "3").status == 0
    program.run("sweep", *ours, "--epochs", "1", "--seeds", "1", "-o", "sweep", "-q").says("")
