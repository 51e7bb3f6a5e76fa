"""A scheduler and workers on this machine, in a process of their own that ends with ours.

It writes the address of the scheduler on a line, and goes on until its standard input is closed: by
whoever started it, or by the system, should that one die. Nobody beyond this machine can reach it.
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

ONE_THREAD: Final = {  # the matrix library, under all of its names
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
LOOPBACK: Final = "127.0.0.1"
ANY_PORT: Final = (
    f"{LOOPBACK}:0"  # the page of Dask's dashboard is opened even where nobody wants it
)
LOST_AFTER: Final = "60s"  # a worker that says nothing for so long is replaced
AT_MOST: Final = 5.0  # seconds for the end


# What we import, it imports; and it is no main module, which Python would import once more.
HERE: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from charrnn.cluster.local import serve
serve(int(sys.argv[1]))
"""


@contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers on this machine, of a thread each. They are
    restarted if they die, and end with this.
    """
    line = [sys.executable, "-c", HERE, str(workers), json.dumps(sys.path)]
    process = subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ONE_THREAD,
        start_new_session=True,  # Ctrl-C is for whoever gave out the work, who ends the others
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        if not address:
            raise ClusterError("the workers did not start", "Is there memory for so many of them?")
        yield address
    finally:
        with process:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            try:
                process.wait(AT_MOST)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(workers: int) -> None:
    """Hold a cluster of so many workers, of a thread each, until standard input ends."""
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
            threading.Timer(AT_MOST, os._exit, [1]).start()
    os._exit(0)  # the timer needs no waiting for
