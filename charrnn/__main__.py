"""The program: ``charrnn``, or ``python -m charrnn``."""

from __future__ import annotations

import signal
import sys


def run() -> None:
    """Run the command line and exit with its status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports leaves no traceback
    from charrnn.cli.console import report_errors, show_version

    with report_errors():
        if sys.argv[1:2] == ["--version"]:
            show_version()
        else:
            from charrnn.cli.app import main  # Typer is slow to import

            main(sys.argv[1:])


if __name__ == "__main__":
    run()
