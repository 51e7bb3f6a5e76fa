"""Fault 19: kill -9 at any moment, again and again."""

from __future__ import annotations

import random
import signal
import time

import pytest

from charrnn import model_file as checkpoint
from tests.child import Child, needs_strace, strace, wait_until
from tests.program import (
    GO_ON,
    SAVING_OFTEN,
    WHOLE_RUN,
    Program,
    found,
    is_tidy,
    lines_of,
    run_undisturbed,
)

pytestmark = pytest.mark.child(True)


def steps_saved(program: Program) -> int:
    """How far the model has come, which loads whatever happened."""
    path = program / "model.npz"
    return checkpoint.load(path).state.step if path.exists() else 0


def next_line(program: Program) -> tuple[str, ...]:
    """What a user types next: go on, or once more from the beginning if nothing was saved."""
    if (program / "model.npz").exists():
        return GO_ON
    (program / "metrics.jsonl").unlink(missing_ok=True)
    return WHOLE_RUN


def until_written(child: Child, program: Program, lines: int) -> None:
    """Wait until there are more lines of metrics than these, or the run has come to its end."""
    wait_until(lambda: lines_of(program) > lines or child.process.poll() is not None)


def test_19_killed_at_random_it_ends_in_the_same_bytes(program: Program, kills: int) -> None:
    undisturbed = run_undisturbed(program)
    began = time.monotonic()
    with program.going(*WHOLE_RUN, by=SAVING_OFTEN) as child:
        child.until_saved()
    until_saved = time.monotonic() - began
    chance, killed, step = random.Random(), 1, steps_saved(program)
    while killed < kills:
        enough = chance.randrange(60) + lines_of(program)
        with program.going(*next_line(program), by=SAVING_OFTEN) as child:
            if killed % 2:  # while it works, or while it starts
                until_written(child, program, enough)
            else:
                time.sleep(chance.uniform(0, until_saved))
            child.send(signal.SIGKILL)
            ended = child.end()
        if ended.status == -signal.SIGKILL:
            killed += 1
            assert steps_saved(program) >= step
            step = steps_saved(program)
        else:  # it was quicker than we were: once more from the beginning
            ended.says("next ")
            assert found(program.folder) == undisturbed
            (program / "model.npz").unlink()
            step = 0
    program.run(*next_line(program), by=SAVING_OFTEN).says("next ")
    assert found(program.folder) == undisturbed
    is_tidy(program)


MOMENTS = ["write:2", "write:9", "fsync:1", "rename:1", "fsync:2", "write:30", "rename:3"]
SELDOM = {"write:9", "fsync:2", "write:30"}  # only with --long


@needs_strace
def test_19_killed_exactly_there_it_ends_in_the_same_bytes(
    program: Program, pytestconfig: pytest.Config
) -> None:
    undisturbed = run_undisturbed(program)
    step = 0
    seldom = set() if pytestconfig.getoption("long") else SELDOM
    for moment in (each for each in MOMENTS if each not in seldom):
        call, _, number = moment.partition(":")
        killed = strace(f"{call}:signal=KILL:when={number}", SAVING_OFTEN)
        ended = program.run(*next_line(program), "-q", by=killed)
        assert ended.status in (-9, 137), (moment, ended)
        assert steps_saved(program) >= step
        step = steps_saved(program)
    assert step
    program.run(*next_line(program)).says("next ")
    assert found(program.folder) == undisturbed
    is_tidy(program)
