"""Faults 32 and 50: no thread to be had, and a signal while threads start."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import pytest

from charrnn.network import threads
from charrnn.network.threads import Threads, results
from tests.child import PYTHON
from tests.corpora import NAMES
from tests.program import Program
from tests.rows import seldom

NOTE = "could not start more threads; using one (same result, slower)\n"
LINE = ("train", "names.txt", "--hidden", "6", "--layers", "1", "--epochs", "2", "--threads", "4")
# A system that gives so many threads, and none any more.
USEFUL = (
    "from charrnn.network import threads as parallel, stepper; "
    "parallel.WORTHWHILE = stepper.WORTHWHILE = 1\n"
    "from charrnn.__main__ import run; run()"
)
STINGY = (
    "import itertools, sys, threading; left = iter(range({})); start = threading.Thread.start\n"
    "def refuse():\n"
    '    raise RuntimeError("can\'t start new thread")\n'
    "def start_or_refuse(self):\n"
    "    next(left, None) is None and refuse()\n"
    "    start(self)\n"
    "threading.Thread.start = start_or_refuse\n" + USEFUL
)
# Ctrl-C just after a thread has started, and as often again in the clean-up as `times` says.
INTERRUPTED = (
    "import threading; start = threading.Thread.start\n"
    "from concurrent.futures import ThreadPoolExecutor as Pool; shutdown = Pool.shutdown\n"
    "def interrupt(call, *args, **how):\n"
    "    call(*args, **how)\n"
    "    raise KeyboardInterrupt\n"
    "threading.Thread.start = lambda self: interrupt(start, self)\n"
    "if {} > 1: Pool.shutdown = lambda self, **how: interrupt(shutdown, self, **how)\n" + USEFUL
)


@pytest.fixture(autouse=True)
def not_refused(threads_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that get work, and were never refused."""
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


@pytest.mark.parametrize("given", [seldom(0), 1])
def test_32_a_run_is_saved_and_scored_all_the_same(program: Program, given: int) -> None:
    stingy = [*PYTHON, "-c", STINGY.format(given)]
    program.run(*LINE, by=stingy).says(NOTE, "next:")
    program.run("eval", "--baselines", "--threads", "4", by=stingy).says(NOTE)


@pytest.mark.parametrize("times", [seldom(1), 2])
def test_50_ctrl_c_while_threads_start_ends_the_process(program: Program, times: int) -> None:
    line = (*LINE, "--members", "3", "--counts")
    ended = program.run(*line, by=[*PYTHON, "-c", INTERRUPTED.format(times)])
    assert (ended.status, "Traceback" in ended.err) == (130, False)


@pytest.mark.parametrize(
    "line",
    [
        ("train", "names.txt", "--hidden", "6", "--epochs", "2", "--force"),
        ("train", "names.txt", "--hidden", "6", "--epochs", "2", "--force", "--members", "3"),
        ("eval", "many.txt"),
        ("eval", "--baselines"),
        ("sample", "-n", "20"),
        ("fill", "a?b*", "-n", "20"),
    ],
    ids=lambda line: " ".join(line[:2]),
)
def test_50_no_thread_of_any_command_waits_for_ever(
    trained: Program, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    start, began = threading.Thread.start, []
    trained.write("many.txt", 600 * NAMES)

    def start_and_interrupt(thread: threading.Thread, *args: Any) -> None:
        began.append(thread)
        start(thread, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    monkeypatch.setattr(threads, "PATIENCE", 100.0)
    assert trained.run(*line, "--threads", "4").status == 130
    for thread in began:
        thread.join(50)
    assert began
    assert not any(thread.is_alive() for thread in began)


def test_50_ctrl_c_begins_no_further_job(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, pool = threading.Event(), Threads(1)
    done: list[int] = []
    jobs: list[Future[Any]] = [
        pool.submit(gate.wait),
        *(pool.submit(done.append, i) for i in (1, 2, 3)),
    ]
    monkeypatch.setattr(type(jobs[0]), "result", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        results(jobs)
    gate.set()
    pool.submit(int).exception(50)
    assert done == []
