"""Faults 29 to 31: metrics into a pipe whose reader leaves or sleeps, and into our own streams."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from charrnn import model_file as checkpoint
from tests.faults.test_signals import ENDLESS, SAID
from tests.program import SMALL, Program

LINE = ("train", "names.txt", *SMALL, "--batch", "4", "--epochs", "3")


@pytest.fixture
def pipe(program: Program) -> Path:
    os.mkfifo(program / "pipe")
    return program / "pipe"


def test_29_a_reader_who_leaves_is_told_and_training_goes_on(program: Program, pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with program.going(*ENDLESS, "-q", "--metrics", "pipe") as child:
        child.until_saved()
        os.close(reader)
        child.until(lambda: "charrnn: warning: pipe has lost its reader" in child.err)
        before = checkpoint.load(program / "model.npz").state.step
        child.send(signal.SIGINT)
        ended = child.end()
    assert ended.status == 130
    assert checkpoint.load(program / "model.npz").state.step >= before
    assert ended.err == "charrnn: warning: pipe has lost its reader; training continues\n"


def test_29_a_reader_who_sleeps_does_not_keep_us_from_hearing_the_first_ctrl_c(
    program: Program, pipe: Path
) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with program.going(*ENDLESS, "--metrics", "pipe") as child:
            child.until_saved()
            child.until(lambda: unread(reader) > 60_000)  # more than that fills a pipe
            child.send(signal.SIGINT)
            child.until(lambda: SAID in child.err)
            ended = child.end()
    finally:
        os.close(reader)
    assert ended.status == 130
    assert "saved at step" in ended.err


def unread(pipe: int) -> int:
    """How many bytes in a pipe nobody has read yet."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


@pytest.mark.parametrize("name", ["/dev/stdout", "all.jsonl"])
def test_31_beside_a_summary_in_a_file_both_are_whole(program: Program, name: str) -> None:
    with (
        open(program / "all.jsonl", "wb") as file,
        program.going(*LINE, "-q", "--json", "--metrics", name, stdout=file) as child,
    ):
        assert child.end().status == 0
    written = program / "all.jsonl"
    schemas = [row.partition('"charrnn.')[2].partition("/")[0] for row in lines(written)]
    assert schemas[:3] == ["run", "step", "step"]
    assert schemas[-1] == "train"
    assert schemas.count("train") == 1
    assert all(row.startswith('{"schema": ') and row.endswith("}") for row in lines(written))


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_31_nor_does_what_is_said_write_over_them(program: Program) -> None:
    with (
        open(program / "log", "wb") as file,
        program.going(*LINE, "--metrics", "/dev/stderr", stderr=file) as child,
    ):
        assert child.end().status == 0
    said = lines(program / "log")
    assert any(row.startswith('{"schema": "charrnn.run/1"') for row in said)
    assert any(row.startswith("next:") for row in said)
    assert sum('"charrnn.step/1"' in row for row in said) == 15


def test_30_going_on_below_another_run_cuts_nothing_of_it(program: Program) -> None:
    program.run(*LINE, "--metrics", "all.jsonl").says()
    program.run(*LINE, "--seed", "1", "--metrics", "all.jsonl", "-m", "other.npz").says()
    before = (program / "all.jsonl").read_bytes()
    program.run("train", "--resume", "--epochs", "4", "--metrics", "all.jsonl").says()
    after = (program / "all.jsonl").read_bytes()
    assert after.startswith(before)
    assert b'"charrnn.run/1"' in after[len(before) :].splitlines()[0]
