"""The command sweep: what it prints, what it refuses, and how it is interrupted."""

import json
import os
import re
import shlex
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.cells import cell_len

import charrnn
from charrnn.files.safe_writing import locked
from tests.child import children_of, dask_cluster, wait_until
from tests.program import SMALL, Program

TRY = ("sweep", "names.txt", *SMALL[2:], "--try", "hidden=2,3")
ENDLESS = (
    *("sweep", "names.txt", "--layers", "1", "--hidden", "2", "--patience", "999999"),
    *("--try", "epochs=1,99999999", "--seeds", "2", "-o", "sweep"),
)


def test_the_table_names_a_winner_and_shows_samples(program: Program) -> None:
    ended = program.run(*TRY, "--seeds", "2", "--epochs", "2", "--cores", "1")
    ended.says("corpus    names.txt", "runs      4", "seed=1", "keep the best: cp -i sweep/hidden=")
    head, *rows = ended.lines
    assert " ".join(head.split()) == "held-out difference std error time size settings samples"
    assert (len(rows), sum("counting" in row for row in rows)) == (3, 1)
    best = next(row for row in rows if "hidden" in row)
    assert "(best)" in best
    others = [row for row in rows if "(best)" not in row]
    assert all(re.match(r" +\d\.\d{3} +[-+]\d\.\d{3} +\d\.\d{3} ", row) for row in others)
    assert "".join(rows).count("(smallest)") == 1
    _, _, model, copy, _, _, *again = shlex.split(ended.err.splitlines()[-1].partition("best: ")[2])
    shutil.copy(model, copy)
    program.run(*again).says()
    assert program.run("eval").status == 0  # the copy finds its corpus
    found = program.run(*TRY, "--seeds", "2", "--epochs", "2", "--resume", "--json").json
    assert found["schema"].startswith("charrnn.sweep/")
    assert found["best"] == next(one for one in found["ranking"] if one["model"])
    assert [len(one["samples"]) for one in found["ranking"]].count(2) == 2
    counting = next(one for one in found["ranking"] if one["name"] == "counting")
    baselines = charrnn.load(model).trained.corpus.baselines
    assert counting["nats_per_character"] == pytest.approx(min(baselines.values()), rel=1e-6)
    typed = "sweep names.txt --examples files --try hidden=2 --epochs 1 -o text --json"
    assert {len(text) for text in program.run(*typed.split()).json["best"]["samples"]} == {60}
    assert found["best"]["name"] in best


@pytest.mark.parametrize(
    ("text", "more"),
    [
        *(("-", ""), ("reber", ""), ("names.txt --valid -v.txt", "names.txt --valid=-v.txt")),
        ("-o -s -- -v.txt", "./-v.txt"),
    ],
)
def test_a_copy_is_resumed_if_it_has_a_file_to_find(program: Program, text: str, more: str) -> None:
    program.write("-v.txt", "anna\ncleo\n")
    line = ("sweep", *SMALL, "--seeds", "1", *text.split())
    words = "corpus    standard input: " if text == "-" else "corpus "
    noted = program.run(*line, stdin=b"anna\nbob\n" * 9).says(words).err.splitlines()[-1]
    assert noted.partition(" model.npz")[2] == (more and f" && charrnn train {more} --resume -q")
    assert " -i -" not in noted, "cp would take it for an option"


def test_folders_are_numbered_and_seeds_are_counted(program: Program) -> None:
    for folder, seeds in (("sweep", "3"), ("sweep-2", "1-2"), ("sweep-3", "0,5")):
        program.run("sweep", "names.txt", *SMALL, "--seeds", seeds, "-q").says()
        rows = (program / folder / "sweep.jsonl").read_text().splitlines()
        numbers = {"3": [0, 1, 2], "1-2": [1, 2], "0,5": [0, 5]}[seeds]
        assert sorted(json.loads(row)["seed"] for row in rows) == numbers
    dry = program.run("sweep", "names.txt", *SMALL, "--seeds", "2", "--dry-run", "--json").json
    assert (dry["folder"], dry["runs"]) == ("sweep-4", ["seed=0", "seed=1"])
    assert not (program / "sweep-4").exists()


def test_fault_58_a_resumed_sweep_ranks_all_runs(program: Program) -> None:
    line = ("sweep", "names.txt", *SMALL[2:], "--epochs", "2", "--cores", "1", "--json")
    first = program.run(*line, "--try", "hidden=2", "--try", "hidden=3").json["ranking"]
    more = ("--resume", "--hidden", "2", "--try", "lr=0.01", "--seeds", "1-2")
    ranking = program.run(*line, *more).json["ranking"]
    names = {row["name"]: row for row in ranking}
    assert set(names) == {"hidden=2", "hidden=3", "lr=0.01", "counting"}
    assert [names[name]["run_count"] for name in ("lr=0.01", "counting")] == [2, 3]
    for row in first:
        assert names[row["name"]]["nats_per_character"] == row["nats_per_character"]
    assert sorted(row["seed"] for row in map(json.loads, rows_of(program))) == [0, 0, 1, 2]
    before = program.files()
    for there in ("hidden=2,3", "hidden=3"):
        assert program.run(*line, "--try", there, "--resume").json["ranking"] == ranking
        assert program.files() == before
    swapped = ("--try", "batch=2", "--try", "hidden=3"), ("--try", "hidden=3", "--try", "batch=2")
    tables = [program.run(*line, *t, "--resume").json["ranking"] for t in swapped]
    assert (tables[1], len(tables[0])) == (tables[0], 5)
    with open(program / "sweep/sweep.jsonl", "ab") as file:
        file.write(b'{"schema": ')
    before, only = program.files(), ("--resume", "--dry-run")
    with locked(program / "sweep/sweep.jsonl"):  # which is only read
        dry = program.run(*line, "--try", "hidden=3,4", *swapped[0][:2], *only).json
        other = ("--try", "hidden=3", "--lr", "0.5", *only)
        program.refuses(*line, *other, what="lr 0.5 contradicts sweep", hint="the same settings")
    assert (dry["runs"], program.files()) == (["batch=2,hidden=4,seed=0"], before)
    (program / "sweep/hidden=3,seed=0.npz").unlink()
    again = program.run(*line, *more).json["ranking"]
    assert {row["name"]: row["model"] for row in again}["hidden=3"] is None


def test_smallest_and_fastest_are_marked_on_the_rows_that_are(program: Program) -> None:
    line = ("sweep", "names.txt", *SMALL[2:], "--epochs", "30", "--cores", "1")
    ranking = program.run(*line, "--try", "hidden=2,12", "--json").json["ranking"]
    rows = {row["name"]: row for row in ranking}
    assert rows["hidden=2"]["clearly_worse"]
    assert rows["hidden=12"]["marks"] in (["best"], ["best", "fastest"])
    assert rows["hidden=2"]["marks"][:1] == ["smallest"]
    seconds = [row["seconds"] for row in ranking if row["model"]]  # which may be alike
    for row in (row for row in ranking if row["model"]):
        assert ("fastest" in row["marks"]) == (min(seconds) == row["seconds"] < max(seconds))
    alike = program.run(*line, "--try", "hidden=2", "-o", "alike", "--json").json
    assert [row["marks"] for row in alike["ranking"] if row["model"]] == [["best"]]


def test_what_the_corpus_chose_is_a_column_where_it_differs(program: Program) -> None:
    line = ("sweep", "names.txt", "--layers", "1", "--epochs", "1", "--hidden", "3")
    tried_line = (*line, "--try", "batch=1,8", "--dropconnect", "0")
    head, *rows = (row.split() for row in program.run(*tried_line).lines)
    assert head[-4:] == ["size", "rate", "settings", "samples"]
    for row in rows:
        if "counting" not in row:
            name = next(word for word in row if word.startswith("batch="))
            config = charrnn.load(f"sweep/{name},seed=0.npz").config
            assert row[row.index(name) - 1] == f"{config.lr:.4g}"
    for columns in (60, 20):  # on a terminal the settings stay whole, and figures give way
        _, seen = program.terminal(*tried_line, "--resume", "--seeds", "2", columns=columns)
        assert bool(re.search("[12] of 2 runs", seen)) == (columns == 60)
        table = seen[seen.index("held-out  ") : seen.index("keep the best")]
        assert (table.count("batch="), "difference" in table) == (2, columns == 60)
    program.write("wide.txt", "王李赵刘陈杨\n" * 40)
    _, seen = program.terminal(*tried_line[:1], "wide.txt", *line[2:], "--seeds", "1", columns=80)
    best = next(line for line in seen.splitlines() if "(best)" in line)
    assert 78 < cell_len(re.sub(r"\x1b\[[\d;]*m", "", best)) <= 80  # a wide letter takes two
    tried = program.run(*line, "--try", "lr=0.1,0.2", "--weight-decay", "0", "-o", "rates")
    assert tried.lines[0].split()[-3:] == ["size", "settings", "samples"]


def test_cells_of_the_same_size_have_units_of_their_own(program: Program) -> None:
    line = ("sweep", "names.txt", *SMALL[2:], "--cores", "1", "--same-size")
    cells = (*line, "--hidden", "9", "--try", "cell=tanh,gru,lstm")
    dry = program.run(*cells, "--dry-run").lines
    assert not (program / "sweep").exists()
    ranking = program.run(*cells, "--json").json["ranking"]
    sizes = {row["name"]: row["parameters"] for row in ranking if row["model"]}
    assert {f"{name},seed=0   {size:,} parameters" for name, size in sizes.items()} == {*dry}
    assert "hidden=9" in next(name for name in sizes if "tanh" in name)  # the first is as typed
    assert len({name.partition("hidden=")[2] for name in sizes}) > 1
    for row in (row for row in ranking if row["model"]):
        model = charrnn.load(row["model"])
        assert "unigram" in model.trained.corpus.baselines
        drawn = model.sample(2, max_characters=60, seed=0)
        assert row["samples"] == [str(sample) for sample in drawn]
    assert max(sizes.values()) < 1.3 * min(sizes.values())
    assert program.run(*cells, "--resume", "--json").json["ranking"] == ranking
    more = program.run(*cells, "--resume", "--seeds", "1-1", "--dry-run").lines
    assert more == [row.replace("seed=0", "seed=1") for row in dry]


def test_a_failed_run_does_not_stop_the_others(program: Program) -> None:
    line = ("sweep", "names.txt", *SMALL, "--batch", "4", "--try", "lr=0.01,1000000")
    ended = program.run(*line)
    assert "1 of 2 runs failed; lr=1000000,seed=0: the loss diverged" in ended.err
    assert "lr=0.01 (best)" in ended.out


def rows_of(program: Program) -> list[str]:
    file = program / "sweep/sweep.jsonl"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_fault_26_what_ended_is_kept(program: Program, number: signal.Signals, kills: int) -> None:
    for _ in range(kills):
        (program / "sweep/sweep.jsonl").unlink(missing_ok=True)
        with program.going(*ENDLESS, "--cores", "2") as child:
            child.until(lambda: len(rows_of(program)) >= 2)
            workers = children_of(child.process.pid)
            if number == signal.SIGINT:
                os.killpg(child.process.pid, number)  # as a terminal does
            else:
                child.send(number)
            ended = child.end()
            wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))  # noqa: B023
        assert ended.status == 128 + number, ended.err
        assert "Traceback" not in ended.err
        if number != signal.SIGKILL:
            assert "; to resume, add -o sweep --resume" in ended.err
        assert len(rows_of(program)) == 2


@pytest.mark.parametrize("victim", ["worker process was killed", "scheduler is gone"])
def test_fault_26_a_killed_worker_or_scheduler_is_one_line(program: Program, victim: str) -> None:
    with ExitStack() as stack:
        how: tuple[str | Path, ...] = ("--cores", "2")
        if "scheduler" in victim:
            file, scheduler = stack.enter_context(dask_cluster(program.folder))
            how = ("--scheduler", file)
        child = stack.enter_context(program.going(*ENDLESS, *how))
        child.until(lambda: len(rows_of(program)) >= 2)
        if "scheduler" in victim:
            scheduler.process.kill()
        else:
            os.kill(children_of(child.process.pid)[0], signal.SIGKILL)
        ended = child.end()
    assert (ended.status, len(rows_of(program))) == (1, 2)
    assert "Traceback" not in ended.err
    assert (", by a scheduler," in ended.err) == ("--scheduler" in how)
    note, error, hint = ended.err.splitlines()[-3:]
    assert note.endswith("to resume, add -o sweep --resume")
    assert error.startswith("charrnn: error: ")
    assert error.endswith((victim, "or does not answer"))  # if it was asked for workers just then
    assert hint.endswith("What is done so far is kept.")
