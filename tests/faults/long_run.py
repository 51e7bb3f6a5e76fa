"""A run of about a second, which tests interrupt, and its expected files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.child import PYTHON
from tests.program import Program

# The program, changed to save at every check-up.
OFTEN = (
    "from charrnn import runs as c; c.OFTEN = c.COSTLY = 0;from charrnn.__main__ import run; run()"
)
SAVING_OFTEN = [*PYTHON, "-c", OFTEN]
SIZE = ("--hidden", "16", "--layers", "1", "--batch", "4", "--bptt", "8", "--cores", "2")
BEGIN = ("train", "names.txt", *SIZE, "--check-every", "10", "--preview", "0")
METRICS = ("--metrics", "metrics.jsonl")
WHOLE_RUN = (*BEGIN, "--epochs", "40", *METRICS)
GO_ON = ("train", "--resume", "--preview", "0", *METRICS)


@dataclass(frozen=True)
class Undisturbed:
    """The files of a run that was not interrupted."""

    model: bytes
    metrics: bytes


def run_undisturbed(program: Program) -> Undisturbed:
    """Run it without interruption, in a folder of its own."""
    beside = Program(program.folder / "undisturbed")
    beside.folder.mkdir()
    shutil.copy(program / "names.txt", beside / "names.txt")
    beside.run(*WHOLE_RUN, child=False).says("next ")
    return found(beside.folder)


def found(folder: Path) -> Undisturbed:
    """Return the files of a run."""
    return Undisturbed((folder / "model.npz").read_bytes(), (folder / "metrics.jsonl").read_bytes())


def is_tidy(program: Program) -> None:
    """Assert that killed runs have left no temporary files."""
    left = [path.name for path in program.folder.iterdir() if path.name.startswith(".")]
    assert not left, left


def lines_of(program: Program) -> int:
    """Return the number of lines of metrics, about one a step."""
    path = program / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
