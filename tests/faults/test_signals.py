"""Fault 21: Ctrl-C once and twice, SIGTERM, SIGHUP, Ctrl-Z, and what a parent had ignored."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from charrnn import checkpoint
from tests.faults.long_run import GO_ON, WHOLE_RUN, found, is_tidy, run_undisturbed
from tests.faults.room import PYTHON, SMALL, Child, Room
from tests.running import PLAIN

ENDLESS = ("train", "names.txt", *SMALL, "--epochs", "1000000", "--check-every", "100")
WRITTEN = ("--metrics", "metrics.jsonl")
SAID = "finishing this step, then saving; Ctrl-C stops at once"
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def lines_of(room: Room) -> int:
    """How many lines of metrics there are: about one a step."""
    path = room / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("number", STATUS, ids=lambda number: number.name)
def test_21_a_signal_is_said_saved_and_told_how_to_go_on(room: Room, number: int) -> None:
    with room.going(*ENDLESS) as child:
        child.until_saved()
        child.send(number)
        ended = child.end()
    assert ended.status == STATUS[signal.Signals(number)]
    assert "Traceback" not in ended.err
    who = "" if number == signal.SIGINT else f"{signal.Signals(number).name}: "
    assert f"charrnn: {who}{SAID}\n" in ended.err
    step = checkpoint.load(room / "model.npz").state.step
    assert f"saved at step {step:,}; to go on: charrnn train --resume\n" in ended.err
    assert b"interrupted" in ended.out
    is_tidy(room)


def test_21_a_run_that_is_interrupted_by_each_of_them_ends_in_the_same_bytes(room: Room) -> None:
    undisturbed = run_undisturbed(room)
    line: tuple[str, ...] = WHOLE_RUN
    for number in STATUS:
        before = lines_of(room)
        with room.going(*line) as child:
            child.until(lambda before=before: lines_of(room) > before + 20)  # type: ignore[misc]
            child.send(number)
            assert child.end().status in (0, STATUS[number])
        line = GO_ON
    room.run(*line).says("next:")
    assert found(room.folder) == undisturbed


def test_21_it_is_said_before_the_step_ends_and_the_rest_is_one_step_and_one_save(
    room: Room,
) -> None:
    room.write("names.txt", (room / "names.txt").read_bytes() * 200)
    slow = ("--hidden", "200", "--layers", "1", "--batch", "16", "--bptt", "1000", "--holdout", "0")
    line = ("train", "names.txt", *slow, "--threads", "1", "--epochs", "1000", *WRITTEN)
    with room.going(*line) as child:
        child.until(lambda: lines_of(room) > 0)
        time.sleep(0.05)
        before = lines_of(room)
        child.send(signal.SIGINT)
        child.until(lambda: SAID in child.err)
        assert lines_of(room) <= before + 1
        assert child.end().status == 130
    assert lines_of(room) <= before + 2


def test_21_twice_stops_at_once_and_the_last_save_is_whole(room: Room) -> None:
    slow = ("--hidden", "300", "--layers", "1", "--batch", "1", "--bptt", "5000", "--holdout", "0")
    room.write("names.txt", "anna bob " * 5_000)
    line = ("train", "names.txt", *slow, "--threads", "1", "--epochs", "9", "--check-every", "1")
    with room.going(*line) as child:
        child.until_saved()
        before = (room / "model.npz").read_bytes()
        child.send(signal.SIGINT)
        child.until(lambda: SAID in child.err)
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    assert "saved at step" not in ended.err
    assert (room / "model.npz").read_bytes() == before
    is_tidy(room)


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_21_twice_while_it_saves_leaves_the_old_or_the_new(room: Room) -> None:
    slowly = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync"]
    slowly += ["-e", "inject=fsync:delay_enter=400000:when=3", *PYTHON, "-m", "charrnn"]
    with room.going(*ENDLESS, program=slowly) as child:
        child.until_saved()
        pid = int(subprocess.check_output(["pgrep", "-P", str(child.process.pid)]))
        os.kill(pid, signal.SIGINT)
        child.until(lambda: SAID in child.err)
        time.sleep(0.2)
        os.kill(pid, signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert "Traceback" not in ended.err
    checkpoint.load(room / "model.npz")
    is_tidy(room)


def test_21_before_and_after_training_a_signal_ends_it_cleanly(room: Room) -> None:
    os.mkfifo(room / "pipe")
    with room.going("train", "pipe", *SMALL) as child, open(room / "pipe", "wb") as pipe:
        pipe.write(b"anna\n")
        pipe.flush()
        time.sleep(0.3)
        child.send(signal.SIGINT)
        ended = child.end()
    assert (ended.status, ended.err.strip()) == (130, "")
    assert not (room / "model.npz").exists()
    is_tidy(room)


def ignoring(number: int) -> Callable[[], None]:
    def accept() -> None:
        signal.signal(number, signal.SIG_IGN)

    return accept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_21_what_the_parent_ignored_stays_ignored(room: Room, number: int) -> None:
    with room.going(*ENDLESS, *WRITTEN, preexec_fn=ignoring(number)) as child:
        child.until_saved()
        child.send(number)
        before = lines_of(room)
        child.until(lambda: lines_of(room) > before + 100)
        assert SAID not in child.err
        child.send(signal.SIGTERM)
        assert child.end().status == 143


# Believes that it slept after half a second, so that nobody has to wait.
HASTY = (
    "from charrnn.cli.training import pace; pace.ASLEEP = 0.5;"
    "from charrnn.__main__ import run; run()"
)


def test_21_ctrl_z_and_back_does_no_harm_to_times(room: Room) -> None:
    line = (*ENDLESS[:-2], "--minutes", "0.02", "--json")
    began = time.monotonic()
    with room.going(*line, program=[*PYTHON, "-c", HASTY]) as child:
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
    run = checkpoint.load(room / "model.npz")
    assert 0.02 <= run.state.minutes < 0.025


def until_stopped(child: Child) -> None:
    status = Path(f"/proc/{child.process.pid}/stat")
    child.until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")


def test_21_a_terminal_that_goes_away_saves(room: Room) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(room.folder)
        program = [*PYTHON, "-m", "charrnn"]
        os.execve(program[0], [*program, *ENDLESS], PLAIN)
    while not (room / "model.npz").exists():
        os.read(terminal, 65536)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    checkpoint.load(room / "model.npz")
    is_tidy(room)
