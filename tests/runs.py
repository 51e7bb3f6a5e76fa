"""Small runs of ``charrnn train``: plans, summaries, checkpoints and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from charrnn import model_file as checkpoint
from charrnn.checkpoint import Checkpoint
from tests.program import Program

SIZE = ("--hidden", "6", "--layers", "1", "--bptt", "6", "--batch", "4", "--cores", "1")
BRIEF = (*SIZE, "--epochs", "2")


def summary_of(program: Program, *options: str | Path) -> dict[str, Any]:
    """Train, which must succeed, and return the summary."""
    ran = program.run("train", "names.txt", *BRIEF, "--force", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def plan_of(program: Program, *options: str | Path, corpus: str = "names.txt") -> dict[str, Any]:
    """Return the plan of a dry run."""
    ran = program.run("train", corpus, "--dry-run", "--json", *options)
    assert ran.status == 0, ran.err
    return ran.json


def saved_by(program: Program, *options: str | Path) -> Checkpoint:
    """Train and return the saved checkpoint."""
    summary_of(program, *options)
    return checkpoint.load(program / "model.npz")


def metrics_of(program: Program, *options: str | Path) -> list[dict[str, Any]]:
    """Train and return the metrics, one object a line."""
    path = program / "run.jsonl"
    path.unlink(missing_ok=True)
    summary_of(program, "--metrics", "run.jsonl", *options)
    return [json.loads(line) for line in path.read_text().splitlines()]
