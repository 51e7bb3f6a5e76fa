"""The program: ``charrnn``, or ``python -m charrnn``."""

import signal
import sys


def run() -> None:
    """Run the command line and exit with its status, or die of the signal that ended it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports leaves no traceback
    from charrnn.cli.console import report_errors, show_version
    from charrnn.system.cores import limit_threads
    from charrnn.system.signals import Stopped, die_if_ignored, die_of

    limit_threads()
    sys.unraisablehook = die_if_ignored  # as in callbacks while a module is imported
    status = 0
    try:
        with report_errors():
            if sys.argv[1:2] == ["--version"]:
                show_version()
            else:
                from charrnn.cli.app import main  # Typer is slow to import

                main(sys.argv[1:])
    except SystemExit as end:
        status = int(end.code or 0)
    except Stopped as stop:  # it came as report_errors was entered or left
        status = stop.status
    die_of(status)  # at exit, Python would wait for processes that it kept from being ended
    sys.exit(status)


if __name__ == "__main__":
    run()
