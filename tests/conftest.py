"""Options, markers and fixtures of all tests.

BLAS has one thread, as in the program. Hypothesis has no deadlines, since a machine may be busy.
"""

import faulthandler
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from charrnn.system.cores import ONE_THREAD

os.environ.update(ONE_THREAD)  # before anything imports numpy
settings.register_profile("usual", deadline=None, max_examples=12, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=400, print_blob=True)
settings.load_profile("usual")

from tests.browser import CHROMIUM, Browser  # noqa: E402
from tests.program import SIZE, SMALL, Program  # noqa: E402

REPEATS = {"kills": (1, 100), "faults": (40, 3000)}  # option: usual number, number with --long
LONGEST = 300.0  # seconds of a test that is not repeated more often; then its process ends
STDERR = pytest.StashKey[int]()  # the stream that pytest does not capture

# Test files that other versions of Python and of the packages could break.
QUICK = {
    *("cli/test_app", "cli/test_eval", "cli/test_info", "cli/test_sample", "cli/test_train"),
    *("test_errors", "test_package", "settings/test_values", "text/test_corpus"),
    *("text/test_examples", "text/test_tables"),
}
FOLDER = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("charrnn")
    group.addoption("--long", action="store_true", help="run slow tests and repeat random ones")
    for name, (usual, thorough) in REPEATS.items():
        text = f"repeat each test of random {name} N times (default: {usual}; {thorough} if --long)"
        group.addoption(f"--{name}", type=int, metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "quick: also run with the lowest and newest versions of all packages",
        "long: slow, and run only with --long",
        "child: the program runs in child processes",
    ):
        config.addinivalue_line("markers", line)
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "worksteal"  # each worker runs whole files: fewer fixtures are made
    if config.getoption("long"):
        settings.load_profile("long")
    for name, numbers in REPEATS.items():
        if config.getoption(name) is None:
            setattr(config.option, name, numbers[config.getoption("long")])
    config.stash[STDERR] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process, with its stacks, if a test stands still, so that the run ends."""
    options = item.config.option
    if all(getattr(options, name) <= usual for name, (usual, _) in REPEATS.items()):
        stderr = item.config.stash[STDERR]
        faulthandler.dump_traceback_later(LONGEST, exit=True, file=stderr)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(FOLDER).with_suffix("").as_posix() in QUICK:
            item.add_marker("quick")
        if item.get_closest_marker("long") and not config.getoption("long"):
            item.add_marker(pytest.mark.skip(reason="slow: needs --long"))


@pytest.fixture(scope="session")
def kills(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("kills"))


@pytest.fixture(scope="session")
def faults(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("faults"))


@pytest.fixture(scope="session", autouse=True)
def forecasts_are_quick() -> Iterator[None]:
    with patch("charrnn.runs.TRIAL", 0.0):  # seconds of steps, for a forecast of time
        yield


@pytest.fixture(scope="session", autouse=True)
def signals_are_not_ignored() -> None:
    """Restore the default handlers: a shell's & makes us and our children ignore Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: Any, request: pytest.FixtureRequest) -> Program:
    """The program in a folder with names.txt, which is the current folder of the test."""
    monkeypatch.chdir(tmp_path)
    return Program(tmp_path, child=request.node.get_closest_marker("child") is not None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, for all pages that a process opens."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with closing(Browser(tmp_path_factory.mktemp("browser"))) as opened:
        yield opened


@pytest.fixture
def disk_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls that bring data to the disk, in order."""
    calls: list[str] = []

    def noted(name: str, usual: Any, *arguments: Any) -> None:
        calls.append(name)
        usual(*arguments)

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, partial(noted, name, getattr(os, name)))
    return calls


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A folder with names.txt and a model of it, shared by all tests: do not change it."""
    made = Program(tmp_path_factory.mktemp("once"))
    made.run("train", *SMALL, "names.txt").says()
    return made


@pytest.fixture
def trained(program: Program, trained_once: Program) -> Program:
    """The program in a folder with names.txt and a small model of it, which can be resumed."""
    program.write("model.npz", (trained_once / "model.npz").read_bytes())
    return program


@pytest.fixture(scope="session")
def well_trained_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model whose loss on names is clearly lower than on other text."""
    made = Program(tmp_path_factory.mktemp("well_trained"))
    size = ("--hidden", "16", "--bptt", "8", "--epochs", "8", "--seed", "1")
    made.run("train", *SIZE, *size, "names.txt").says()
    return (made / "model.npz").read_bytes()


@pytest.fixture
def well_trained(program: Program, well_trained_bytes: bytes) -> Program:
    """The program in a folder with names.txt and a good model of it."""
    program.write("model.npz", well_trained_bytes)
    return program
