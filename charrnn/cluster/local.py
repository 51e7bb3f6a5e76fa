"""A Dask scheduler and workers on this machine, in a child process.

The child writes the scheduler's address on a line and runs until its standard input closes, which
also happens if the parent dies. It listens on the loopback address only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from charrnn.errors import ClusterError

ONE_THREAD: Final = {  # for each BLAS library
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS": "1"
    for name in ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR")
}
LOOPBACK: Final = "127.0.0.1"
ANY_PORT: Final = f"{LOOPBACK}:0"  # for Dask's dashboard, which cannot be switched off
LOST_AFTER: Final = "60s"  # Dask replaces a worker that is silent for so long
SHUTDOWN: Final = 5.0  # seconds

# Run with -c and the parent's sys.path, so that the child imports the same files.
CHILD: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from charrnn.cluster.local import serve
serve(int(sys.argv[1]))
"""


@contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with single-threaded workers on this machine. Workers that
    die are restarted; all end with the context.
    """
    line = [sys.executable, "-c", CHILD, str(workers), json.dumps(sys.path)]
    process = subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ONE_THREAD,
        start_new_session=True,  # only the parent gets Ctrl-C, and ends the child
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        if not address:
            hint = "There may be too little memory: try fewer."
            raise ClusterError(f"{workers} workers did not start", hint)
        yield address
    finally:
        with process:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            try:
                process.wait(SHUTDOWN)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(workers: int) -> None:
    """Run a cluster of single-threaded workers until standard input ends."""
    import dask
    from distributed import LocalCluster

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="charrnn-", ignore_cleanup_errors=True) as folder:
        dask.config.set({"distributed.scheduler.worker-ttl": LOST_AFTER})
        with LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=ANY_PORT,
            worker_dashboard_address=ANY_PORT,
            local_directory=folder,
            protocol="tcp",
            env=ONE_THREAD,
            silence_logs=50,
        ) as cluster:
            sys.stdout.write(f"{cluster.scheduler_address}\n")
            sys.stdout.flush()
            sys.stdin.buffer.read()
            threading.Timer(SHUTDOWN, os._exit, [1]).start()
    os._exit(0)  # without waiting for the timer
