"""``--mpi``: several processes as one program, of which the first alone speaks, reads and saves.

Whatever goes wrong on one of them ends all: nobody is left waiting for who is gone. What goes wrong
on all at once, or before they have begun to learn, ends each as it would end one alone.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from charrnn.cli import early_signals, launcher, streams
from charrnn.cli.console import Console
from charrnn.cli.error_messages import explain
from charrnn.cli.exit_status import FAILURE, Fault
from charrnn.errors import CharrnnError, DivergedError

if TYPE_CHECKING:
    from charrnn.training.mpi_ranks import MpiRanks


@contextmanager
def joined() -> Iterator[MpiRanks]:
    """The ranks, of which this process is one. The first ends what it has to say to the others in
    here; only it hears signals.
    """
    ranks = joined_ranks()
    if ranks.number:
        for number in early_signals.ours():
            signal.signal(number, signal.SIG_IGN)
    try:
        yield ranks
    except BaseException as error:
        if not ranks.are_apart and not isinstance(error, DivergedError):  # which all find at once
            if ranks.number or ranks.have_begun or not isinstance(error, Exception):
                end_all(error, ranks)
            ranks.dismiss()
        raise
    if not ranks.number and not ranks.have_begun:
        ranks.dismiss()


def joined_ranks() -> MpiRanks:
    """The same; CharrnnError where there is no MPI, or another one than that of mpiexec."""
    from charrnn.training.mpi_ranks import join

    try:
        ranks = join()
    except ImportError as error:
        raise CharrnnError(
            "--mpi needs mpi4py",
            "pip install 'charrnn[mpi]', and an MPI if there is none: pip install mpich",
        ) from error
    except RuntimeError as error:  # in many lines: where it has looked for one
        raise CharrnnError(
            "--mpi needs an MPI, and mpi4py finds none",
            "Install one, such as: pip install mpich",
        ) from error
    started = launcher.processes()
    if ranks.count == 1 and started > 1:
        raise CharrnnError(
            f"mpiexec has started {started} processes, and mpi4py knows of one",
            "Start them by the mpiexec of the MPI that mpi4py loads.",
        )
    return ranks


def end_all(error: BaseException, ranks: MpiRanks) -> NoReturn:
    """Say what it was, and end the processes of all ranks at once."""
    fault = explain(error)
    if fault is None:
        traceback.print_exception(error)
        fault = Fault(FAILURE)
    elif ranks.number:
        what = fault.what or f"it ended with status {fault.status}"
        fault = Fault(fault.status or FAILURE, f"rank {ranks.number}: {what}", fault.hint)
    if fault.what:
        Console().error(fault.what, fault.hint)
    with suppress(CharrnnError, OSError):
        streams.finish()
    launcher.let_it_be_read()
    ranks.abort(fault.status or FAILURE)
