"""``charrnn sweep`` on the workers of Dask: the same files, whoever dies meanwhile."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.clusters import SOON, Machines, kill_session, machines, need_dask
from tests.program import Program
from tests.sweeps import (
    ENDLESS,
    FIXED,
    LONG,
    QUICK,
    is_alive,
    rows_of,
    stopped,
    trained_alone,
    until_gone,
    workers_of,
)

need_dask()

TO_GO_ON = (
    "1 of 2 runs are done; runs that had begun will start over;"
    " to resume: charrnn sweep --resume -o sweep"
)


@contextmanager
def one_worker(factory: pytest.TempPathFactory, *, nanny: bool = False) -> Iterator[Machines]:
    """Run a scheduler with a worker."""
    folder = factory.mktemp("machines")
    with machines(folder, 1, SOON | {"TMPDIR": str(folder)}, nanny=nanny) as made:
        yield made


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler with a worker, shared by the tests of this file."""
    with one_worker(tmp_path_factory, nanny=True) as made:
        yield made


@pytest.fixture
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler with a worker, for a test that kills the scheduler."""
    with one_worker(tmp_path_factory) as made:
        yield made


def test_workers_of_this_machine_come_to_the_files_of_runs_alone(trained: Program) -> None:
    trained.write("more.txt.gz", gzip.compress(b"zoe\nzelda\nzora\n" * 5))
    given = ("names.txt", "more.txt.gz", "--from", "model.npz", "--epochs", "1")
    line = (*given, "--try", "lr=0.01,0.02", "-o", "sweep", "--workers", "2")
    ran = trained.run("sweep", *line, child=True)
    ran.says("2 runs at once", "next:")
    assert len([line for line in ran.lines if "lr=" in line and "difference" not in line]) == 2
    for lr in ("0.01", "0.02"):
        alone = trained_alone(trained, f"alone-{lr}.npz", *given[2:], "--lr", lr, sources=given[:2])
        assert (trained / f"sweep/lr={lr},seed=0.npz").read_bytes() == alone
        assert rows_of(trained)[f"lr={lr},seed=0"]["model"] == f"sweep/lr={lr},seed=0.npz"


def test_a_run_that_diverges_there_is_a_row_and_the_others_go_on(
    program: Program, one: Machines
) -> None:
    line = (*QUICK, "--try", "lr=100000,0.01", "--clip", "0", "-o", "sweep")
    ran = program.run("sweep", "names.txt", *line, "--scheduler", str(one.file), child=True)
    assert ran.status == 1
    rows = rows_of(program)
    assert rows["lr=100000,seed=0"]["stopped"] == "diverged"
    assert rows["lr=0.01,seed=0"]["error"] is None


def test_a_folder_in_the_place_of_a_model_is_a_row_and_the_others_go_on(
    program: Program, one: Machines
) -> None:
    line = ("sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep")
    assert program.run(*line).status == 0
    (program / "sweep/seed=1.npz").mkdir()
    again = ("sweep", "--resume", "-o", "sweep", "--seeds", "0-2", "--scheduler", one.address)
    ran = program.run(*again, child=True)
    assert ran.status == 1
    rows = rows_of(program)
    assert rows["seed=1"]["error"] == "sweep/seed=1.npz: Is a directory"
    assert rows["seed=2"]["error"] is None


def test_what_was_stopped_here_is_gone_on_with_there(program: Program, one: Machines) -> None:
    with program.going("sweep", "names.txt", *LONG, "--seeds", "0", "-o", "sweep") as child:
        with stopped(child, "seed=0"):
            child.send(signal.SIGINT)
        assert child.end().status == 130
    assert (program / "sweep/seed=0.npz").exists()
    line = ("sweep", "--resume", "-o", "sweep", "--scheduler", one.address)
    program.run(*line, child=True).says("next:")
    assert (program / "sweep/seed=0.npz").read_bytes() == trained_alone(program, "a.npz", *LONG)


def test_the_files_are_the_same_where_a_worker_is_killed(program: Program, one: Machines) -> None:
    line = ("sweep", "names.txt", *FIXED, "--hidden", "8", "--try", "epochs=1,59", "-o", "sweep")
    with program.going(*line, "--scheduler", one.address) as child:
        child.until(lambda: (program / "sweep/epochs=1,seed=0.npz").exists())
        for process in workers_of(one.started[-1].pid):  # of the nanny, who starts another one
            os.kill(process, signal.SIGKILL)
        child.end().says("next:")
    alone = trained_alone(program, "a.npz", *FIXED, "--hidden", "8", "--epochs", "59")
    assert (program / "sweep/epochs=59,seed=0.npz").read_bytes() == alone
    assert not list(one.folder.rglob("charrnn-*"))  # nor has the one that was killed left files


def test_finished_models_are_kept_when_the_scheduler_dies(
    program: Program, doomed: Machines
) -> None:
    line = ("sweep", "names.txt", *ENDLESS[:-2], "--try", "epochs=1,1000000", "-o", "sweep")
    with program.going(*line, "--scheduler", doomed.address) as child:
        child.until(lambda: "epochs=1,seed=0" in child.err)
        kill_session(doomed.started[0].pid)
        ended = child.end()
    assert ended.status == 1
    assert "Traceback" not in ended.err
    assert ended.err.count("charrnn: error:") == 1
    error, hint = ended.err.splitlines()[-2:]
    assert f"the scheduler at {doomed.address} is gone" in error
    assert TO_GO_ON in hint
    assert list(rows_of(program)) == ["epochs=1,seed=0"]
    assert (program / "sweep/epochs=1,seed=0.npz").exists()


def test_after_ctrl_c_the_workers_are_free(program: Program, one: Machines) -> None:
    line = ("sweep", "names.txt", *ENDLESS[:-2], "--try", "epochs=1,1000000")
    where = ("--scheduler", one.address)
    with program.going(*line, "-o", "sweep", *where) as child:
        child.until(lambda: "epochs=1,seed=0" in child.err)
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    assert TO_GO_ON in ended.err
    other = ("sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "other")
    program.run(*other, *where, child=True).says("next:")  # on the only worker there is


@pytest.mark.long  # as faults/test_cluster.py asserts of sample
def test_workers_of_this_machine_end_with_the_sweep(program: Program) -> None:
    line = ("sweep", "names.txt", *ENDLESS, "--seeds", "0-1", "-o", "sweep", "--workers", "1")
    with program.going(*line) as child:
        child.until(lambda: "to beat" in child.err)
        (holder,) = workers_of(child.process.pid)
        family = [holder, *workers_of(holder)]
        child.send(signal.SIGKILL)
        child.process.wait()
        until_gone(family)
    assert not any(map(is_alive, family))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--workers", "2", "--scheduler", "x"], "--workers and --scheduler exclude each other"),
        (["--workers", "2", "--threads", "2"], "--workers and --threads exclude each other"),
    ],
)
def test_who_does_the_work_is_said_once(program: Program, options: list[str], what: str) -> None:
    line = ["sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep", *options]
    program.refuses(*line, what=what, hint="Leave one of them out.", status=2)


def test_a_scheduler_that_is_not_there_is_told_and_no_folder_is_made(program: Program) -> None:
    line = ["sweep", "names.txt", *QUICK, "--seeds", "0", "-o", "sweep"]
    ended = program.run(*line, "--scheduler", "tcp://127.0.0.1:9", child=True)
    assert ended.status == 2
    assert "tcp://127.0.0.1:9" in ended.err
    assert not (program / "sweep").exists()
