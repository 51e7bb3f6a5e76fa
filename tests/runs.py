"""Small runs of ``charrnn train``, and what they plan, sum up, save and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from tests.program import Program

SIZE = ("--hidden", "6", "--layers", "1", "--bptt", "6", "--batch", "4", "--threads", "1")
BRIEF = (*SIZE, "--epochs", "2")


def summary_of(program: Program, *options: str | Path) -> dict[str, Any]:
    """The summary of a run that must succeed."""
    ran = program.run("train", "names.txt", *BRIEF, "--force", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def plan_of(program: Program, *options: str | Path, corpus: str = "names.txt") -> dict[str, Any]:
    """The plan of a run that is not made."""
    ran = program.run("train", corpus, "--dry-run", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def saved_by(program: Program, *options: str | Path) -> Checkpoint:
    """What a run leaves."""
    summary_of(program, *options)
    return checkpoint.load(program / "model.npz")


def metrics_of(program: Program, *options: str | Path) -> list[dict[str, Any]]:
    """The metrics of a run, line by line."""
    path = program / "run.jsonl"
    path.unlink(missing_ok=True)
    summary_of(program, "--metrics", "run.jsonl", *options)
    return [json.loads(line) for line in path.read_text().splitlines()]
