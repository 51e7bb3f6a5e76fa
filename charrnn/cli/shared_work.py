"""``--workers N`` or ``--scheduler ADDRESS|FILE``: the work of a command, shared out.

processes: int | None = options.workers()
scheduler: str | None = options.scheduler()

with cluster_for(options.processes, options.scheduler, console) as cluster: ...
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from charrnn.cli.console import Console
from charrnn.cli.options import check_exclusive
from charrnn.errors import CharrnnError, MissingPackageError

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster


def check(processes: int | None, scheduler: str | None, threads: int | None) -> None:
    """Raise SettingError where more than one of them was typed: a piece of work has one thread."""
    check_exclusive(workers=processes, scheduler=scheduler)
    check_exclusive(workers=processes, threads=threads)
    check_exclusive(scheduler=scheduler, threads=threads)


@contextmanager
def cluster_for(
    processes: int | None, scheduler: str | None, console: Console
) -> Iterator[Cluster | None]:
    """The cluster that was asked for, if one was."""
    if processes is None and scheduler is None:
        yield None
        return
    from charrnn.cluster.opening import open_cluster

    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(open_cluster(processes, scheduler, console.note))
        except MissingPackageError as error:
            option = "--workers" if scheduler is None else "--scheduler"
            raise CharrnnError(f"{option} needs Dask", error.hint) from None
        yield cluster
