"""The program: ``charrnn``, or ``python -m charrnn``."""

import atexit
import signal
import sys


def run() -> None:
    """Run the command line and exit with its status, or die of the signal that ended it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports leaves no traceback
    from charrnn.cli.console import report_errors, show_version
    from charrnn.system.cores import limit_threads
    from charrnn.system.signals import die_if_ignored, die_of

    limit_threads()
    sys.unraisablehook = die_if_ignored  # as in callbacks while a module is imported
    statuses: list[int] = []
    atexit.register(die_of, statuses)  # the first to be registered is the last to be done
    try:
        with report_errors():
            if sys.argv[1:2] == ["--version"]:
                show_version()
            else:
                from charrnn.cli.app import main  # Typer is slow to import

                main(sys.argv[1:])
    except SystemExit as end:
        statuses.append(int(end.code or 0))
        raise


if __name__ == "__main__":
    run()
