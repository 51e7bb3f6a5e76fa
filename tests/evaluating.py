"""Helpers for ``charrnn eval``: texts to score and JSON results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.program import Program


def scored(program: Program, *args: str | Path) -> dict[str, Any]:
    """Run eval, which must succeed, and return its JSON object."""
    ran = program.run("eval", "--json", *args)
    assert ran.status == 0, ran.err
    assert ran.out.count("\n") == 1
    return ran.json


def rows(program: Program, *args: str | Path) -> list[dict[str, Any]]:
    """Run eval and return its JSON objects, one a line."""
    ran = program.run("eval", "--json", *args)
    assert ran.status == 0, ran.err
    return ran.rows


def write(text: str, name: str = "text.txt") -> str:
    """Write a text into the current folder and return its name."""
    Path(name).write_bytes(text.encode())
    return name
