"""Fault 21: Ctrl-C once and twice, SIGTERM, SIGHUP, Ctrl-Z, and what a parent had ignored."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from charrnn.model_file import checkpoint
from tests.child import CHARRNN, PLAIN, PYTHON
from tests.faults.long_run import GO_ON, WHOLE_RUN, found, is_tidy, run_undisturbed
from tests.faults.tracing import needs_strace, strace
from tests.program import SMALL, Child, Program

pytestmark = pytest.mark.child(True)

ENDLESS = ("train", "names.txt", *SMALL, "--epochs", "1000000", "--check-every", "100")
WRITTEN = ("--metrics", "metrics.jsonl")
SAID = "finishing this step, then saving; Ctrl-C stops at once"
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def lines_of(program: Program) -> int:
    """How many lines of metrics there are: about one a step."""
    path = program / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)
def test_21_a_signal_is_said_saved_and_told_how_to_go_on(program: Program, number: int) -> None:
    with program.going(*ENDLESS) as child:
        child.until_saved()
        began = time.perf_counter()
        child.send(number)
        child.until(lambda: SAID in child.err)
        seconds = time.perf_counter() - began
        ended = child.end()
    assert seconds < 0.1
    assert ended.status == STATUS[signal.Signals(number)]
    assert "Traceback" not in ended.err
    who = "" if number == signal.SIGINT else f"{signal.Signals(number).name}: "
    assert f"charrnn: {who}{SAID}\n" in ended.err
    step = checkpoint.load(program / "model.npz").state.step
    assert step > 0
    assert ended.err.endswith(f"saved at step {step:,}; to go on: charrnn train --resume\n")
    assert "interrupted" in ended.out
    is_tidy(program)


def test_21_a_run_that_is_interrupted_by_each_of_them_ends_in_the_same_bytes(
    program: Program,
) -> None:
    undisturbed = run_undisturbed(program)
    chance = random.Random()
    line: tuple[str, ...] = WHOLE_RUN
    for number in STATUS:
        enough = lines_of(program) + chance.randrange(1, 40)
        with program.going(*line) as child:
            child.until(lambda enough=enough: lines_of(program) > enough)  # type: ignore[misc]
            child.send(number)
            assert child.end().status in (0, STATUS[number])
        line = GO_ON
    program.run(*line).says("next:")
    assert found(program.folder) == undisturbed


def test_21_it_is_said_before_the_step_ends_and_the_rest_is_one_step_and_one_save(
    program: Program,
) -> None:
    program.write("names.txt", (program / "names.txt").read_bytes() * 200)
    slow = ("--hidden", "200", "--layers", "1", "--batch", "16", "--bptt", "1000", "--holdout", "0")
    line = ("train", "names.txt", *slow, "--threads", "1", "--epochs", "1000", "--json", *WRITTEN)
    with program.going(*line) as child:
        child.until(lambda: lines_of(program) > 0)
        time.sleep(0.05)
        before = lines_of(program)
        child.send(signal.SIGINT)
        child.until(lambda: SAID in child.err)
        assert lines_of(program) <= before + 1
        ended = child.end()
    assert ended.status == 130
    assert lines_of(program) <= before + 2
    summary, step = json.loads(ended.out), checkpoint.load(program / "model.npz").state.step
    assert (summary["stopped"], summary["steps"]) == ("interrupted", step)
    how = "to go on: charrnn train --resume --metrics metrics.jsonl"
    assert ended.err.endswith(f"saved at step {step:,}; {how}\n")


def test_21_twice_stops_at_once_and_the_last_save_is_whole(program: Program) -> None:
    slow = ("--hidden", "300", "--layers", "1", "--batch", "1", "--bptt", "5000", "--holdout", "0")
    program.write("names.txt", "anna bob " * 5_000)
    line = ("train", "names.txt", *slow, "--threads", "1", "--epochs", "9", "--check-every", "1")
    with program.going(*line) as child:
        child.until_saved()
        before = (program / "model.npz").read_bytes()
        child.send(signal.SIGINT)
        child.until(lambda: SAID in child.err)
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    assert "saved at step" not in ended.err
    assert (program / "model.npz").read_bytes() == before
    is_tidy(program)


@needs_strace
def test_21_twice_while_it_saves_leaves_the_old_or_the_new(program: Program) -> None:
    slowly = strace("fsync:delay_enter=400000:when=3")
    with program.going(*ENDLESS, by=slowly) as child:
        child.until_saved()
        pid = int(subprocess.check_output(["pgrep", "-P", str(child.process.pid)]))
        os.kill(pid, signal.SIGINT)
        child.until(lambda: SAID in child.err)
        time.sleep(0.2)
        os.kill(pid, signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    checkpoint.load(program / "model.npz")
    is_tidy(program)


def test_21_before_training_a_signal_ends_it_cleanly(program: Program) -> None:
    os.mkfifo(program / "pipe")
    with program.going("train", "pipe", *SMALL) as child, child.open_pipe(program / "pipe") as pipe:
        pipe.write(b"anna\n")
        pipe.flush()
        time.sleep(0.3)
        child.send(signal.SIGINT)
        ended = child.end()
    assert (ended.status, ended.err.strip()) == (130, "")
    assert not (program / "model.npz").exists()
    is_tidy(program)


def ignoring(number: int) -> Callable[[], None]:
    def accept() -> None:
        signal.signal(number, signal.SIG_IGN)

    return accept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_21_what_the_parent_ignored_stays_ignored(program: Program, number: int) -> None:
    with program.going(*ENDLESS, *WRITTEN, preexec_fn=ignoring(number)) as child:
        child.until_saved()
        child.send(number)
        before = lines_of(program)
        child.until(lambda: lines_of(program) > before + 100)
        assert SAID not in child.err
        child.send(signal.SIGTERM)
        assert child.end().status == 143


# Believes that it slept after half a second, so that nobody has to wait.
HASTY = (
    "from charrnn.training import stopwatch; stopwatch.LONG = 0.5;"
    "from charrnn.__main__ import run; run()"
)


def test_21_ctrl_z_and_back_does_no_harm_to_times(program: Program) -> None:
    line = (*ENDLESS[:-2], "--minutes", "0.02", "--json")
    began = time.monotonic()
    with program.going(*line, by=[*PYTHON, "-c", HASTY]) as child:
        child.until_saved()
        time.sleep(0.7)  # it has to know what is usual
        child.send(signal.SIGTSTP)
        until_stopped(child)
        time.sleep(3)
        child.send(signal.SIGCONT)
        ended = child.end()
    ended.says("next:")
    summary = json.loads(ended.out)
    assert summary["stopped"] == "minutes"
    assert summary["seconds"] < time.monotonic() - began - 3
    run = checkpoint.load(program / "model.npz")
    assert 0.02 <= run.state.minutes < 0.025


def until_stopped(child: Child) -> None:
    status = Path(f"/proc/{child.process.pid}/stat")
    child.until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")


def begun_terminal(program: Program) -> tuple[int, int]:
    """A run that has saved, on a terminal of its own: its process, and our end of the terminal."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(program.folder)
        os.execve(CHARRNN[0], [*CHARRNN, *ENDLESS], PLAIN)
    while not (program / "model.npz").exists():
        os.read(terminal, 65536)
    return pid, terminal


def test_21_ctrl_c_as_it_is_typed_is_said_and_saves(program: Program) -> None:
    pid, terminal = begun_terminal(program)
    os.write(terminal, b"\x03")
    seen = b""
    with suppress(OSError):  # how Linux says that the other end is closed
        while block := os.read(terminal, 65536):
            seen += block
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert SAID in seen.decode()
    assert "Traceback" not in seen.decode()
    step = checkpoint.load(program / "model.npz").state.step
    assert f"saved at step {step:,}; to go on: charrnn train --resume" in seen.decode()
    is_tidy(program)


def test_21_a_terminal_that_goes_away_saves(program: Program) -> None:
    pid, terminal = begun_terminal(program)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    checkpoint.load(program / "model.npz")
    is_tidy(program)
