"""What is imported before anything is done, and the threads of the matrix library."""

from __future__ import annotations

import os

import pytest

from charrnn import system
from charrnn.system import ONE_THREAD, cores
from tests.child import PYTHON
from tests.program import Program

# What a file for others needs, its assets among them, and nobody else.
EXPORTERS = {"charrnn.export.html", "charrnn.export.js", "importlib.resources"}


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        ("-m charrnn --version", {"numpy", "tqdm", "rich", "typer", "importlib.metadata"}),
        ("-m charrnn --help", {"numpy", "tqdm", "pydantic"}),
        ("-m charrnn nonsense", {"numpy", "tqdm"}),
        ("-m charrnn info nowhere.npz", {"tqdm", "pydantic"}),
        ("-m charrnn export --help", {"numpy", "tqdm", "pydantic", *EXPORTERS}),
        ("-m charrnn export nowhere.html -m nowhere.npz", {"tqdm", "pydantic", *EXPORTERS}),
        (
            "-m charrnn sample -m nowhere.npz",
            {"pydantic", "asyncio", "charrnn.cluster", *EXPORTERS},
        ),
        ("-m charrnn eval names.txt -m nowhere.npz", {"pydantic", "asyncio", "charrnn.cluster"}),
        ("-m charrnn sweep --help", {"numpy", "tqdm", "pydantic", "charrnn.sweep"}),
        ("-m charrnn train nowhere.txt --hidden 3 --lr 0.1", {"pydantic"}),
        ("-m charrnn train --help", {"numpy", "tqdm", "pydantic"}),
        ("-m tests.shout shout --help", {"numpy", "tqdm", "pydantic"}),
    ],
)
def test_what_is_not_needed_is_not_imported(shout: Program, line: str, unwanted: set[str]) -> None:
    timed = shout.run("-X", "importtime", *line.split(), by=PYTHON).err
    imported = {row.rpartition("|")[2].strip() for row in timed.splitlines()}
    assert "charrnn.cli.errors" in imported
    assert not unwanted & imported


def test_the_matrix_library_gets_one_thread_and_we_take_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "8")
    assert system.set_threads(3) == 3
    assert {os.environ[name] for name in ONE_THREAD} == {"1"}
    assert system.set_threads(None) == min(cores(), system.MOST_CORES)
