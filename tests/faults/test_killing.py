"""Fault 19: kill -9 at any moment, again and again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

from charrnn.model_file import checkpoint
from tests.faults.long_run import (
    GO_ON,
    SAVING_OFTEN,
    WHOLE_RUN,
    found,
    is_tidy,
    run_undisturbed,
)
from tests.faults.room import Room
from tests.faults.tracing import needs_strace, strace

KILLS = int(os.environ.get("CHARRNN_TEST_KILLS", "20"))


def steps_saved(room: Room) -> int:
    """How far the model has come, which loads whatever happened."""
    path = room / "model.npz"
    return checkpoint.load(path).state.step if path.exists() else 0


def next_line(room: Room) -> tuple[str, ...]:
    """What a user types next: go on, or once more from the beginning if nothing was saved."""
    if (room / "model.npz").exists():
        return GO_ON
    (room / "metrics.jsonl").unlink(missing_ok=True)
    return WHOLE_RUN


def test_19_killed_at_random_it_ends_in_the_same_bytes(room: Room) -> None:
    undisturbed = run_undisturbed(room)
    began = time.monotonic()
    with room.going(*WHOLE_RUN, program=SAVING_OFTEN) as child:
        child.until_saved()
    until_saved = time.monotonic() - began
    chance, kills, step = random.Random(), 1, steps_saved(room)
    while kills < KILLS:
        with room.going(*next_line(room), program=SAVING_OFTEN) as child:
            try:
                child.process.wait(chance.uniform(0, 2 * until_saved))
            except subprocess.TimeoutExpired:
                child.send(signal.SIGKILL)
                assert child.end().status == -signal.SIGKILL
                kills += 1
                assert steps_saved(room) >= step
                step = steps_saved(room)
                continue
            child.end().says("next:")  # it was quicker than we were: once more from the beginning
        assert found(room.folder) == undisturbed
        (room / "model.npz").unlink()
        step = 0
    room.run(*next_line(room), program=SAVING_OFTEN).says("next:")
    assert found(room.folder) == undisturbed
    is_tidy(room)


MOMENTS = ["write:2", "write:9", "fsync:1", "rename:1", "fsync:2", "write:30", "rename:3"]


@needs_strace
def test_19_killed_exactly_there_it_ends_in_the_same_bytes(room: Room) -> None:
    undisturbed = run_undisturbed(room)
    step = 0
    for moment in MOMENTS:
        call, _, number = moment.partition(":")
        program = strace(f"{call}:signal=KILL:when={number}", SAVING_OFTEN)
        ended = room.run(*next_line(room), "-q", program=program)
        assert ended.status in (-9, 137), (moment, ended)
        assert steps_saved(room) >= step
        step = steps_saved(room)
    assert step
    room.run(*next_line(room)).says("next:")
    assert found(room.folder) == undisturbed
    is_tidy(room)
