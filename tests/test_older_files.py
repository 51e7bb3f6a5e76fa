"""Files of version 0.3 are read, resumed and gone on with."""

import json
import shutil
from pathlib import Path

import pytest

import charrnn
from charrnn.files import model_file
from tests.program import Program

OLD = Path(__file__).parent / "files" / "version-0.3"  # made by that version


@pytest.fixture
def old(program: Program) -> Program:
    shutil.copytree(OLD, program.folder, dirs_exist_ok=True)
    return program


def test_a_model_of_format_6_scores_as_it_did(old: Program) -> None:
    model = charrnn.load("model.npz")
    assert model.score(Path("names.txt").read_text().split()).nats == pytest.approx(
        432.65651666974935, rel=1e-6
    )
    assert model.config.shards == 1
    assert [sorted(row) for row in model.trained.history] == [
        ["characters", "held_out", "step", "train", "train_with_noise"]
    ] * 2


def test_fault_29_nothing_that_it_names_is_opened(old: Program) -> None:
    what = "names.txt is not opened: the model file has no hash of it"
    hints = {"eval": "name a text.", "train --resume": "Type the texts"}
    for line, hint in hints.items():
        old.refuses(*line.split(), what=what, hint=hint)
    assert old.run("info", "--json").json["resume"]["is_possible"]
    old.run("train", "names.txt", "--resume", "--epochs", "4").says()
    assert old.run("eval").status == 0


def test_fault_46_its_run_and_its_metrics_go_on_where_they_were(old: Program) -> None:
    before = Path("metrics.jsonl").read_text()
    other = '{"schema": "charrnn.run/2", "run": "of another", "step": 0, "seed": 0}\n'
    other += '{"schema": "charrnn.step/2", "step": 99, "lr": 0.1}\n'
    ahead = '{"schema": "charrnn.step/2", "step": 7, "lr": 0.1}\n'
    Path("metrics.jsonl").write_text(before + ahead + other)
    line = ("--resume", "--epochs", "4", "--metrics", "metrics.jsonl", "--json")
    for _ in range(2):
        resumed = old.run("train", "names.txt", *line).json
        assert resumed["best"]["nats_per_character"] == pytest.approx(2.5455854376312397, rel=1e-5)
        assert b'"format":7' in Path("model.npz").read_bytes()
    rows = Path("metrics.jsonl").read_text()
    assert rows.startswith(before + other)
    added = [json.loads(row) for row in rows.removeprefix(before + other).splitlines()]
    assert [row["step"] for row in added if row["schema"] == "charrnn.step/3"] == list(range(7, 13))
    assert [row["schema"] for row in added].count("charrnn.run/3") == 1
    assert len({row["run"] for row in added}) == 1


def test_a_slim_file_has_no_keys_of_empty_facts(old: Program) -> None:
    charrnn.load("model.npz").export("slim.npz", without_counts=True)
    text = Path("slim.npz").read_bytes().decode("latin-1").partition("PK")[2].partition("PK")[0]
    assert not {'""', "null", "[]", "{}"} & set(text.replace(",", ":").split(":"))
    assert model_file.load_trained("slim.npz").oddest == {}


def test_a_sweep_makes_the_runs_that_are_missing(old: Program) -> None:
    tried = ("--try", "hidden=2,3", "--layers", "1", "--epochs", "1", "-o", "sweep")
    done = old.run("sweep", "names.txt", *tried, "--resume", "--json")
    assert done.status == 0, done.err
    assert "1 of 1 runs" in done.err or "hidden=3" in done.err
    assert "hidden=2" not in done.err
    assert {row["name"] for row in done.json["ranking"]} == {"hidden=2", "hidden=3", "counting"}
