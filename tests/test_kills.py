"""Fault 18: kill -9 at any moment, and a run that goes on to the same bytes."""

import shutil
import signal
import time
from pathlib import Path

import pytest

from charrnn.files import model_file
from tests.child import Child, needs_strace, program_with, strace, wait_until
from tests.program import Program, assert_no_temporary_files, chance, lines_of

pytestmark = pytest.mark.child(True)

METRICS = ("--metrics", "metrics.jsonl")


# A run of half a second, which is killed and resumed, and its files

OFTEN = program_with(
    "from charrnn.files import saver; saver.SAVE_INTERVAL = saver.SAVE_COST_FACTOR = 0"
)
SIZE = ("--hidden", "16", "--layers", "1", "--batch", "4", "--bptt", "8", "--cores", "2")
BEGIN = ("train", "names.txt", *SIZE, "--check-every", "10", "--epochs", "20", "--preview", "0")
GO_ON = ("train", "--resume", "--preview", "0", *METRICS)
Files = tuple[bytes, bytes]


def files_of(folder: Path) -> Files:
    return (folder / "model.npz").read_bytes(), (folder / "metrics.jsonl").read_bytes()


@pytest.fixture
def undisturbed(program: Program) -> Files:
    """The files of a run that is not interrupted, in a folder of its own."""
    beside = Program(program.folder / "undisturbed")
    beside.folder.mkdir()
    shutil.copy(program / "names.txt", beside / "names.txt")
    beside.run(*BEGIN, *METRICS).says("next ")
    return files_of(beside.folder)


def steps_saved(program: Program) -> int:
    """Return how far the model has come, which loads whatever happened."""
    path = program / "model.npz"
    return model_file.load(path).state.step if path.exists() else 0


def next_line(program: Program) -> tuple[str, ...]:
    """Return what a user types next: go on, or begin once more if nothing was saved."""
    if (program / "model.npz").exists():
        return GO_ON
    (program / "metrics.jsonl").unlink(missing_ok=True)
    return (*BEGIN, *METRICS)


def until_written(child: Child, program: Program, lines: int) -> None:
    """Wait until there are more lines of metrics than these, or the run has come to its end."""
    wait_until(lambda: lines_of(program) > lines or child.process.poll() is not None)


def test_fault_18_killed_or_interrupted_at_random_it_ends_in_the_same_bytes(
    program: Program, undisturbed: Files, kills: int
) -> None:
    chosen, step = chance(), 0
    signals = [signal.SIGKILL, signal.SIGTERM] * kills
    while signals:
        enough = chosen.randrange(30) + lines_of(program)
        with program.going(*next_line(program), by=OFTEN) as child:
            if len(signals) % 3:  # while it works, or while it starts
                until_written(child, program, enough)
            else:
                time.sleep(chosen.uniform(0, 0.5))
            child.send(signals[-1])
            ended = child.end()
        if ended.status == 0:  # it was quicker: once more from the beginning
            assert files_of(program.folder) == undisturbed
            (program / "model.npz").unlink()
            (program / "metrics.jsonl").unlink()  # whose lines are counted above
            step = 0
            continue
        signals.pop()
        assert steps_saved(program) >= step
        step = steps_saved(program)
    program.run(*next_line(program), child=False).says("next ")
    assert files_of(program.folder) == undisturbed
    assert_no_temporary_files(program)


MOMENTS = ["write:2", "fsync:1", "rename:1", "rename:3"]
MORE = ["write:9", "fsync:2", "write:30"]  # with --long


@needs_strace
def test_fault_18_killed_exactly_there_it_ends_in_the_same_bytes(
    program: Program, undisturbed: Files, pytestconfig: pytest.Config
) -> None:
    step = 0
    for moment in MOMENTS + MORE * pytestconfig.getoption("long"):
        call, _, number = moment.partition(":")
        killed = strace(f"{call}:signal=KILL:when={number}", OFTEN)
        ended = program.run(*next_line(program), "-q", by=killed)
        assert ended.status == 137, (moment, ended)
        assert steps_saved(program) >= step
        step = steps_saved(program)
    assert step
    program.run(*next_line(program), child=False).says("next ")
    assert files_of(program.folder) == undisturbed
    assert_no_temporary_files(program)
