"""Small sweeps, the files that they leave, and their worker processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.child import Child, wait_until
from tests.program import Program

FIXED = ("--layers", "1", "--batch", "4", "--bptt", "8")
QUICK = (*FIXED, "--hidden", "3", "--epochs", "1")
LONG = (*FIXED, "--hidden", "8", "--epochs", "20")
ENDLESS = (*FIXED, "--hidden", "3", "--epochs", "1000000")
TWO = ("--seeds", "0-1", "-o", "sweep")
processes = pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")


def rows_of(program: Program, folder: str = "sweep") -> dict[str, dict[str, Any]]:
    """Return the last row of each run."""
    lines = (program / folder / "sweep.jsonl").read_text().splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def trained_alone(program: Program, name: str, *options: str, sources: Sequence[str] = ()) -> bytes:
    """Train the same run alone, in the same folder, and return its bytes."""
    path = f"sweep/{name}"
    given = sources or ("names.txt",)
    program.run("train", *given, *options, "--threads", "1", "-q", "-m", path).says()
    return (program / path).read_bytes()


def workers_of(process: int) -> list[int]:
    """Return the processes that a process has started."""
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
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_at_work(child: Child, name: str) -> None:
    """Wait until a worker has locked the file of that run."""
    child.until((child.folder / f"sweep/.{name}.npz.lock").exists)


@contextmanager
def stopped(child: Child, *names: str) -> Iterator[list[int]]:
    """Stop (SIGSTOP) the worker of each run as soon as it has begun; let all continue at the end.

    A short run cannot end before the test has done what it does to it, however busy the machine.
    """
    workers: list[int] = []
    left = [*names]

    def has_begun(name: str) -> bool:
        lock = child.folder / f"sweep/.{name}.npz.lock"
        worker = int(lock.read_bytes() or 0) if lock.exists() else 0
        if not worker or not is_alive(worker):
            return False
        os.kill(worker, signal.SIGSTOP)
        workers.append(worker)
        return True

    def have_begun() -> bool:
        left[:] = [name for name in left if not has_begun(name)]  # in whatever order they begin
        return not left

    child.until(have_begun)
    try:
        yield workers
    finally:
        for worker in filter(is_alive, workers):
            os.kill(worker, signal.SIGCONT)


def until_gone(workers: Sequence[int]) -> None:
    """Wait until none of them is there."""
    wait_until(lambda: not any(map(is_alive, workers)))
