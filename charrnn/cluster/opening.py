"""Workers of this machine, or those of a scheduler somewhere, ready for work.

    with open_cluster(workers=4) as cluster:
        for result in cluster.ordered(function, pieces):
            ...

Whoever can reach the port of a scheduler or of a worker can run code there: ours listen on
127.0.0.1 alone; elsewhere TLS is set up by Dask's own settings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from charrnn.cluster import scheduler_check
from charrnn.cluster.local import local_cluster
from charrnn.cluster.pool import Cluster
from charrnn.errors import MissingPackageError, SettingError

if TYPE_CHECKING:
    from distributed import Client

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
    address = scheduler_check.address_of(scheduler)
    scheduler_check.check(address)
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
