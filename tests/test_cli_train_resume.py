"""To stop and to go on: the same bytes in the end, whatever came between, or a clear refusal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import charrnn
from charrnn import model_file as checkpoint
from charrnn import runs as saver
from charrnn.cli.terminal.progress import Progress
from charrnn.errors import SaveError
from charrnn.training.loop import Event
from tests.program import Program
from tests.runs import SIZE

posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

RUN = ("train", "names.txt", *SIZE, "--preview", "0")
BRIEF = (*RUN, "--epochs", "3", "--check-every", "20")


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
    [(), ("--dropout", "0.4"), ("--optimizer", "sgd"), ("--optimizer", "adagrad")],
    ids=str,
)
def test_a_run_that_is_stopped_again_and_again_ends_in_the_same_bytes(
    program: Program, stopped_after: list[int], options: tuple[str, ...]
) -> None:
    line = (*BRIEF, *options)
    assert program.run(*line, "-m", "straight.npz", "--metrics", "straight.jsonl").status == 0
    metrics = ("--metrics", "broken.jsonl", "-m", "broken.npz")
    stopped_after += [5, 1, 16, 1, 1, 7]
    again: tuple[str, ...] = ()
    while stopped_after:
        assert program.run(*line, *metrics, *again).status == 143
        again = ("--resume",)
    assert program.run("train", "--resume", *metrics).status == 0
    assert Path("broken.npz").read_bytes() == Path("straight.npz").read_bytes()
    assert Path("broken.jsonl").read_bytes() == Path("straight.jsonl").read_bytes()


def test_what_is_drawn_saved_and_said_changes_nothing(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for number, options in enumerate([(), ("-q", "--json"), ("--preview", "2")]):
        monkeypatch.setattr(saver, "OFTEN", number / 100)
        assert program.run(*BRIEF, *options, "-m", f"{number}.npz").status == 0
        files.append(Path(f"{number}.npz").read_bytes())
    assert files[0] == files[1] == files[2]


@posix
def test_before_the_first_check_up_there_is_no_best(
    program: Program, stopped_after: list[int]
) -> None:
    stopped_after.append(1)
    ran = program.run(*BRIEF, "--json")
    assert ran.status == 143
    assert ran.json["steps"] == 1
    assert set(ran.json["best"].values()) == {None}
    assert program.run("train", "--resume", "--json").json["best"]["step"] > 1


# Going on


def test_a_finished_run_has_nothing_left_and_says_how_to_have_more(program: Program) -> None:
    assert program.run(*BRIEF).status == 0
    before = Path("model.npz").stat()
    ran = program.run("train", "--resume")
    assert ran.status == 0
    assert "nothing was left to do" in ran.err
    assert "after all 3 epochs" in ran.out
    assert "time " not in ran.out
    assert "charrnn train --resume --epochs 6 " in ran.err
    assert Path("model.npz").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.usefixtures("millisecond_a_step")
def test_epochs_minutes_and_patience_may_be_raised(program: Program) -> None:
    assert program.run(*BRIEF).status == 0
    assert program.run("train", "--resume", "--epochs", "5", "--json").json["epochs"] == 5
    timed = (*RUN, "-m", "timed.npz", "--json")
    assert program.run(*timed, "--minutes", "0.002").json["stopped"] == "minutes"
    first = checkpoint.load("timed.npz").state
    ran = program.run("train", "--resume", "-m", "timed.npz", "--minutes", "0.004", "--json")
    last = checkpoint.load("timed.npz").state
    assert ran.json["stopped"] == "minutes"
    assert last.minutes >= 0.004 > first.minutes
    assert last.history[: len(first.history)] == first.history
    tired = (*RUN, "-m", "tired.npz", "--check-every", "5", "--lr", "1e-12", "--json")
    assert program.run(*tired, "--patience", "1", "--epochs", "50").json["stopped"] == "patience"
    steps = checkpoint.load("tired.npz").state.step
    ran = program.run("train", "--resume", "-m", "tired.npz", "--patience", "3", "--json")
    assert ran.json["steps"] == steps + 10


def test_the_same_line_with_resume_goes_on(program: Program) -> None:
    line = ("train", "names.txt", "--hidden", "6", "--batch", "4000", "--bptt", "0", "--clock")
    more = ("--examples", "auto", "--holdout", "0.2", "--encoding", "UTF8", "--seed", "3")
    assert program.run(*line, *more, "--epochs", "2").status == 0
    assert program.run(*line, *more, "--epochs", "2", "--resume").status == 0


ANEW = "Leave it out to resume, or train into another file with -m."


def test_what_was_trained_with_an_option_is_not_gone_on_with_without_it(program: Program) -> None:
    assert program.run(*BRIEF).status == 0
    what = "--clock contradicts model.npz, which has no --clock"
    program.refuses("train", "--resume", "--clock", what=what, hint=ANEW)


def test_a_corpus_that_has_moved_is_found_where_it_is_named(program: Program) -> None:
    assert program.run(*BRIEF).status == 0
    os.rename("names.txt", "moved.txt")
    assert program.run("train", "moved.txt", "--resume", "--epochs", "4").status == 0
    assert checkpoint.load("model.npz").corpus.sources == ("moved.txt",)


def test_a_corpus_from_a_pipe_is_asked_for_again(program: Program) -> None:
    text = (program / "names.txt").read_bytes()
    assert program.run("train", "-", *SIZE, "--epochs", "2", stdin=text).status == 0
    ran = program.run("train", "--resume", "--epochs", "3", stdin=text)
    assert ran.status == 0
    assert "charrnn train - --resume --epochs 6 < CORPUS" in ran.err


# Runs that fail


def test_a_run_that_diverges_keeps_the_network_of_that_moment(program: Program) -> None:
    line = ("--init-radius", "6", "--clip", "0", "--optimizer", "sgd", "--lr", "100")
    ran = program.run("train", "names.txt", "--hidden", "32", "--warmup", "0", *line, "-q")
    step = checkpoint.load("model.npz").state.step
    assert ran.status == 1
    assert "error: the loss diverged at step" in ran.err
    assert f"model.npz holds the run at step {step:,}. charrnn reach measures" in ran.err
    assert program.run("info", "--json").json["settings"]["init_radius"] == 6
    assert program.run("reach", "names.txt", "--json").json["spectral_radius"] > 6
    steps = program.run("unfold", "anna", "--json").json["steps"]
    assert max(one["nats"] for one in steps) > 10


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[SaveError]:
    """The errors of the next saves, none at first."""
    save, failures = checkpoint.save, list[SaveError]()

    def save_or_fail(path: Path, run: checkpoint.Checkpoint, home: str = "") -> None:
        if failures:
            raise failures.pop()
        save(path, run)

    monkeypatch.setattr(checkpoint, "save", save_or_fail)
    return failures


def test_a_save_that_fails_on_the_way_is_told_and_the_run_goes_on(
    program: Program, failures: list[SaveError]
) -> None:
    failures.append(SaveError("the disk is full", "Make room."))
    ran = program.run(*BRIEF)
    assert ran.status == 0
    assert "charrnn: warning: the disk is full; training continues\n" in ran.err
    checkpoint.load("model.npz")


def test_a_last_save_that_fails_is_an_error(program: Program, failures: list[SaveError]) -> None:
    failures += [SaveError("the disk is full", "Make room.")] * 99
    ran = program.run(*BRIEF)
    assert ran.status == 1
    assert ran.err.endswith("charrnn: error: the disk is full\nMake room. Nothing was saved.\n")


def test_the_plan_of_a_resumed_run_says_what_is_left(program: Program) -> None:
    line = ("--hidden", "4", "--layers", "1", "--patience", "1", "--check-every", "1", "--lr", "1")
    program.run("train", "names.txt", *line, "-q").says()
    plan = program.run("train", "--resume", "--dry-run", "--json").json
    assert plan["seconds"] == 0

    most = 1_000_000  # so that the clock ends it on any machine
    config = charrnn.TrainConfig(hidden=4, layers=1, minutes=10, epochs=most, patience=None)
    run = charrnn.train([Path("names.txt")], config)
    next(run)
    run.checkpoint.state.minutes = 4.0
    run.save("timed.npz")
    resumed = ("train", "--resume", "-m", "timed.npz", "--dry-run")
    assert program.run(*resumed, "--json").json["seconds"] == pytest.approx(360)
    assert "of 10 minutes (--minutes)" in program.run(*resumed).out
    more = program.run(*resumed, "--json", "--minutes", "20").json
    assert more["seconds"] == pytest.approx(16 * 60)
