"""Faults 46 to 49: a rank that dies, one that fails alone, signals to mpiexec, another corpus."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from os.path import samestat
from pathlib import Path

import pytest

from charrnn.corpus.files import path_of
from charrnn.launcher import RANK
from tests.child import CHARRNN
from tests.mpi import MPIEXEC, all_gone, going, needs_mpi, others, pid, ranks
from tests.program import Program

pytestmark = needs_mpi

SIZE = ("--hidden", "192", "--layers", "1", "--batch", "32", "--bptt", "8")
RUN = ("train", "lines.txt", *SIZE, "--check-every", "10", "--preview", "0", "--mpi")
WHOLE = (*RUN, "--epochs", "4", "--metrics", "metrics.jsonl")
GO_ON = ("train", "--resume", "--preview", "0", "--mpi", "--metrics", "metrics.jsonl")
LINES = "\n".join(Path(path_of("dinosaurs")).read_text("utf-8").splitlines()[:300]) + "\n"
# After the first save each step waits a little, so that no run ends before it is disturbed.
SLOWLY = (
    "import time; from charrnn.training import loop; update = loop.Optimizer.update;"
    "loop.Optimizer.update = lambda *given:"
    " (os.path.exists('model.npz') and time.sleep(0.2), update(*given))[1]; "
)
FAILING = "from charrnn.training import loop; loop.Optimizer.update = lambda *_: {}; "
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def lines(program: Program) -> Program:
    """The program beside a corpus that is large enough for two to have work."""
    program.write("lines.txt", LINES)
    return program


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """What a run comes to that nobody disturbs."""
    beside = Program(tmp_path_factory.mktemp("undisturbed"))
    beside.write("lines.txt", LINES)
    beside.run(*WHOLE, by=ranks(2)).says("next:")
    return found(beside)


def found(program: Program) -> tuple[bytes, bytes]:
    """What a run has left behind."""
    return (program / "model.npz").read_bytes(), (program / "metrics.jsonl").read_bytes()


def until_it_is_saved(program: Program) -> Callable[[], bool]:
    """Whether the model is another one than it is now."""
    path = program / "model.npz"
    before = path.stat() if path.exists() else None
    return lambda: path.exists() and (before is None or not samestat(before, path.stat()))


def test_46_a_rank_that_is_killed_ends_all_and_the_run_goes_on_to_the_same_bytes(
    lines: Program, undisturbed: tuple[bytes, bytes], pytestconfig: pytest.Config
) -> None:
    line: tuple[str, ...] = WHOLE
    for victim in (1, 0) if pytestconfig.getoption("long") else (0,):
        with going(lines, 2, *line, by=ranks(2, SLOWLY)) as child:
            child.until(until_it_is_saved(lines))
            os.kill(pid(lines, victim), signal.SIGKILL)
            assert child.end().status != 0
            all_gone(lines, 2)
        line = GO_ON
    lines.run(*GO_ON, by=ranks(2)).says("next:")
    assert found(lines) == undisturbed


def test_46_no_rank_outlives_mpiexec(lines: Program) -> None:
    with going(lines, 2, *RUN, "--epochs", "100000") as child:
        child.until_saved()
        child.send(signal.SIGKILL)
        assert child.end().status == -signal.SIGKILL
        all_gone(lines, 2)


def test_48_a_signal_while_nobody_learns_yet_ends_all(lines: Program) -> None:
    os.mkfifo(lines / "pipe.txt")
    with going(lines, 2, "train", "pipe.txt", "--mpi") as child:
        with child.open_pipe(lines / "pipe.txt"):  # both ranks read the corpus from it
            child.until(lambda: all((lines / f"{number}.pid").exists() for number in (0, 1)))
            child.send(signal.SIGINT)
            assert child.end().status != 0
        all_gone(lines, 2)
    assert not (lines / "model.npz").exists()


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)],
    ids=lambda number: number.name,
)
def test_48_a_signal_to_mpiexec_is_said_once_saved_and_told_how_to_go_on(
    lines: Program, number: int, undisturbed: tuple[bytes, bytes]
) -> None:
    with going(lines, 2, *WHOLE, by=ranks(2, SLOWLY)) as child:
        child.until_saved()
        child.send(number)
        ended = child.end()
        all_gone(lines, 2)
    assert ended.status == STATUS[signal.Signals(number)]
    assert "Traceback" not in ended.err
    assert ended.err.count("saving after this step") == 1
    assert "mpiexec -n 2 charrnn train --resume --metrics metrics.jsonl --mpi" in " ".join(
        ended.err.split()
    )
    lines.run(*GO_ON, by=ranks(2)).says("next:")
    assert found(lines) == undisturbed


@pytest.mark.parametrize(
    ("what_it_does", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("__import__('sys').exit(3)", "rank 1: ended with status 3"),
        ("__import__('os')._exit(3)", ""),
        ("open('nowhere')", "rank 1: nowhere: No such file or directory"),
    ],
)
def test_47_a_rank_that_fails_alone_ends_all(lines: Program, what_it_does: str, said: str) -> None:
    line = (*RUN, "--epochs", "100000", "-q")
    second = others(FAILING.format(what_it_does), *line)
    with going(lines, 2, *line, *second, by=ranks(1)) as child:
        ended = child.end()
        all_gone(lines, 2)
    assert ended.status not in (0, -signal.SIGKILL)
    assert said in ended.err


def test_47_the_first_one_ends_all_where_it_cannot_save(lines: Program) -> None:
    fails = "def save(*_): raise SaveError('no room', 'Make some.')\n"
    code = f"from charrnn.errors import SaveError\n{fails}"
    code += "from charrnn.model_file import checkpoint\n"
    broken = f"{code}checkpoint.save = save\n"
    with going(lines, 2, *RUN, "--epochs", "1", "-q", by=ranks(2, broken)) as child:
        ended = child.end()
        all_gone(lines, 2)
    assert ended.status == 1
    assert "charrnn: error: no room\nMake some. Nothing was saved." in ended.err


def test_47_a_corpus_that_one_rank_cannot_read_is_told_by_the_first(lines: Program) -> None:
    elsewhere = lines / "elsewhere"
    elsewhere.mkdir()
    ended = lines.run(*RUN, *others("", *RUN, folder=elsewhere), by=ranks(1))
    assert ended.status == 1
    error, _ = ended.err.splitlines()
    assert error.startswith("charrnn: error: rank 1 on ")
    assert error.endswith("lines.txt does not exist")
    assert not (lines / "model.npz").exists()


def test_47_one_that_has_no_mpi_is_not_waited_for(lines: Program) -> None:
    without = "import sys; sys.modules['mpi4py'] = None; "
    ended = lines.run(*RUN, *others(without, *RUN), by=ranks(1))
    assert ended.status == 1
    assert "charrnn: error: --mpi needs mpi4py\npip install mpi4py" in ended.err


def test_47_what_the_first_one_refuses_is_said_once(lines: Program) -> None:
    lines.write("model.npz", b"")
    for options, what, status in (
        ((), "model.npz already exists", 1),
        (("-m", "other.npz", "--hidden", "x"), "'x' is not a whole number", 2),
        (("-m", "other.npz", "--patience", "1", "--holdout", "0"), "1 needs held-out text", 2),
    ):
        ended = lines.run(*RUN, *options, "-q", by=ranks(2))
        assert (ended.status, ended.err.count("charrnn: error: ")) == (status, 1), ended.err
        assert what in ended.err
        assert len(ended.err.splitlines()) == 2


def test_47_a_loss_that_leaves_every_bound_is_said_once(lines: Program) -> None:
    ended = lines.run(*RUN, "--lr", "1000", "--epochs", "9", "-q", by=ranks(2))
    assert ended.status == 1
    assert ended.err.count("the loss diverged") == 1
    assert "Abort" not in ended.err


def test_49_another_corpus_on_a_rank_is_refused(lines: Program) -> None:
    elsewhere = lines / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lines.txt").write_text(LINES + "Another\n")
    ended = lines.run(*RUN, *others("", *RUN, folder=elsewhere), by=ranks(1))
    assert ended.status == 1
    error, advice = ended.err.splitlines()
    assert error.startswith("charrnn: error: the corpus of rank 1 on ")
    assert "differs: SHA-256" in error
    assert advice == "Let every rank read the same corpus."
    assert not (lines / "model.npz").exists()


def test_49_standard_input_is_refused_which_the_first_one_has_alone(lines: Program) -> None:
    ended = lines.run("train", "-", "--mpi", by=ranks(2), stdin=LINES.encode())
    assert ended.status == 1
    assert ended.err.startswith("charrnn: error: standard input reaches the first rank alone")


def test_49_several_that_do_not_know_of_each_other_are_refused_by_the_first_alone(
    lines: Program,
) -> None:
    before = lines.files()
    ended = lines.run("train", "lines.txt", by=[str(MPIEXEC), "-n", "2", *CHARRNN])
    assert ended.status == 2
    error, advice = ended.err.splitlines()
    assert "mpiexec has started several processes" in error
    assert advice.startswith("Add --mpi")
    assert lines.files() == before
    alone = ("train", "lines.txt", *SIZE, "--epochs", "1")
    lines.run(*alone, by=[str(MPIEXEC), "-n", "1", *CHARRNN]).says("next:")


@pytest.mark.parametrize("variable", RANK)
def test_49_each_mpiexec_is_known(lines: Program, variable: str) -> None:
    surroundings = dict.fromkeys(RANK) | {variable: "0"}
    what, hint = "mpiexec has started several processes", "Add --mpi"
    lines.refuses("train", "lines.txt", what=what, hint=hint, status=2, env=surroundings)


def test_49_an_mpiexec_of_another_mpi_is_noticed(lines: Program) -> None:
    started = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    lines.refuses(
        *RUN,
        child=True,
        env=started,
        what="mpiexec has started 2 processes, but mpi4py sees only one",
        hint="the mpiexec of the MPI that mpi4py loads",
    )
