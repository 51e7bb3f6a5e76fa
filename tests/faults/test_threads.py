"""Fault 32: no thread to be had."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from charrnn.network import stepper, threads
from charrnn.network.threads import Threads
from tests.child import PYTHON
from tests.program import Program

NOTE = "could not start more threads; using one (same result, slower)\n"
LINE = ("train", "names.txt", "--hidden", "6", "--layers", "1", "--epochs", "2", "--threads", "4")
# A system that gives so many threads, and none any more.
STINGY = (
    "import itertools, sys, threading; left = iter(range({})); start = threading.Thread.start\n"
    "def refuse():\n"
    '    raise RuntimeError("can\'t start new thread")\n'
    "def start_or_refuse(self):\n"
    "    next(left, None) is None and refuse()\n"
    "    start(self)\n"
    "threading.Thread.start = start_or_refuse\n"
    "from charrnn.network import threads as parallel, stepper; "
    "parallel.WORTHWHILE = stepper.WORTHWHILE = 1\n"
    "from charrnn.__main__ import run; run()"
)


@pytest.fixture(autouse=True)
def worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that get work, however little there is."""
    monkeypatch.setattr(threads, "WORTHWHILE", 1)
    monkeypatch.setattr(stepper, "WORTHWHILE", 1)
    monkeypatch.setattr(Threads, "were_refused", False)


@pytest.mark.parametrize("given", [0, 1, 2])
def test_32_with_fewer_threads_than_asked_for_the_same_comes_out(
    program: Program, monkeypatch: pytest.MonkeyPatch, given: int
) -> None:
    commands = (LINE, ("eval", "names.txt", "--per-example"), ("sample", "-n", "20", "--seed", "1"))
    expected = [program.run(*line, *more(line)).out for line in commands]
    model = (program / "model.npz").read_bytes()
    refuse_after(given, monkeypatch)
    found = []
    for line in commands:
        ended = program.run(*line, *more(line), *["--force"] * (line is LINE))
        ended.says(NOTE)
        found.append(ended.out)
    assert found[1:] == expected[1:]
    assert (program / "model.npz").read_bytes() == model


def more(line: tuple[str, ...]) -> tuple[str, ...]:
    return () if line is LINE else ("--threads", "4")


def refuse_after(given: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = threading.Thread.start, iter(range(given))

    def start_or_refuse(thread: threading.Thread, *args: Any) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread, *args)

    monkeypatch.setattr(threading.Thread, "start", start_or_refuse)


@pytest.mark.parametrize("given", [0, 1])
def test_32_a_run_is_saved_and_scored_all_the_same(program: Program, given: int) -> None:
    stingy = [*PYTHON, "-c", STINGY.format(given)]
    program.run(*LINE, by=stingy).says(NOTE, "next:")
    program.run("eval", "--baselines", "--threads", "4", by=stingy).says(NOTE)
