"""The program: ``charrnn``, or ``python -m charrnn``."""

from __future__ import annotations

from charrnn.cli import signals

signals.keep()  # before anything else is imported

import sys  # noqa: E402

from charrnn.cli.console import show_version  # noqa: E402
from charrnn.cli.errors import report_errors  # noqa: E402


def run() -> None:
    """Run the command line and exit with its status."""
    try:
        with report_errors():
            if sys.argv[1:2] == ["--version"]:
                show_version()
            else:
                from charrnn.cli.app import main  # Typer is slow to import

                main(sys.argv[1:])
    finally:
        signals.restore_defaults()


if __name__ == "__main__":
    run()
