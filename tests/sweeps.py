"""Small sweeps, what they leave, and the processes that make them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.child import Child, wait_until
from tests.program import Program

FIXED = ("--layers", "1", "--batch", "4", "--bptt", "8")
QUICK = (*FIXED, "--hidden", "3", "--epochs", "1")
LONG = (*FIXED, "--hidden", "8", "--epochs", "60")  # takes a moment
ENDLESS = (*FIXED, "--hidden", "3", "--epochs", "1000000")
TWO = ("--seeds", "0-1", "-o", "sweep")
processes = pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")


def rows_of(program: Program, folder: str = "sweep") -> dict[str, dict[str, Any]]:
    """The last row of each run."""
    lines = (program / folder / "sweep.jsonl").read_text().splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def trained_alone(program: Program, name: str, *options: str, sources: Sequence[str] = ()) -> bytes:
    """The bytes of the same run alone, made in the same folder."""
    path = f"sweep/{name}"
    given = sources or ("names.txt",)
    program.run("train", *given, *options, "--threads", "1", "-q", "-m", path).says()
    return (program / path).read_bytes()


def workers_of(process: int) -> list[int]:
    """The processes that it has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            if int(status[1]) == process and status[0] != "Z":
                found.append(int(entry.name))
    return found


def is_alive(process: int) -> bool:
    """Whether it is there, and not only waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_at_work(child: Child, name: str) -> None:
    """Wait until a worker holds the file of that run."""
    child.until((child.folder / f"sweep/.{name}.npz.lock").exists)


def until_gone(workers: Sequence[int]) -> None:
    """Wait until none of them is there."""
    wait_until(lambda: not any(map(is_alive, workers)))
