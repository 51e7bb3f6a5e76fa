"""Workers of this machine, or those of a scheduler somewhere, ready for work.

    with open_cluster(workers=4) as cluster:
        for result in cluster.ordered(function, pieces):
            ...

Whoever can reach the port of a scheduler or of a worker can run code there: ours listen on
127.0.0.1 alone; elsewhere TLS is set up by Dask's own settings.

Who answers at an address, before anything is believed.

Dask's own client waits for ever for the greeting of something that is no scheduler, and fails in a
dozen ways where versions or certificates differ. So somebody knocks first, and has no patience."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from charrnn.cluster.local import local_cluster
from charrnn.cluster.pool import Cluster
from charrnn.errors import MissingPackageError, SettingError

if TYPE_CHECKING:
    from distributed import Client


PATIENCE: Final = 3.0  # seconds
SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")


def address_of(scheduler: str) -> str:
    """The address of a scheduler, or what stands in the file that it wrote."""
    if "://" in scheduler:
        return scheduler
    host, _, port = scheduler.rpartition(":")
    if host and port.isdigit() and not os.path.exists(scheduler):
        return f"tcp://{scheduler}"
    try:
        with open(scheduler, encoding="utf-8") as file:
            address = json.load(file)["address"]
    except OSError as error:
        raise SettingError(
            f"{scheduler or 'nothing'} is neither the address of a scheduler nor its file:"
            f" {error.strerror}",
            "An address looks like tcp://HOST:PORT; a file is what the scheduler wrote.",
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SettingError(
            f"{scheduler} is not the file of a scheduler",
            "Name the one that it wrote, or its address.",
        ) from None
    return str(address)


def check(address: str) -> None:
    """SettingError unless a scheduler of our version of Dask answers there, and soon."""
    from importlib.metadata import version

    from distributed.comm.core import CommClosedError

    mine = version("distributed")

    if address.partition("://")[0] not in SCHEMES:
        raise SettingError(f"{address} is not an address", "It looks like tcp://HOST:PORT.")
    try:
        found = asyncio.run(asyncio.wait_for(_asked(address), PATIENCE))
    except CommClosedError:
        raise SettingError(
            f"{address} hangs up on us, as a scheduler does that wants TLS",
            f"Does it? Then its address begins with tls://. {CERTIFICATES}",
        ) from None
    except TimeoutError:
        raise SettingError(
            f"no scheduler of Dask answers at {address}",
            "Look whether it is one, and can be reached from here.",
        ) from None
    except OSError as error:
        raise _unreachable(address, error) from None
    except Exception as error:  # what is no scheduler may answer anything
        raise _unlike(address, error) from None
    kind, its = found
    if kind != "Scheduler":
        raise SettingError(
            f"{address} is no scheduler of Dask, but a {kind}",
            "Name the address that dask scheduler tells.",
        )
    if its != mine:
        raise SettingError(
            f"the scheduler at {address} has Dask {its}, and here is {mine}",
            f"Install the same on all machines: pip install 'distributed=={its}'",
        )


CERTIFICATES: Final = (
    "Name the certificates to Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, __CLIENT__CERT and"
    " __CLIENT__KEY."
)


async def _asked(address: str) -> tuple[str, str]:
    """What answers there, and its version of Dask."""
    from distributed.comm.core import connect
    from distributed.core import send_recv
    from distributed.security import Security

    how = Security().get_connection_args("client")
    comm = await connect(address, timeout=0.8 * PATIENCE, **how)
    try:
        who: Any = await send_recv(comm, op="identity")
        versions: Any = await send_recv(comm, op="versions")
    finally:
        comm.abort()
    return str(who["type"]), str(versions["packages"]["distributed"])


def _unreachable(address: str, error: OSError) -> SettingError:
    """What to say where nobody could be spoken to."""
    import ssl

    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(error, FileNotFoundError) or isinstance(cause, ssl.SSLError):
        return SettingError(f"no TLS with {address}: {cause}", CERTIFICATES)
    return SettingError(
        f"no scheduler of Dask answers at {address}: {cause}",
        "Start one with dask scheduler, or name another.",
    )


def _unlike(address: str, error: Exception) -> SettingError:
    """What to say of an answer that makes no sense."""
    if address.startswith(("tls", "wss")) and "ssl" in str(error).lower():
        return SettingError(f"there are no certificates to speak TLS with {address}", CERTIFICATES)
    return SettingError(
        f"what answers at {address} is no scheduler of Dask",
        "Name the address that dask scheduler tells.",
    )


TALKATIVE: Final = ("distributed", "tornado", "asyncio")  # loggers; what matters we say ourselves


@contextmanager
def open_cluster(
    workers: int | None = None,
    scheduler: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Cluster]:
    """A cluster to give work to: so many ``workers`` on this machine, processes of one thread; or
    those of a ``scheduler``, by its address or the file that it wrote.

    It has been made sure that all workers have the charrnn and the numpy of this process, and one
    thread for matrices. SettingError where the scheduler is none that could be used, ClusterError
    where a worker is not, MissingPackageError without Dask. Where there are no workers yet, that is
    told by ``say`` after a while, and some are waited for.
    """
    if (workers is None) == (scheduler is None):
        raise TypeError("a cluster has so many workers, or a scheduler")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingPackageError("Dask", "cluster") from None
    with _silence(), local_cluster(workers) if workers else _elsewhere(scheduler or "") as address:
        client = _client(address)
        try:
            cluster = Cluster(client, address, say)
            cluster.begin()
            yield cluster
        finally:
            with suppress(Exception):  # whatever it is that is lost by now, nobody needs it
                client.close(timeout=1)


@contextmanager
def _elsewhere(scheduler: str) -> Iterator[str]:
    """The address of a scheduler that is one."""
    address = address_of(scheduler)
    check(address)
    yield address


def _client(address: str) -> Client:
    from distributed import Client

    try:
        return Client(address, timeout="5s", set_as_default=False)
    except Exception as error:  # of which there are many, and all say the same
        raise SettingError(
            f"the scheduler at {address} cannot be used: {error or type(error).__name__}",
            "Look whether it runs, and has the same version of Dask.",
        ) from error


@contextmanager
def _silence() -> Iterator[None]:
    """Dask tells of every worker that comes and goes; what matters comes as an exception."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(TALKATIVE)]
    before = {name: logging.getLogger(name).disabled for name in {*names, *TALKATIVE}}
    for name in before:
        logging.getLogger(name).disabled = True
    try:
        yield
    finally:
        for name, was_disabled in before.items():
            logging.getLogger(name).disabled = was_disabled
