"""Worker processes: those of a Dask scheduler on this machine, and the children of a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.child import HOME, Child, going


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[Path, Child]]:
    """Start a scheduler and workers without nannies; yield its file and its process."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    dask_worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    local = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    env = {"PYTHONPATH": str(HOME), "OPENBLAS_NUM_THREADS": "1"}
    with going([*dask, *local, "--port", "0"], folder, env) as scheduler:
        scheduler.until(lambda: file.exists() and file.stat().st_size > 0)
        if not workers:
            yield file, scheduler
            return
        one = [*dask_worker, *local, "--nthreads", "1", "--no-nanny"]
        with going(one, folder, env) as first, going(one, folder, env) as second:
            first.until(lambda: "Registered to" in first.err)
            second.until(lambda: "Registered to" in second.err)
            yield file, scheduler


def children_of(process: int) -> list[int]:
    file = Path(f"/proc/{process}/task/{process}/children")
    return list(map(int, file.read_text().split())) if file.exists() else []
