"""Fault 37: a signal at any moment from the first line on, while modules are imported included."""

from __future__ import annotations

import random
import time

import pytest

from charrnn import cluster
from charrnn.cli import signals as handlers
from charrnn.model_file import checkpoint, saving
from tests.child import PYTHON, Child
from tests.faults.long_run import is_tidy
from tests.faults.test_signals import ENDLESS, STATUS
from tests.program import Program

# The program, which says when its first line has been passed: before that, Python is not ours.
# A signal may come between opening a file and the `with` that closes it: Python then closes it,
# and would warn here of what no user is warned of.
TELLING = [
    *PYTHON,
    *("-W", "ignore::ResourceWarning"),
    "-c",
    "import os; from charrnn.cli import signals; signals.keep();"
    "os.write(1, b'.'); import runpy; runpy.run_module('charrnn', run_name='__main__')",
]
THREADED = ("--hidden", "512", "--counts", "--cores", "2")


@pytest.fixture
def seconds_to_train(program: Program) -> float:
    """How long it takes from the first line to the first save, and some more."""
    with program.going(*ENDLESS, "-q", by=TELLING) as child:
        began = until_begun(child)
        child.until_saved()
        seconds = time.monotonic() - began
    for left in program.folder.glob("*model.npz*"):  # it was killed, and its lock file is there
        left.unlink()
    return 1.1 * seconds


def until_begun(child: Child) -> float:
    child.until(lambda: child.out == ".")
    return time.monotonic()


@pytest.mark.child(True)
def test_37_and_50_a_signal_at_any_moment_is_obeyed(
    program: Program, seconds_to_train: float, signals: int
) -> None:
    chance = random.Random()
    for _ in range(signals):
        number, wait = chance.choice([*STATUS]), chance.uniform(0, seconds_to_train)
        more = chance.choice([(), THREADED])
        with program.going(*ENDLESS, *more, "-q", "--force", by=TELLING) as child:
            until_begun(child)
            time.sleep(wait)
            child.send(number)
            ended = child.end()
        assert (ended.status, ended.err) == (STATUS[number], ""), (number, wait, more)
        if (program / "model.npz").exists():
            checkpoint.load(program / "model.npz")
        is_tidy(program)


SWALLOWING = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
except BaseException:
    heard = "in the middle of an import"
"""


def test_37_no_exception_comes_up_in_the_middle_of_an_import(program: Program) -> None:
    program.write("swallowing.py", SWALLOWING)
    code = (
        "import sys, time; sys.path.insert(0, '.')\n"
        "from charrnn.cli import signals\n"
        "try:\n"
        "    with signals.ending():\n"
        "        import swallowing\n"
        "        for _ in range(6000): time.sleep(0.01)\n"
        "except signals.Stopped as stopped:\n"
        "    print(stopped.status, hasattr(swallowing, 'heard'))\n"
    )
    ended = program.run("-c", code, by=PYTHON)
    assert (ended.out, ended.err) == ("130 False\n", "")


def test_37_nor_where_python_cleans_up(program: Program) -> None:
    code = (
        "import os, signal, time\n"
        "from charrnn.cli import signals\n"
        "class Thing:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        for _ in range(1000): pass\n"
        "try:\n"
        "    with signals.ending():\n"
        "        thing = Thing()\n"
        "        del thing\n"
        "        for _ in range(6000): time.sleep(0.01)\n"
        "except signals.Stopped as stopped:\n"
        "    print(stopped.status)\n"
    )
    ended = program.run("-c", code, by=PYTHON)
    assert (ended.out, ended.err) == ("143\n", "")


def test_37_nor_on_the_way_into_what_would_tidy_up(program: Program) -> None:
    """Between what `with` has called, a file that is locked, say, and what it will leave."""
    code = (
        "import contextlib, os, signal, time\n"
        "from charrnn.cli import signals\n"
        "hit = 'os.kill(os.getpid(), signal.SIGTERM)'\n"
        "enter = hit + '\\nfor _ in range(1000): pass\\nentered = 1'\n"
        "try:\n"
        "    with signals.ending():\n"
        "        exec(compile(enter, contextlib.__file__, 'exec'))\n"
        "        for _ in range(6000): time.sleep(0.01)\n"
        "except signals.Stopped as stopped:\n"
        "    print(stopped.status, entered)\n"
    )
    ended = program.run("-c", code, by=PYTHON)
    assert (ended.out, ended.err) == ("143 1\n", "")


def test_37_functions_that_create_a_file_are_known_by_name() -> None:
    known = {module.__name__.rpartition(".")[2] + ".py": module for module in (saving, cluster)}
    for file, name in handlers.CREATORS:
        assert callable(getattr(known[file], name))


def test_37_what_came_before_there_was_somebody_to_tell_is_obeyed_then(program: Program) -> None:
    code = (
        "import os, signal\n"
        "from charrnn.cli import signals; signals.keep()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "import runpy; runpy.run_module('charrnn', run_name='__main__', alter_sys=True)\n"
    )
    ended = program.run("-c", code, "info", by=PYTHON)
    assert (ended.status, ended.out, ended.err) == (143, "", "")
