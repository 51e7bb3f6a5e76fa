"""Fault 21: Ctrl-C once and twice, SIGTERM, SIGHUP, Ctrl-Z, and what a parent had ignored."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

import pytest

from charrnn import model_file as checkpoint
from tests.child import CHARRNN, PLAIN, PYTHON, read_screen
from tests.program import (
    GO_ON,
    SMALL,
    WHOLE_RUN,
    Program,
    found,
    is_tidy,
    lines_of,
    run_undisturbed,
    seldom,
)

pytestmark = pytest.mark.child(True)

ENDLESS = ("train", "names.txt", *SMALL, "--epochs", "1000000", "--check-every", "100")
WRITTEN = ("--metrics", "metrics.jsonl")
SAID = "saving after this step; Ctrl-C stops at once"
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, seldom(signal.SIGHUP)],
    ids=lambda number: number.name,
)
def test_21_a_signal_is_said_saved_and_told_how_to_go_on(program: Program, number: int) -> None:
    with program.going(*ENDLESS, *WRITTEN, "--json") as child:
        child.until_saved()
        child.send(number)
        ended = child.end()
    assert ended.status == STATUS[signal.Signals(number)]
    assert "Traceback" not in ended.err
    assert f"charrnn: {SAID}\n" in ended.err
    step = checkpoint.load(program / "model.npz").state.step
    assert step > 0
    how = "to resume: charrnn train --resume --metrics metrics.jsonl"
    assert ended.err.endswith(f"saved at step {step:,}; {how}\n")
    assert (ended.json["stopped"], ended.json["steps"]) == ("interrupted", step)
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
    program.run(*line).says("next ")
    assert found(program.folder) == undisturbed


# The first step after a save never ends.
STUCK = (
    "import os, time; from charrnn.cli.progress import Progress; show = Progress.show;"
    "Progress.show = lambda self, event: ("
    " os.path.exists('model.npz')"
    " and (print('stuck', flush=True), [time.sleep(0.01) for _ in range(30000)]),"
    " show(self, event));"
    "from charrnn.__main__ import run; run()"
)


def test_21_it_is_said_in_the_middle_of_a_step_and_twice_stops_at_once(program: Program) -> None:
    with program.going(*ENDLESS, by=[*PYTHON, "-c", STUCK]) as child:
        child.until(lambda: "stuck" in child.out)
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


# While there is a file named hold, a save never ends.
STUCK_SAVING = """
import os, time
fsync = os.fsync
def stuck(file):
    fsync(file)
    if os.path.exists("hold") and os.readlink(f"/proc/self/fd/{file}").endswith(".tmp"):
        print("saving", flush=True)
        for _ in range(30000):
            time.sleep(0.01)
os.fsync = stuck
from tests.program import seldom
from charrnn.__main__ import run; run()
"""


def test_21_before_training_a_signal_ends_it_cleanly(program: Program) -> None:
    os.mkfifo(program / "pipe")
    with program.going("train", "pipe", *SMALL) as child, child.open_pipe(program / "pipe") as pipe:
        pipe.write(b"anna\n")
        pipe.flush()
        child.until(lambda: unread(pipe) == 0)
        child.send(signal.SIGINT)
        ended = child.end()
    assert (ended.status, ended.err.strip()) == (130, "")
    assert not (program / "model.npz").exists()
    is_tidy(program)


def unread(pipe: IO[bytes]) -> int:
    """How many bytes in a pipe nobody has read yet."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def ignoring(number: int) -> Callable[[], None]:
    def accept() -> None:
        signal.signal(number, signal.SIG_IGN)

    return accept


@pytest.mark.parametrize(
    "number", [signal.SIGHUP, seldom(signal.SIGINT)], ids=lambda number: number.name
)
def test_21_what_the_parent_ignored_stays_ignored(program: Program, number: int) -> None:
    with program.going(*ENDLESS, *WRITTEN, preexec_fn=ignoring(number)) as child:
        child.until_saved()
        child.send(number)
        before = lines_of(program)
        child.until(lambda: lines_of(program) > before + 100)
        assert SAID not in child.err
        child.send(signal.SIGTERM)
        assert child.end().status == 143


@contextmanager
def begun_on_a_terminal(program: Program) -> Iterator[tuple[int, int]]:
    """A run that has saved, on a terminal of its own: its process, and our end of the terminal."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(program.folder)
        os.execve(CHARRNN[0], [*CHARRNN, *ENDLESS], PLAIN)
    try:
        while not (program / "model.npz").exists():
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 65536)
        yield pid, terminal
    finally:
        with suppress(ProcessLookupError):  # it was waited for
            os.kill(pid, signal.SIGKILL)


def test_21_ctrl_c_as_it_is_typed_is_said_and_saves(program: Program) -> None:
    with begun_on_a_terminal(program) as (pid, terminal):
        os.write(terminal, b"\x03")
        seen = read_screen(terminal)
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert SAID in seen
    assert "Traceback" not in seen
    step = checkpoint.load(program / "model.npz").state.step
    assert f"saved at step {step:,}; to resume: charrnn train --resume" in seen
    is_tidy(program)


def test_21_a_terminal_that_goes_away_saves(program: Program) -> None:
    with begun_on_a_terminal(program) as (pid, terminal):
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (1, 129)
    checkpoint.load(program / "model.npz")
    is_tidy(program)
