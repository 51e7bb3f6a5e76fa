"""One red line and an exit status for everything that can go wrong and is not a bug.

A bug keeps its traceback. CHARRNN_DEBUG=1 shows one for the rest too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from charrnn.cli import launcher, signals, streams
from charrnn.cli.console import Console
from charrnn.cli.exit_status import FAILURE, INTERRUPTED, READER_LEFT, USAGE, Fault
from charrnn.errors import CharrnnError, SettingError
from charrnn.escaping import Visible


@contextmanager
def told() -> Iterator[None]:
    """Run the program in here; SystemExit comes out, whatever happens, unless it is a bug."""
    try:
        streams.prepare()
        with signals.ending():
            yield
            streams.finish()
        fault = Fault(0)
    except BaseException as error:
        explained = explain(_behind(error))
        if explained is None:
            raise
        fault = explained
        if os.environ.get("CHARRNN_DEBUG") and not isinstance(error, SystemExit):
            import traceback

            traceback.print_exception(error)
    console = Console()
    if fault.status:
        launcher.let_others_speak()
    if fault.what:
        console.error(fault.what, fault.hint)
    elif fault.status == INTERRUPTED and console.err.is_terminal:
        console.say(Visible(""))  # the shell's prompt goes below the ^C
    if fault.status:
        launcher.end_all(fault.status)
    raise SystemExit(fault.status)


def explain(error: BaseException) -> Fault | None:
    """What a user is told of it; None for a bug."""
    match error:
        case CharrnnError():
            status = USAGE if isinstance(error, SettingError) else FAILURE
            from charrnn.cli import hints

            return Fault(status, *hints.in_words_of_the_command_line(error))
        case SystemExit():
            return Fault(error.code if isinstance(error.code, int) else bool(error.code))
        case signals.Stopped():
            return Fault(error.status)
        case KeyboardInterrupt():
            return Fault(INTERRUPTED)
        case BrokenPipeError():
            return Fault(READER_LEFT)
        case FileNotFoundError(filename=None):  # only the current folder has no name
            return Fault(FAILURE, "the current folder is gone", "Go to one that is there.")
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            return Fault(FAILURE, f"{where}{error.strerror or error}")
        case MemoryError():
            detail = f": {error}" if str(error) else ""
            return Fault(
                FAILURE,
                f"not enough memory{detail}",
                "Ask for less: a smaller network, a smaller batch, a shorter horizon.",
            )
    if "typer" in sys.modules:
        from charrnn.cli import usage

        return usage.explain(error)
    return None


def _behind(error: BaseException) -> BaseException:
    """The error itself, or that stdout took no more, where all seemed well."""
    try:
        streams.finish()
    except (BrokenPipeError, CharrnnError) as lost:
        streams.abandon_stdout()
        explained = explain(error)
        if explained is not None and explained.status == 0:
            return lost
    return error
