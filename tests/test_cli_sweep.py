"""``charrnn sweep``: many runs, the files they come to, and what becomes of it when one is lost."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn import TrainConfig
from charrnn.cli.console import Console
from charrnn.cli.sweep.show import SweepProgress
from charrnn.errors import ResumeError
from charrnn.model_file import checkpoint
from charrnn.sweeping.grid import Result
from tests.child import answer
from tests.corpora import NAMES
from tests.program import SMALL, Program
from tests.rows import seldom
from tests.sweeps import (
    ENDLESS,
    FIXED,
    LONG,
    TWO,
    processes,
    rows_of,
    stopped,
    trained_alone,
    until_at_work,
    until_gone,
    workers_of,
)
from tests.sweeps import QUICK as QUICK_RUN


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


QUICK = (*QUICK_RUN, "--threads", "1")


@pytest.fixture(scope="module")
def sweep_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished sweep: one learning rate, two seeds."""
    there = Program(tmp_path_factory.mktemp("swept"))
    there.write("names.txt", NAMES)
    there.run("sweep", "names.txt", *QUICK, "--try", "lr=0.01", *TWO).says()
    return there / "sweep"


@pytest.fixture
def swept(program: Program, sweep_of_two: Path) -> Program:
    """The program beside that sweep, as if it had been made there."""
    shutil.copytree(sweep_of_two, program / "sweep")
    options = program / "sweep/sweep.json"
    options.write_text(options.read_text().replace(str(sweep_of_two.parent), str(program.folder)))
    return program


@pytest.mark.parametrize(
    ("tried", "options"),
    [
        (("hidden=3", "lr=0.01"), ("--layers", "1", "--epochs", "2")),
        (("cell=gru", "dropout=0.3", "counts=yes"), QUICK),
        (
            ("ends=length", "clock=yes", "own-inputs=0.5", "schedule=constant"),
            (
                *(*QUICK, "--optimizer", "sgd", "--check-every", "5"),
                *("--patience", "1", "--holdout", "0.3"),
            ),
        ),
    ],
)
def test_every_file_is_byte_for_byte_that_of_the_run_alone(
    program: Program, tried: tuple[str, ...], options: tuple[str, ...]
) -> None:
    given = [part for one in tried for part in ("--try", one)]
    program.run("sweep", "names.txt", *given, *options, "--seeds", "3", "-o", "sweep").says()
    (row,) = rows_of(program).values()
    typed = []
    for one in tried:
        name, _, value = one.partition("=")
        typed += [f"--{name}"] if value == "yes" else [f"--{name}", value]
    alone = trained_alone(program, "alone.npz", *options, *typed, "--seed", "3")
    assert row["name"] == f"{','.join(tried)},seed=3"
    assert (program / f"sweep/{row['name']}.npz").read_bytes() == alone


def test_a_row_says_what_the_run_alone_would_say(program: Program) -> None:
    program.run("sweep", "names.txt", *QUICK, "--try", "lr=0.01,0.02", *TWO).says()
    rows = rows_of(program)
    assert len(rows) == 4
    name = "lr=0.02,seed=1"
    options = [*QUICK, "--lr", "0.02", "--seed", "1", "--threads", "1", "-m", "alone.npz"]
    alone = program.run("train", "names.txt", *options, "--json").json
    row = rows[name]
    assert row["settings"] == {"lr": 0.02}
    assert row["seed"] == 1
    assert row["best"] == {name: alone["best"][name] for name in ("step", "nats_per_character")}
    assert row["model"] == f"sweep/{name}.npz"
    assert row["stopped"] == "epochs"
    assert row["seconds"] > 0
    assert row["error"] is None


def test_it_starts_from_a_model_as_a_run_alone_does(trained: Program) -> None:
    given = ("--from", "model.npz", "--epochs", "1")
    trained.run("sweep", "names.txt", *given, "--try", "lr=0.01", "-o", "sweep").says()
    alone = trained_alone(trained, "alone.npz", *given, "--lr", "0.01")
    assert (trained / "sweep/lr=0.01,seed=0.npz").read_bytes() == alone


def test_what_is_no_model_cannot_be_started_from(program: Program) -> None:
    for name in ("names.txt", "none.npz"):
        line = ("sweep", "names.txt", "--from", name, "--seeds", "0", "-o", "sweep")
        program.refuses(*line, what=name, hint="Name with --from a file")
    program.train("names.txt", "-m", "old.npz").says()
    line = ("sweep", "names.txt", "--from", "old.npz", "--epochs", "1", "--seeds", "0")
    program.run(*line, "-o", "sweep").says()
    (program / "old.npz").unlink()
    program.refuses(
        *("sweep", "--resume", "-o", "sweep", "--seeds", "0-1"),
        what="old.npz",
        hint="Put back the model",
    )


def test_what_is_not_taken_over_from_a_model_is_told(program: Program) -> None:
    program.train("names.txt", "--counts", "-m", "old.npz").says()
    line = ("sweep", "names.txt", "--from", "old.npz", "--seeds", "0", "-o", "sweep", "--dry-run")
    program.run(*line).says(
        "the counts of old.npz are not used",
    )


def test_texts_of_all_kinds_are_read_as_a_run_alone_reads_them(program: Program) -> None:
    names = (program / "names.txt").read_bytes()
    program.write("more.txt.gz", gzip.compress(names.upper()))
    program.write("held.txt", names[:60])
    files = ("more.txt.gz", "names.txt", "dinosaurs")
    how = ("--valid", "held.txt", *QUICK, "--examples", "lines")
    program.run("sweep", *files, *how, "--seeds", "0", "-o", "sweep").says()
    alone = trained_alone(program, "alone.npz", *how, sources=files)
    assert (program / "sweep/seed=0.npz").read_bytes() == alone


def test_a_pipe_is_read_once_and_learned_from_by_all(program: Program) -> None:
    names = (program / "names.txt").read_bytes()
    line = ("sweep", "-", *QUICK, *TWO)
    program.run(*line, stdin=names).says("standard input")
    how = ("-", *QUICK, "--seed", "1", "--threads", "1", "-m", "sweep/alone.npz")
    program.run("train", *how, stdin=names).says()
    assert (program / "sweep/seed=1.npz").read_bytes() == (program / "sweep/alone.npz").read_bytes()
    (program / "sweep/sweep.jsonl").unlink()
    program.refuses(
        "sweep", "--resume", "-o", "sweep", what="from standard input", hint="again: CORPUS"
    )
    ended = program.run("sweep", "-", "--resume", "-o", "sweep", stdin=names)
    ended.says("2 runs")
    other = program.run("sweep", "-", "--resume", "-o", "sweep", stdin=b"a\nb\n" * 9)
    assert (other.status, "has changed since the sweep began" in other.err) == (1, True)


@pytest.mark.parametrize(
    ("given", "what", "hints"),
    [
        seldom(["-"], "learned from standard input", {(): "CORPUS, or - for"}),
        (["-", "--valid", "names.txt"], "learned from standard input", {(): "CORPUS, or - for"}),
        (
            ["names.txt", "--valid", "-"],
            "held out standard input",
            {(): "--valid FILE, or", ("names.txt",): "--valid -"},
        ),
    ],
)
def test_a_stream_that_is_gone_is_asked_for_by_its_part(
    program: Program, given: list[str], what: str, hints: dict[tuple[str, ...], str]
) -> None:
    names = (program / "names.txt").read_bytes()
    program.run("sweep", *given, *QUICK, "--seeds", "0", "-o", "sweep", stdin=names).says()
    for again, hint in hints.items():
        program.refuses("sweep", *again, "--resume", "-o", "sweep", what=f"sweep {what}", hint=hint)
    taken = program.run(*("sweep", *given, *QUICK, "--seeds", "0", "-o", "sweep"), stdin=names)
    assert taken.status == 1
    line = taken.err.partition("Resume it: ")[2].partition(". Or")[0]
    asked = ["-", *given[1:]] if given[0] == "-" else given
    typed = ["charrnn", "sweep", *asked, "--resume", "-o", "sweep"]
    assert line == f"{' '.join(typed)} < {'CORPUS' if given[0] == '-' else 'FILE'}"
    ended = program.run(*typed[1:], stdin=names)
    ended.says("done       1 of", "charrnn sample -m")
    assert "charrnn eval" not in ended.err, "what was held out is gone"


@pytest.mark.skipif(not os.path.exists("/dev/fd/0"), reason="there is no /dev/fd")
def test_a_pipe_of_the_shell_is_asked_for_again(program: Program) -> None:
    names = (program / "names.txt").read_bytes()
    line = ("sweep", "/dev/fd/0", *QUICK, "--seeds", "0", "-o", "sweep")
    program.run(*line, stdin=names, child=True).says()
    resume = ("sweep", "--resume", "-o", "sweep")
    program.refuses(*resume, what="sweep learned from /dev/fd/0", hint="again: CORPUS")


def test_texts_of_python_are_gone_on_with_in_python(program: Program) -> None:
    folder = program / "sweep"
    config = TrainConfig(layers=1, hidden=3, epochs=1, batch=4, bptt=8)
    assert len(list(charrnn.sweep(["anna", "bob"] * 9, {}, folder=folder, config=config))) == 1
    line = ("sweep", "--resume", "-o", "sweep")
    program.refuses(*line, what="sweep was trained on texts from Python", hint="in Python")


def test_the_table_ranks_by_the_mean_over_seeds_with_their_spread(program: Program) -> None:
    ran = program.run("sweep", "names.txt", *QUICK, "--try", "lr=0.01,1e-9", *TWO)
    ran.says("2 combinations x 2 seeds: 4 runs", "to beat", "next:", "charrnn sample -m")
    head, first, second, *_ = ran.lines
    names = "held-out", "spread", "difference", "std", "error", "bits", "runs", "time", "settings"
    assert tuple(head.split()) == names
    rows = rows_of(program)
    losses = [rows[f"lr=0.01,seed={seed}"]["best"]["nats_per_character"] for seed in (0, 1)]
    mean = sum(losses) / 2
    spread = abs(losses[0] - losses[1]) / 2**0.5
    assert first.split()[:2] == [f"{mean:.3f}", f"{spread:.3f}"]
    assert (first.split()[-1], second.split()[-1]) == ("lr=0.01", "lr=1e-09")
    assert "\r" not in ran.err
    best = min(rows.values(), key=lambda row: row["best"]["nats_per_character"])
    assert f"charrnn sample -m {best['model']} -n 10" in ran.err


def test_the_summary_for_programs(swept: Program) -> None:
    ran = swept.run("sweep", "--resume", "-o", "sweep", "--json", "-q")
    assert ran.err == ""
    found = ran.json
    assert found["schema"] == "charrnn.sweep/1"
    assert (found["folder"], found["runs"], found["done"], found["failed"]) == ("sweep", 2, 2, 0)
    assert [one["settings"] for one in found["settings"]] == [{"lr": 0.01}]
    assert found["settings"][0]["seeds"] in ([0, 1], [1, 0])
    assert found["best"]["name"] in rows_of(swept)
    assert found["stopped"] == "done"


def test_a_dry_run_shows_the_plan_and_writes_nothing(program: Program) -> None:
    before = program.files()
    line = ["sweep", "names.txt", *SMALL[2:], "--try", "hidden=3,5", *TWO, "--dry-run"]
    shown = program.run(*line)
    for words in ("values     --hidden 3, 5", "4 runs", "to beat", "time       about"):
        assert words in shown.out
    assert shown.err == ""
    plan = program.run(*line, "--json").json
    assert plan["schema"] == "charrnn.sweep.plan/1"
    assert [one["name"] for one in plan["runs"]] == [
        f"hidden={hidden},seed={seed}" for seed in (0, 1) for hidden in (3, 5)
    ]
    assert program.files() == before


def test_what_comes_to_the_same_is_told(program: Program) -> None:
    line = ["sweep", "names.txt", "--try", "batch=100000,200000", *TWO, "--dry-run"]
    shown = program.run(*line).out
    assert "batch=200000 equals batch=100000" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        (["--try", "hiden=3"], "--try hiden: train has no such option", "Did you mean --hidden?"),
        (["--try", "rnn-size=3"], "--try rnn-size", "Did you mean --hidden?"),
        (["--try", "hidden=3,0"], "--try hidden: '0' is not a whole number from 1", "--help"),
        (["--try", "lr=inf"], "--try lr: 'inf' is not a number from 1e-12", "--help"),
        (["--try", "cell=tan"], "--try cell: 'tan' is not one of tanh, gru", "--help"),
        (["--try", "clock=maybe"], "--try clock: 'maybe' is not yes or no", "--help"),
        (["--try", "lr="], "--try lr: '' is not a number", "--help"),
        (["--try", "lr"], "--try lr has no values", "NAME=VALUE,VALUE"),
        (["--try", "lr=1,1.0"], "--lr 1 is repeated", "Leave one out."),
        (["--try", "lr=1", "--try", "lr=2"], "--lr is tried twice", "in one --try"),
        (
            ["--try", "lr=1,2", "--lr", "3"],
            "--lr is set, and also in --try",
            "Leave one of them out.",
        ),
        (["--try", "seed=1,2"], "--try seed: seeds have their own", "--seeds 0-4"),
        (["--try", "threads=1,2"], "--try threads: each run has one", "--threads"),
        (["--try", "holdout=0.1,0.2"], "--try holdout: runs on different texts", "--holdout VALUE"),
        (
            ["--try", "encoding=utf-8"],
            "--try encoding: runs on different texts",
            "--encoding VALUE",
        ),
        (["--try", "lr=1,2", "--seeds", "0-59999"], "that would be 120,000 runs", "fewer seeds"),
        (["--seeds", "4-0"], "--seeds: '4-0' is not seeds such as 0-4 or 1,5,7", "--help"),
        (["--seed", "4"], "no such option: --seed", "Did you mean --seeds?"),
        (["--learning-rate", "4"], "no such option: --learning-rate", "Did you mean --lr?"),
        (["--try", "check-every=1", "--epochs", "1000000"], "check-every=1: ", "--check-every"),
        (["--holdout", "0", "--seeds", "0"], "nothing is held out", "--holdout"),
        (
            ["--try", "cell=tanh,output", "--try", "layers=1,2"],
            "cell=output,layers=2: --layers 2 is too many for the cell output",
            "Use 1 layer",
        ),
        ([], "--try NAME=VALUE,VALUE is missing", "--seeds 0-4"),
    ],
)
def test_what_is_wrong_is_told_before_the_first_run_begins(
    program: Program, options: list[str], what: str, hint: str
) -> None:
    line = ["sweep", "names.txt", "-o", "sweep", *options]
    program.refuses(*line, what=what, hint=hint, status=2)


def test_without_a_corpus_or_a_folder_it_says_so(program: Program) -> None:
    program.refuses("sweep", "--seeds", "0", "-o", "x", what="CORPUS", hint="Name a file", status=2)
    program.refuses(
        "sweep", "names.txt", "--seeds", "0", what="--output FOLDER is missing", hint="-o", status=2
    )
    program.refuses(
        "sweep", "--resume", "-o", "x", what="x holds no sweep to resume", hint="Start one"
    )
    program.refuses(
        *("sweep", "nowhere.txt", "--seeds", "0", "-o", "x"),
        what="nowhere.txt does not exist",
        hint="Check the name",
    )


def test_nothing_is_replaced(program: Program) -> None:
    line = ["sweep", "names.txt", *QUICK, "--try", "lr=0.01,0.02", "-o", "sweep"]
    (program / "sweep").mkdir()
    program.write("sweep/lr=0.02,seed=0.npz", "mine")
    program.refuses(*line, what="lr=0.02,seed=0.npz already exists", hint="another folder")
    program.write("file", "mine")
    ended = program.refuses(*line[:-1], "file", what="file is not a folder", hint="another one")
    assert "runs" not in ended.err, "before the plan"
    os.unlink(program / "sweep/lr=0.02,seed=0.npz")
    program.run(*line).says()
    program.refuses(*line, what="sweep already holds a sweep", hint="charrnn sweep --resume")


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the super-user writes everywhere")
def test_a_folder_that_cannot_be_written_to_is_told(program: Program) -> None:
    (program / "sweep").mkdir(mode=0o500)
    line = ["sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep"]
    program.refuses(*line, what="sweep", hint="Name another folder.")


def test_a_module_in_the_current_folder_is_not_taken_for_one_of_ours(program: Program) -> None:
    for name in ("json.py", "queue.py", "numpy.py"):
        program.write(name, "raise SystemExit('somebody else')")
    program.run("sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep").says("next:")


def test_only_what_is_missing_is_made_and_seeds_and_values_can_be_added(swept: Program) -> None:
    before = rows_of(swept)
    swept.run("sweep", "--resume", "-o", "sweep").says("done       2 of")
    assert rows_of(swept) == before
    more = ("--try", "lr=0.01,0.02", "--seeds", "0-2")
    swept.run("sweep", "--resume", "-o", "sweep", *more).says("6 runs", "done       2 of")
    after = rows_of(swept)
    assert len(after) == 6
    assert {name: after[name] for name in before} == before
    alone = trained_alone(swept, "alone.npz", *QUICK, "--lr", "0.02", "--seed", "2")
    assert (swept / "sweep/lr=0.02,seed=2.npz").read_bytes() == alone
    assert swept.run("sweep", "--resume", "-o", "sweep", "--json", "-q").json["runs"] == 6


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        (["--epochs", "2"], "--epochs 2 contradicts sweep, which has 1", "-o"),
        (["--clip", "2"], "--clip 2 contradicts sweep, which has 1", "-o"),
        (["--holdout", "0.2"], "--holdout 0.2 contradicts sweep", "-o"),
        (["--lr", "0.01"], "--lr is tried in sweep", "-o"),
        (["--try", "lr=0.02"], "also tries lr 0.01", "added but not removed"),
        (["--try", "clip=1"], "tries lr", "another folder"),
        (["--seeds", "1-2"], "also tries seeds 0", "added but not removed"),
        (["--valid", "other.txt"], "has changed since the sweep began", "another folder"),
        (["other.txt"], "has changed since the sweep began", "another folder"),
    ],
)
def test_other_options_than_those_of_the_folder_are_refused(
    swept: Program, options: list[str], what: str, hint: str
) -> None:
    swept.write("other.txt", "x\ny\n" * 20)
    line = ["sweep", "--resume", "-o", "sweep", *options]
    swept.refuses(*line, what=what, hint=hint)


def test_the_same_options_as_those_of_the_folder_may_be_typed_again(swept: Program) -> None:
    same = ["--epochs", "1", "--clip", "1", "--try", "lr=0.01", "--seeds", "0-1", "names.txt"]
    swept.run("sweep", "--resume", "-o", "sweep", *same).says("done       2 of")


def in_python(program: Program, seeds: range, **said: object) -> list[str]:
    """The runs that a sweep from Python makes in the folder that is there."""
    settings = {"layers": 1, "batch": 4, "bptt": 8, "hidden": 3, "epochs": 1} | said
    holdout: Any = settings.pop("holdout", 0.1)
    config: Any = TrainConfig(**settings)  # type: ignore[arg-type]
    given = {"seeds": seeds, "config": config, "holdout": holdout, "processes": 1}
    folder, names = program / "sweep", program / "names.txt"
    runs = charrnn.sweep(names, {"lr": [0.01]}, folder=folder, resume=folder.exists(), **given)
    return [one.name for one in runs]


@pytest.mark.parametrize(
    "typed",
    [
        seldom(("--clip", "1", "--holdout", "0.1")),
        ("--examples", "lines", "--newlines", "keep", "--valid", "held.txt"),
    ],
)
def test_python_goes_on_with_what_the_command_line_began(
    program: Program, typed: tuple[str, ...]
) -> None:
    program.write("held.txt", "anna\nbob\n")
    line = ("names.txt", *QUICK, *typed)
    program.run("sweep", *line, "--try", "lr=0.01", "-o", "sweep").says()
    for other in ({"clip": 2.0}, {"holdout": 0.2}, {"epochs": 2}):
        with pytest.raises(ResumeError, match="contradicts"):
            in_python(program, range(2), **other)
    assert in_python(program, range(2)) == ["lr=0.01,seed=1"]
    alone = trained_alone(
        program, "a.npz", *line[1:], "--lr", "0.01", "--seed", "1", sources=line[:1]
    )
    assert (program / "sweep/lr=0.01,seed=1.npz").read_bytes() == alone
    program.run("sweep", "--resume", "-o", "sweep", *typed).says("done       2 of")


def test_the_command_line_goes_on_with_what_python_began(program: Program) -> None:
    assert in_python(program, range(1)) == ["lr=0.01,seed=0"]
    more = ("--clip", "1", "--holdout", "0.1", "--seeds", "0-1")
    program.run("sweep", "--resume", "-o", "sweep", *more).says("done       1 of")
    assert list(rows_of(program)) == ["lr=0.01,seed=0", "lr=0.01,seed=1"]


def test_what_the_command_line_started_from_stays_where_python_goes_on(trained: Program) -> None:
    line = ("--from", "model.npz", "--epochs", "1")
    trained.run("sweep", "names.txt", *line, "--try", "lr=0.01", "-o", "sweep").says()
    config = TrainConfig(epochs=1)
    tried = {"lr": [0.01]}
    given: Any = {"folder": trained / "sweep", "resume": True, "config": config}
    (one,) = charrnn.sweep(trained / "names.txt", tried, seeds=[0, 1], **given)
    alone = trained_alone(trained, "alone.npz", *line, "--lr", "0.01", "--seed", "1")
    assert (trained / f"sweep/{one.name}.npz").read_bytes() == alone


@pytest.mark.parametrize(
    "damage",
    [
        {"places": []},
        {"places": ["../names.txt"] * 3},
        {"places": [7]},
        {"sources": "x"},
        {"valid": [None]},
        {"learning": {"hiden": 3}},
        {"learning": {"hidden": -3}},
        {"reading": {"encoding": 5}},
        {"cutting": {"holdout": "a lot"}},
        {"tried": ["lr"]},
        {"seeds": 3},
        {"seeds": [*range(100_001)]},
        {"start_from": 3},
        {"start_from": "a\0b"},
        {"sources": ["a\0b"]},
        {"learning": {"seed": 1}},
        {"learning": {"workers": 2}},
        {"cutting": {"seed": 1}},
        {"cutting": {"known": "x"}},
        {"cutting": {"reading": {}}},
        {"schema": "charrnn.sweep.options/0"},
    ],
)
def test_a_folder_that_does_not_say_what_is_to_be_done_is_damaged(
    swept: Program, damage: dict[str, object]
) -> None:
    options = json.loads((swept / "sweep/sweep.json").read_text())
    swept.write("sweep/sweep.json", json.dumps(options | damage))
    swept.refuses(
        *("sweep", "--resume", "-o", "sweep"),
        what="sweep.json is damaged",
        hint="Begin the sweep anew",
    )


def test_half_a_row_is_survived(swept: Program) -> None:
    rows = swept / "sweep/sweep.jsonl"
    whole = rows.read_text()
    model = (swept / "sweep/lr=0.01,seed=1.npz").read_bytes()
    rows.write_text(whole[:-40])
    swept.run("sweep", "--resume", "-o", "sweep").says("done       1 of")
    assert len(rows_of(swept)) == len(rows.read_text().splitlines()) == 2
    assert (swept / "sweep/lr=0.01,seed=1.npz").read_bytes() == model


def test_a_model_that_is_gone_is_made_again_and_one_that_is_another_is_named(
    swept: Program,
) -> None:
    first, second = (swept / f"sweep/lr=0.01,seed={seed}.npz" for seed in (0, 1))
    whole = second.read_bytes()
    second.unlink()
    swept.run("sweep", "--resume", "-o", "sweep").says("done       1 of")
    assert second.read_bytes() == whole
    for other, said in ((whole[:1000], "is damaged"), (first.read_bytes(), "other settings")):
        second.write_bytes(other)
        ran = swept.run("sweep", "--resume", "-o", "sweep")
        assert (ran.status, said in ran.err, "Move the file away" in ran.err) == (1, True, True)
        assert second.read_bytes() == other


def test_it_goes_on_where_a_setting_needs_what_is_tried(program: Program) -> None:
    line = ("--teacher-forcing", "--try", "cell=output", "--hidden", "3", "--epochs", "1")
    program.run("sweep", "names.txt", *line, "-o", "sweep").says()
    program.run("sweep", "--resume", "-o", "sweep").says("done       1 of")


def test_it_goes_on_where_what_is_tried_was_made_to_fit_the_corpus(program: Program) -> None:
    small = ("--hidden", "3", "--layers", "1", "--epochs", "1", "-o", "sweep")
    program.run("sweep", "names.txt", "--try", "bptt=8,9999", "--try", "batch=4,512", *small).says()
    program.run("sweep", "--resume", "-o", "sweep").says("done       4 of")
    other = (program / "sweep/bptt=8,batch=4,seed=0.npz").read_bytes()
    for name in ("bptt=9999,batch=4", "bptt=8,batch=512"):
        (path := program / f"sweep/{name},seed=0.npz").unlink()
        path.write_bytes(other)
        ran = program.run("sweep", "--resume", "-o", "sweep")
        assert (ran.status, f"{name},seed=0.npz has other settings than its row" in ran.err) == (
            1,
            True,
        )
        path.unlink()


def test_it_goes_on_from_another_folder_with_the_corpus_moved(program: Program) -> None:
    program.run("sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep").says()
    (program / "sweep/sweep.jsonl").unlink()
    (program / "elsewhere").mkdir()
    again = program.run("sweep", "--resume", "-o", "../sweep", cwd=program / "elsewhere")
    again.says("1 run")
    (program / "sweep/sweep.jsonl").unlink()
    os.rename(program / "names.txt", program / "moved.txt")
    lost = program.run("sweep", "--resume", "-o", "sweep")
    assert (lost.status, "names.txt does not exist" in lost.err) == (1, True)
    program.run("sweep", "moved.txt", "--resume", "-o", "sweep").says("1 run")


@pytest.mark.parametrize(("here", "typed"), [("sweep", "."), ("sweep", "../sweep"), (".", "sweep")])
def test_a_model_is_named_as_it_is_seen_from_here(swept: Program, here: str, typed: str) -> None:
    resume, cwd = ("sweep", "--resume", "-o", typed), swept / here
    best = swept.run(*resume, "--json", "-q", cwd=cwd).json["best"]
    planned = swept.run(*resume, "--dry-run", "--json", cwd=cwd).json["runs"]
    shown = best["model"]
    assert (cwd / shown).samefile(swept / f"sweep/{best['name']}.npz")
    assert shown in [run["model"] for run in planned]
    swept.run(*resume, cwd=cwd).says("next:", f"charrnn eval -m {shown}")


def test_a_run_that_diverges_is_a_row_and_does_not_stop_the_others(program: Program) -> None:
    line = ["sweep", "names.txt", *QUICK, "--try", "lr=100000,0.01", "--clip", "0", *TWO]
    ran = program.run(*line)
    assert ran.status == 1
    assert ran.err.splitlines()[-2].startswith("charrnn: error: 2 of 4 runs failed; lr=100000")
    assert "sweep/sweep.jsonl has the reasons" in ran.err.splitlines()[-1]
    rows = rows_of(program)
    assert [rows[f"lr=100000,seed={seed}"]["stopped"] for seed in (0, 1)] == ["diverged"] * 2
    assert "the loss diverged" in rows["lr=100000,seed=0"]["error"]
    assert rows["lr=100000,seed=0"]["best"] == {"step": None, "nats_per_character": None}
    assert rows["lr=0.01,seed=1"]["error"] is None
    assert "lr=0.01" in ran.lines[1]
    assert "failed" in ran.lines[2]
    again = program.run("sweep", "--resume", "-o", "sweep")
    assert (again.status, len(rows_of(program))) == (1, 4)
    assert len((program / "sweep/sweep.jsonl").read_text().splitlines()) == 4


@processes
def test_ctrl_c_saves_all_runs_and_to_go_on_comes_to_the_same_files(program: Program) -> None:
    line = ("sweep", "names.txt", *LONG, "--try", "lr=0.01,0.02", "-o", "sweep", "--threads", "2")
    runs = ("lr=0.01,seed=0", "lr=0.02,seed=0")
    with program.going(*line) as child:
        with stopped(child, *runs) as workers:
            assert {*workers} == {*workers_of(child.process.pid)}
            os.killpg(child.process.pid, signal.SIGINT)  # as a terminal does
        ended = child.end()
        until_gone(workers)
    assert ended.status == 130
    assert "0 of 2 runs are done" in ended.err
    assert "to resume: charrnn sweep --resume -o sweep" in ended.err
    assert "Traceback" not in ended.err
    assert [p.name for p in (program / "sweep").iterdir() if p.name.startswith(".")] == []
    for run in runs:
        assert checkpoint.load(program / f"sweep/{run}.npz").state.epoch < 20
    program.run("sweep", "--resume", "-o", "sweep").says("next:")
    for run, lr in zip(runs, ("0.01", "0.02"), strict=True):
        alone = trained_alone(program, f"alone-{lr}.npz", *LONG, "--lr", lr)
        assert (program / f"sweep/{run}.npz").read_bytes() == alone


@processes
@pytest.mark.parametrize(
    ("name", "status", "send"),
    [("SIGTERM", 143, os.killpg), seldom("SIGHUP", 129, os.kill)],
)
def test_a_signal_to_the_sweep_alone_or_to_all_of_it_stops_all_of_it(
    program: Program, name: str, status: int, send: Callable[[int, int], None]
) -> None:
    line = ("sweep", "names.txt", *ENDLESS, "--seeds", "0-9", "-o", "sweep", "--threads", "2")
    with program.going(*line) as child:
        until_at_work(child, "seed=1")
        workers = workers_of(child.process.pid)
        send(child.process.pid, signal.Signals[name])
        ended = child.end()
        assert (ended.status, "repeating" in ended.err) == (status, False)
        until_gone(workers)
    assert checkpoint.load(program / "sweep/seed=1.npz").state.step > 0


@processes
def test_the_second_ctrl_c_stops_at_once_and_leaves_nobody(program: Program) -> None:
    line = ("sweep", "names.txt", *ENDLESS, "--seeds", "0-1", "-o", "sweep", "--threads", "2")
    with program.going(*line) as child:
        until_at_work(child, "seed=1")
        workers = workers_of(child.process.pid)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)  # so that they cannot end by themselves
        child.send(signal.SIGINT)
        child.until(lambda: "Ctrl-C stops at once" in child.err)
        child.send(signal.SIGINT)
        assert child.end().status == 130
        until_gone(workers)


@processes
def test_a_worker_that_is_killed_is_told_and_its_run_is_made_once_more(program: Program) -> None:
    line = ("sweep", "names.txt", *LONG, "--seeds", "0", "-o", "sweep", "--threads", "1")
    with program.going(*line) as child:
        with stopped(child, "seed=0") as (worker,):
            os.kill(worker, signal.SIGKILL)
        ended = child.end()
    ended.says("the process of seed=0 was ended by SIGKILL; repeating its run")
    assert (program / "sweep/seed=0.npz").read_bytes() == trained_alone(program, "a.npz", *LONG)


@processes
def test_a_run_that_is_killed_twice_is_a_row_and_resume_makes_it_again(program: Program) -> None:
    line = ("sweep", "names.txt", *FIXED, "--try", "epochs=1,19", "-o", "sweep", "--threads", "1")
    with program.going(*line) as child:
        for _ in range(2):
            with stopped(child, "epochs=19,seed=0") as (worker,):
                os.kill(worker, signal.SIGKILL)
                until_gone([worker])
        ended = child.end()
    assert ended.status == 1
    rows = rows_of(program)
    assert rows["epochs=1,seed=0"]["error"] is None
    assert rows["epochs=19,seed=0"]["error"] == "its process was ended by SIGKILL, 2 times"
    assert "1 of 2 runs failed" in ended.err
    program.run("sweep", "--resume", "-o", "sweep").says("done       1 of")
    assert rows_of(program)["epochs=19,seed=0"]["error"] is None


@processes
def test_a_sweep_that_is_killed_leaves_nobody_behind_and_goes_on(program: Program) -> None:
    longer = (*LONG, "--epochs", "300")
    line = ("sweep", "names.txt", *longer, "--seeds", "0-1", "-o", "sweep", "--threads", "2")
    with program.going(*line) as child:
        until_at_work(child, "seed=0")
        until_at_work(child, "seed=1")
        workers = workers_of(child.process.pid)
        child.send(signal.SIGKILL)
        child.process.wait()
    program.run("sweep", "--resume", "-o", "sweep").says("next:")  # while they may be ending yet
    until_gone(workers)
    for seed in ("0", "1"):
        alone = trained_alone(program, f"alone-{seed}.npz", *longer, "--seed", seed)
        assert (program / f"sweep/seed={seed}.npz").read_bytes() == alone


def test_two_sweeps_into_one_folder_are_refused(program: Program) -> None:
    with program.going("sweep", "names.txt", *ENDLESS, "--seeds", "0", "-o", "sweep") as child:
        until_at_work(child, "seed=0")
        second = program.run("sweep", "--resume", "-o", "sweep")
    assert second.status == 1
    assert "another sweep is running in sweep" in second.err
    assert "name another folder" in second.err


def test_a_terminal_sees_a_bar_over_all_runs_and_the_best_so_far(program: Program) -> None:
    status, seen = program.terminal(
        *("sweep", "names.txt", *LONG, "--epochs", "60", "--try", "lr=0.01,0.02"),
        *("-o", "sweep", "--threads", "1"),
        columns=120,
    )
    assert status == 0
    assert re.search(r"1 of 2 runs   best \d\.\d{3} lr=0.01,seed=0   .* left   +\d+% \|", seen)
    assert "*: the best run so far." in " ".join(seen.split())
    assert "\x1b[1;32m" in seen, "the best is marked"


def test_the_bar_counts_runs_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar is drawn at most every 0.1 seconds, and when a run ends."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with (
        redirect_stderr(stream := Terminal()),
        SweepProgress({"a": 1.0, "b": 1.0}, None, 2, Console()) as screen,
    ):
        for done, name in enumerate("ab", 1):
            screen.end(Result(name, {}, 0, 1, 2.5, None, 0.01, "epochs"))
            assert f"{done} of 2 runs   best 2.500 a" in stream.getvalue()


def test_a_pipe_gets_rows_and_no_bar_and_quiet_says_nothing(program: Program) -> None:
    ran = program.run("sweep", "names.txt", *QUICK, *TWO)
    assert "\r" not in ran.err
    assert "\x1b" not in ran.err + ran.out
    assert ran.err.count("seed=0") >= 1
    again = program.run("sweep", "--resume", "-o", "sweep", "-q")
    assert (again.status, again.out, again.err) == (0, "", "")


def test_no_package_beyond_the_four_is_imported() -> None:
    code = (
        "import sys, runpy; sys.argv = ['charrnn', 'sweep', 'dinosaurs', '--seeds', '0',"
        " '--dry-run', '-q', '-o', 'x']\n"
        "try: runpy.run_module('charrnn', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print(sorted({'dask', 'distributed', 'multiprocessing'} & set(sys.modules)))"
    )
    assert answer(code).splitlines()[-1] == "[]"
