"""The program in a folder of its own, small corpora and models, and a machine that is as it should.

One BLAS thread, as in the program; Hypothesis without deadlines: busy is not broken.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from charrnn import plan
from charrnn.cli.options import prepare

prepare()  # before anything imports numpy
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

from charrnn.cli import app  # noqa: E402
from charrnn.training.loop import Stopwatch  # noqa: E402
from tests.corpora import NAMES  # noqa: E402
from tests.program import SMALL, Program  # noqa: E402
from tests.shout import ENTRY, SHOUT  # noqa: E402

DEFAULTS: Mapping[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


# What other versions of Python and of the packages could change, and little that takes long.
QUICK = {
    *(
        "test_cli_help",
        "test_cli_usage",
        "test_cli_error_messages",
        "test_cli_startup",
        "test_console",
    ),
    *("test_cli_train", "test_cli_sample", "test_cli_eval", "test_cli_info", "test_settings"),
    *("test_progress", "test_hints", "test_gradients", "test_container", "test_formats"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in QUICK:
            item.add_marker("quick")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quick: tried with other versions of all packages too")
    line = "child(asked): whether the program runs in a process of its own where a run says nothing"
    config.addinivalue_line("markers", line)


@pytest.fixture(scope="session", autouse=True)
def signals_are_not_ignored() -> Iterator[None]:
    """Who is started by a shell's & ignores Ctrl-C, and so would every child, for all its life."""
    ignored = [number for number in DEFAULTS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, DEFAULTS[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Program:
    """The program in a folder with names.txt in it, which is the current folder of the test too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "TRIAL", 0.0)  # nobody waits for an estimate of the time
    asked = request.node.get_closest_marker("child")
    made = Program(tmp_path, child=bool(asked and asked.args[0]))
    made.write("names.txt", NAMES)
    return made


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A folder with names.txt and a model of it, which nobody changes."""
    there = Program(tmp_path_factory.mktemp("once"))
    there.write("names.txt", NAMES)
    there.run("train", *SMALL, "names.txt").says()
    return there


@pytest.fixture(scope="session")
def model_bytes(trained_once: Program) -> bytes:
    """A small model that was trained on names.txt and can be gone on with."""
    return (trained_once / "model.npz").read_bytes()


@pytest.fixture
def trained(program: Program, model_bytes: bytes) -> Program:
    """The program in a folder with names.txt and a model of it."""
    program.write("model.npz", model_bytes)
    return program


@pytest.fixture(scope="session")
def well_trained_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model that knows names.txt well enough to be surprised by what is no name."""
    there = Program(tmp_path_factory.mktemp("well_trained"))
    there.write("names.txt", NAMES)
    size = ("--hidden", "16", "--layers", "1", "--batch", "4", "--bptt", "8", "--threads", "1")
    there.run("train", *size, "--epochs", "8", "--seed", "1", "names.txt").says()
    return (there / "model.npz").read_bytes()


@pytest.fixture
def well_trained(program: Program, well_trained_bytes: bytes) -> Program:
    """The program in a folder with names.txt and a good model of it."""
    program.write("model.npz", well_trained_bytes)
    return program


@pytest.fixture
def shout(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program with one command more, which does and fails whatever a test wants."""
    monkeypatch.setitem(app.COMMANDS, "shout", ENTRY)
    program.command = SHOUT
    return program


@pytest.fixture
def millisecond_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which each step takes a millisecond, and nothing else any time."""
    milliseconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(milliseconds) / 1000)
    monkeypatch.setattr(plan, "time", clock)
    monkeypatch.setattr(Stopwatch, "lap", lambda _: 0.001)
