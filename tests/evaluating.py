"""``charrnn eval`` in tests: a text to score, and the objects that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.program import Program


def scored(program: Program, *args: str | Path) -> dict[str, Any]:
    """The one object of a run that must succeed."""
    ran = program.run("eval", "--json", *args)
    assert ran.status == 0, ran.err
    assert ran.out.count("\n") == 1
    return ran.json


def rows(program: Program, *args: str | Path) -> list[dict[str, Any]]:
    """The objects, line by line."""
    ran = program.run("eval", "--json", *args)
    assert ran.status == 0, ran.err
    return ran.rows


def write(text: str, name: str = "text.txt") -> str:
    """The name of a text with that content, in the current folder."""
    Path(name).write_bytes(text.encode())
    return name
