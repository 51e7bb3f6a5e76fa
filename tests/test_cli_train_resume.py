"""To stop and to go on: the same bytes in the end, whatever came between, or a clear refusal."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from charrnn import checkpoint, plan
from charrnn.cli import threads
from charrnn.cli.training import saving
from charrnn.cli.training.progress import Progress
from charrnn.errors import SaveError
from charrnn.training import Event
from tests.running import PLAIN, Here, going, in_a_child, wait_for
from tests.test_cli_train import NAMES

posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SMALL = ("--hidden", "6", "--layers", "1", "--bptt", "6", "--batch", "4", "--threads", "1")
RUN = ("train", "names.txt", *SMALL, "--preview", "0")
BRIEF = (*RUN, "--epochs", "3", "--check-every", "20")
SLOW = ("train", "names.txt", "--hidden", "64", "--layers", "2", "--batch", "8", "--bptt", "8")


@pytest.fixture
def here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Here:
    """Command lines run in a folder of their own, with a corpus in it."""
    for name in threads.BLAS:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(plan, "TRIAL", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("\n".join(NAMES * 4) + "\n")
    return Here(capsys)


@pytest.fixture
def stopped_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """SIGTERM comes after so many events: what is in the list, one number a run."""
    plans: list[int] = []
    seen: list[Event] = []
    show = Progress.show

    def shown(self: Progress, event: Event) -> None:
        show(self, event)
        seen.extend([event] if plans else [])
        if plans and len(seen) == plans[0]:
            plans.pop(0)
            seen.clear()
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Progress, "show", shown)
    yield plans
    assert not plans, "a run ended before it could be stopped"


# The same bytes


@posix
@pytest.mark.parametrize(
    "options",
    [(), ("--carry",), ("--dropout", "0.4"), ("--optimizer", "sgd"), ("--optimizer", "adagrad")],
    ids=str,
)
def test_a_run_that_is_stopped_again_and_again_ends_in_the_same_bytes(
    here: Here, stopped_after: list[int], options: tuple[str, ...]
) -> None:
    line = (*BRIEF, *options)
    assert here(*line, "-m", "straight.npz", "--metrics", "straight.jsonl").status == 0
    metrics = ("--metrics", "broken.jsonl", "-m", "broken.npz")
    stopped_after += [5, 1, 16, 1, 1, 7]
    again: tuple[str, ...] = ()
    while stopped_after:
        assert here(*line, *metrics, *again).status == 143
        again = ("--resume",)
    assert here("train", "--resume", *metrics).status == 0
    assert Path("broken.npz").read_bytes() == Path("straight.npz").read_bytes()
    assert Path("broken.jsonl").read_bytes() == Path("straight.jsonl").read_bytes()


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_run_that_is_struck_at_random_ends_in_the_same_bytes(here: Here, name: str) -> None:
    chance = random.Random(name)
    line = (*SLOW, "--epochs", "40", "--check-every", "20", "-q")
    assert in_a_child(*line, "-m", "straight.npz", "--metrics", "straight.jsonl").status == 0
    metrics = ("--metrics", "broken.jsonl", "-m", "broken.npz")
    for _ in range(5):
        with going(*line, *metrics, *as_far_as_it_came()) as child:
            with suppress(subprocess.TimeoutExpired):
                child.wait(chance.uniform(0.4, 1.0))
            child.send_signal(signal.Signals[name])
            child.communicate(timeout=30)
    assert in_a_child(*line, *metrics, *as_far_as_it_came()).status == 0
    assert Path("broken.npz").read_bytes() == Path("straight.npz").read_bytes()
    assert Path("broken.jsonl").read_bytes() == Path("straight.jsonl").read_bytes()


def as_far_as_it_came() -> tuple[str, ...]:
    """How to go on with a run that may have been struck before its first save."""
    if Path("broken.npz").exists():
        return ("--resume",)
    Path("broken.jsonl").unlink(missing_ok=True)
    return ()


def test_what_is_drawn_saved_and_said_changes_nothing(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for number, options in enumerate([(), ("-q", "--json"), ("--preview", "2")]):
        monkeypatch.setattr(saving, "OFTEN", number / 100)
        assert here(*BRIEF, *options, "-m", f"{number}.npz").status == 0
        files.append(Path(f"{number}.npz").read_bytes())
    assert files[0] == files[1] == files[2]


# Signals


@posix
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_is_answered_at_once_saved_and_told_how_to_go_on(
    here: Here, name: str, status: int
) -> None:
    line = (*SLOW, "--epochs", "100000", "--check-every", "20", "--json")
    with going(*line, "--metrics", "run.jsonl") as child:
        wait_for(child, "   epoch   ")
        began = time.perf_counter()
        child.send_signal(signal.Signals[name])
        wait_for(child, "finishing this step")
        seconds = time.perf_counter() - began
        out, rest = child.communicate(timeout=10)
    assert seconds < 0.1
    assert child.returncode == status
    assert json.loads(out)["stopped"] == "interrupted"
    step = checkpoint.load("model.npz").state.step
    assert step == json.loads(out)["steps"] > 0
    said = f"saved at step {step:,}; to go on: charrnn train --resume --metrics run.jsonl\n"
    assert rest.decode().endswith(said)
    assert os.listdir(".").count(".model.npz.lock") == 0


@posix
def test_a_second_signal_stops_at_once_and_the_last_save_is_whole(here: Here) -> None:
    line = ("train", "names.txt", "--hidden", "900", "--layers", "2", "--epochs", "9999")
    with going(*line, "--bptt", "64", "--batch", "4") as child:
        wait_for(child, "to beat")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        wait_for(child, "finishing this step")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
    assert child.returncode == 130
    assert not [name for name in os.listdir() if name.endswith((".tmp", ".lock"))]
    if Path("model.npz").exists():
        checkpoint.load("model.npz")


@posix
def test_before_the_first_check_up_there_is_no_best(here: Here, stopped_after: list[int]) -> None:
    stopped_after.append(1)
    ran = here(*BRIEF, "--json")
    assert ran.status == 143
    assert ran.json["steps"] == 1
    assert set(ran.json["best"].values()) == {None}
    assert here("train", "--resume", "--json").json["best"]["step"] > 1


# Going on


def test_a_finished_run_has_nothing_left_and_says_how_to_have_more(here: Here) -> None:
    assert here(*BRIEF).status == 0
    before = Path("model.npz").stat()
    ran = here("train", "--resume")
    assert ran.status == 0
    assert "there was nothing left to do: all 3 epochs are done" in ran.err
    assert "charrnn train --resume --epochs N" in ran.err
    assert Path("model.npz").stat().st_mtime_ns == before.st_mtime_ns


def test_epochs_minutes_and_patience_may_be_raised(here: Here) -> None:
    assert here(*BRIEF).status == 0
    assert here("train", "--resume", "--epochs", "5", "--json").json["epochs"] == 5
    timed = (*RUN, "-m", "timed.npz", "--json")
    assert here(*timed, "--minutes", "0.002").json["stopped"] == "minutes"
    first = checkpoint.load("timed.npz").state
    ran = here("train", "--resume", "-m", "timed.npz", "--minutes", "0.004", "--json")
    last = checkpoint.load("timed.npz").state
    assert ran.json["stopped"] == "minutes"
    assert last.minutes >= 0.004 > first.minutes
    assert last.history[: len(first.history)] == first.history
    tired = (*RUN, "-m", "tired.npz", "--check-every", "5", "--lr", "1e-12", "--json")
    assert here(*tired, "--patience", "1", "--epochs", "50").json["stopped"] == "patience"
    steps = checkpoint.load("tired.npz").state.step
    ran = here("train", "--resume", "-m", "tired.npz", "--patience", "3", "--json")
    assert ran.json["steps"] == steps + 10


def test_the_same_line_with_resume_goes_on(here: Here) -> None:
    line = ("train", "names.txt", "--hidden", "6", "--batch", "4000", "--bptt", "0", "--carry")
    more = ("--examples", "auto", "--holdout", "0.2", "--encoding", "UTF8", "--seed", "3")
    assert here(*line, *more, "--epochs", "2").status == 0
    assert here(*line, *more, "--epochs", "2", "--resume").status == 0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("--hidden 7", "--hidden 7 contradicts model.npz, which has 6"),
        ("--layers 2", "--layers 2 contradicts model.npz, which has 1"),
        ("--lr 0.5", "--lr 0.5 contradicts model.npz, which has 0.002"),
        ("--seed 8", "--seed 8 contradicts model.npz, which has 0"),
        ("--threads 2", "--threads 2 contradicts model.npz, which has 1"),
        ("--batch 3", "--batch 3 contradicts model.npz, which has 4"),
        ("--bptt 0", "--bptt 7 contradicts model.npz, which has 6"),
        ("--carry", "--carry True contradicts model.npz, which has False"),
        ("--optimizer sgd", "--optimizer sgd contradicts model.npz, which has adam"),
        ("--check-every 9", "--check-every 9 contradicts model.npz, which has 20"),
        ("--epochs 2", "--epochs 2 contradicts model.npz, which has 3"),
        ("--minutes 9", "--minutes 9 contradicts model.npz, which has no limit"),
        ("--patience 9", "--patience 9 contradicts model.npz, which has no limit"),
        ("--holdout 0.5", "--holdout 0.5 contradicts model.npz, which has 0.1"),
        ("--examples files", "--examples files contradicts model.npz, which has lines"),
        ("--encoding latin-1", "--encoding latin-1 contradicts model.npz, which has utf-8"),
        ("--newlines keep", "--newlines keep contradicts model.npz, which has translate"),
        ("--normalize NFC", "--normalize NFC contradicts model.npz, which has none"),
    ],
)
def test_what_contradicts_the_run_is_refused_with_both_values(
    here: Here, options: str, what: str
) -> None:
    assert here(*BRIEF, "--lr", "0.002").status == 0
    before = Path("model.npz").read_bytes()
    ran = here("train", "--resume", *options.split())
    assert (ran.status, ran.out) == (1, "")
    assert f"charrnn: error: {what}\n" in ran.err
    assert Path("model.npz").read_bytes() == before


def test_another_corpus_is_refused_and_both_are_named(here: Here) -> None:
    assert here(*BRIEF).status == 0
    then = checkpoint.load("model.npz").corpus.fingerprint
    Path("other.txt").write_text("x\ny\n")
    ran = here("train", "other.txt", "--resume")
    assert ran.status == 1
    assert "other.txt is not what model.npz learned from (names.txt): SHA-256 " in ran.err
    assert f"and it was {then[:12]}" in ran.err
    with Path("names.txt").open("a") as file:
        file.write("zoe\n")
    assert "is not what model.npz learned from" in here("train", "--resume").err


def test_a_corpus_that_has_moved_is_found_where_it_is_named(here: Here) -> None:
    assert here(*BRIEF).status == 0
    os.rename("names.txt", "moved.txt")
    ran = here("train", "--resume", "--epochs", "4")
    assert ran.status == 1
    assert "Say where it is now: charrnn train CORPUS --resume" in ran.err
    assert here("train", "moved.txt", "--resume", "--epochs", "4").status == 0
    assert checkpoint.load("model.npz").corpus.sources == ("moved.txt",)


def test_a_corpus_from_a_pipe_is_asked_for_again(tmp_path: Path) -> None:
    text = "\n".join(NAMES * 4).encode()
    assert in_a_child("train", "-", *SMALL, "--epochs", "2", cwd=tmp_path, typed=text).status == 0
    ran = in_a_child("train", "--resume", "--epochs", "3", cwd=tmp_path, typed=text)
    assert ran.status == 0
    assert "charrnn train - --resume --epochs N < CORPUS" in ran.err


def test_there_must_be_something_to_go_on_with(here: Here) -> None:
    ran = here("train", "--resume", "-m", "none.npz")
    assert (ran.status, ran.err) == (
        1,
        "charrnn: error: there is no none.npz to go on with\n"
        "Train one first: charrnn train CORPUS -m none.npz\n",
    )
    ran = here("train", "--resume", "-m", "names.txt")
    assert ran.status == 1
    assert "names.txt" in ran.err.splitlines()[0]


# Two runs, and runs that fail


def test_a_second_run_into_the_same_file_is_refused(here: Here) -> None:
    with going(*SLOW, "--epochs", "100000", "-m", "x.npz") as child:
        wait_for(child, "corpus")
        ran = here("train", "names.txt", "-m", "x.npz", "--force")
        assert (ran.status, ran.out) == (1, "")
        assert f"x.npz is being written by another run (process {child.pid})" in ran.err


def test_a_run_that_diverges_says_where_and_leaves_what_was_there(here: Here) -> None:
    assert here(*BRIEF).status == 0
    before = Path("model.npz").read_bytes()
    ran = here(*RUN, "--force", "--lr", "1e6", "--clip", "0", "--warmup", "0", "--epochs", "9")
    assert ran.status == 1
    what, hint = ran.err.splitlines()[-2:]
    assert what.startswith("charrnn: error: the loss grew out of bounds at step ")
    assert hint.startswith("Try a smaller learning rate, such as --lr ")
    assert hint.endswith("model.npz is what it was before.")
    assert Path("model.npz").read_bytes() == before


def test_a_run_that_diverges_late_says_what_was_saved(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "OFTEN", 0.0)
    line = (*RUN, "--lr", "1000", "--warmup", "1000", "--clip", "0", "--epochs", "9")
    ran = here(*line, "--check-every", "1")
    step = checkpoint.load("model.npz").state.step
    assert ran.status == 1
    assert f"model.npz holds the run as it was at step {step:,}." in ran.err
    assert step > 0


def test_a_save_that_fails_on_the_way_is_told_and_the_run_goes_on(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, failures = checkpoint.save, [SaveError("the disk is full", "Make room.")]

    def failing(path: Path, run: checkpoint.Checkpoint) -> None:
        if failures:
            raise failures.pop()
        save(path, run)

    monkeypatch.setattr(checkpoint, "save", failing)
    ran = here(*BRIEF)
    assert ran.status == 0
    assert "charrnn: warning: the disk is full; training goes on\n" in ran.err
    checkpoint.load("model.npz")


def test_a_last_save_that_fails_is_an_error(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: Path, run: checkpoint.Checkpoint) -> None:
        raise SaveError("the disk is full", "Make room.")

    monkeypatch.setattr(checkpoint, "save", failing)
    ran = here(*BRIEF)
    assert ran.status == 1
    assert ran.err.endswith("charrnn: error: the disk is full\nMake room. Nothing was saved.\n")


@posix
def test_the_surroundings_change_nothing(here: Here) -> None:
    assert in_a_child(*BRIEF, "-m", "usual.npz").status == 0
    odd = {
        "LANG": "C",
        "LC_ALL": "C",
        "TERM": "dumb",
        "COLUMNS": "1",
        "PYTHONIOENCODING": "ascii",
        "NO_COLOR": "1",
    }
    folder = Path("gone").absolute()
    folder.mkdir()
    home = Path.cwd()
    line = [str(home / word) if word == "names.txt" else word for word in BRIEF]
    program = (
        "import os, sys; os.environ.pop('HOME', None); os.rmdir(os.getcwd());"
        "from charrnn.__main__ import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *line, "-m", str(home / "odd.npz")],
        cwd=folder,
        env=PLAIN | odd,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    usual, odd_one = (checkpoint.load(home / name) for name in ("usual.npz", "odd.npz"))
    assert (usual.state.parameters.flat == odd_one.state.parameters.flat).all()
