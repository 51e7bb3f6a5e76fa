"""Open a cluster: workers of this machine, or those of a Dask scheduler elsewhere.

Anybody who can reach the port of a scheduler or a worker can run code there. Local workers listen
on 127.0.0.1 only; elsewhere, TLS is set up with Dask's own settings. Local workers belong to a
child process that ends when its standard input closes, also if the parent dies.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final

from charrnn.cluster.pool import Cluster
from charrnn.errors import ClusterError, MissingPackageError, SettingError
from charrnn.json_lines import read
from charrnn.system import ONE_THREAD

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK: Final = "127.0.0.1"
ANY_PORT: Final = f"{LOOPBACK}:0"  # for Dask's dashboard, which cannot be switched off
LOST_AFTER: Final = "60s"  # Dask replaces a worker that is silent for so long
SHUTDOWN: Final = 5.0  # seconds

# Run with -c and the parent's sys.path, so that the child imports the same files.
CHILD: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[3])
from charrnn.cluster.opening import serve
serve(int(sys.argv[1]), sys.argv[2])
"""


@contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with single-threaded workers on this machine. Workers that
    die are restarted; all end with the context.
    """
    with tempfile.TemporaryDirectory(prefix="charrnn-", ignore_cleanup_errors=True) as folder:
        line = [sys.executable, "-c", CHILD, str(workers), folder, json.dumps(sys.path)]
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
            lines = (line.decode(errors="replace").strip() for line in process.stdout)
            address = next((line for line in lines if line.startswith("tcp://")), None)
            if address is None:
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


def serve(workers: int, folder: str) -> None:
    """Run a cluster of single-threaded workers until standard input ends; remove its folder."""
    import dask
    from distributed import LocalCluster

    def end() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # without waiting for the timer

    warnings.simplefilter("ignore")
    dask.config.set({"distributed.scheduler.worker-ttl": LOST_AFTER, "temporary-directory": folder})
    try:
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
            sys.stdout.write(f"\n{cluster.scheduler_address}\n")
            sys.stdout.flush()
            sys.stdin.buffer.read()
            threading.Timer(SHUTDOWN, end).start()
    finally:  # also if the parent is gone before it reads the address
        end()


TIMEOUT: Final = 3.0  # seconds for a scheduler to answer
SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")


def address_of(scheduler: str) -> str:
    """Return the address of a scheduler, given as an address or as the file it wrote."""
    if "://" in scheduler:
        return scheduler
    host, _, port = scheduler.rpartition(":")
    if host and port.isdigit() and not os.path.exists(scheduler):
        return f"tcp://{scheduler}"
    try:
        return str(read(scheduler)["address"])
    except OSError as error:
        what = f"cannot read the scheduler file {scheduler!r}: {error.strerror}"
        hint = "Give an address such as tcp://HOST:PORT, or the file that the scheduler wrote."
        raise SettingError(what, hint) from None
    except (ValueError, KeyError):
        hint = "Give the file that the scheduler wrote, or its address."
        raise SettingError(f"{scheduler} is not a scheduler file", hint) from None


def check(address: str) -> None:
    """Raise SettingError unless a scheduler of this version of Dask answers in time. Dask's own
    client would wait for ever for a server that is not a scheduler.
    """
    from importlib.metadata import version

    if address.partition("://")[0] not in SCHEMES:
        raise SettingError(f"{address} is not an address", "Give one such as tcp://HOST:PORT.")
    try:
        kind, theirs = asyncio.run(asyncio.wait_for(_identity(address), TIMEOUT))
    except Exception as error:  # any server may answer anything
        raise SettingError(*_explain(address, error)) from None
    if kind != "Scheduler":
        raise SettingError(f"{address} is a {kind} of Dask, not a scheduler", GIVE)
    if theirs != (mine := version("distributed")):
        what = f"the scheduler at {address} has Dask {theirs}, this machine {mine}"
        hint = f"Install the same version on all machines: pip install 'distributed=={theirs}'"
        raise SettingError(what, hint)


GIVE: Final = "Give the address that dask scheduler prints."
CERTIFICATES: Final = (
    "Set the certificates in DASK_DISTRIBUTED__COMM__TLS__CA_FILE, __CLIENT__CERT and"
    " __CLIENT__KEY."
)


async def _identity(address: str) -> tuple[str, str]:
    """Return the kind of server at an address, and its version of Dask."""
    from distributed.comm.core import connect
    from distributed.core import send_recv
    from distributed.security import Security

    options = Security().get_connection_args("client")
    comm = await connect(address, timeout=0.8 * TIMEOUT, **options)
    try:
        identity: Any = await send_recv(comm, op="identity")
        versions: Any = await send_recv(comm, op="versions")
    finally:
        comm.abort()
    return str(identity["type"]), str(versions["packages"]["distributed"])


def _explain(address: str, error: Exception) -> tuple[str, str]:
    """Return why a scheduler does not answer, and what to do."""
    import ssl

    from distributed.comm.core import CommClosedError

    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    silent = f"no scheduler of Dask answers at {address}"
    match error:
        case CommClosedError():
            what = f"{address} closed the connection, as a scheduler that needs TLS does"
            return what, f"For TLS, begin the address with tls://. {CERTIFICATES}"
        case TimeoutError():
            return silent, "Check that it runs and can be reached from this machine."
        case OSError() if isinstance(error, FileNotFoundError) or isinstance(cause, ssl.SSLError):
            return f"no TLS with {address}: {cause}", CERTIFICATES
        case OSError():
            hint = "Start one with dask scheduler, or give another address."
            return f"{silent}: {cause}", hint
    if address.startswith(("tls", "wss")) and "ssl" in str(error).lower():
        return f"no certificates for TLS with {address}", CERTIFICATES
    return f"the server at {address} is not a Dask scheduler", GIVE


LOGGERS: Final = ("distributed", "tornado", "asyncio")


@contextmanager
def open_cluster(
    workers: int | None = None,
    scheduler: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Cluster]:
    """Open a cluster of processes on this machine, or of the workers of a scheduler, given by its
    address or its file. While it has no workers, wait for one and call ``say``.

    Raise ClusterError unless all workers have the charrnn and numpy of this process and one BLAS
    thread, SettingError if the scheduler cannot be used, and MissingPackageError without Dask.
    """
    if (workers is None) == (scheduler is None):
        raise TypeError("give either workers or scheduler")
    try:
        import distributed  # noqa: F401  # may be missing
    except ImportError:
        raise MissingPackageError("Dask", "distributed") from None
    with (
        _silent_loggers(),
        local_cluster(workers) if workers else nullcontext(address_of(scheduler or "")) as address,
    ):
        if scheduler is not None:
            check(address)
        with _connected(address) as client:
            cluster = Cluster(client, address, say)
            cluster.begin()
            yield cluster


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler. No signal is heeded in here: half a client ends in a traceback."""
    from distributed import Client

    try:
        client = Client(address, timeout="5s", set_as_default=False)
    except Exception as error:  # Dask raises many kinds
        what = f"the scheduler at {address} cannot be used: {error or type(error).__name__}"
        raise SettingError(what, "Check that it runs and has the same version of Dask.") from error
    try:
        yield client
    finally:
        with suppress(Exception):  # the results are in; a failed goodbye does no harm
            client.close(timeout=1)


@contextmanager
def _silent_loggers() -> Iterator[None]:
    """Silence Dask's logs of workers that come and go; real problems raise exceptions."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(LOGGERS)]
    before = {name: logging.getLogger(name).disabled for name in {*names, *LOGGERS}}
    for name in before:
        logging.getLogger(name).disabled = True
    try:
        yield
    finally:
        for name, was_disabled in before.items():
            logging.getLogger(name).disabled = was_disabled
