"""The program: ``charrnn``, or ``python -m charrnn``."""

from __future__ import annotations

from charrnn.cli import launcher

launcher.keep()  # before anything else is imported

import sys  # noqa: E402

from charrnn.cli import signals  # noqa: E402
from charrnn.cli.console import show_version  # noqa: E402
from charrnn.cli.errors import told  # noqa: E402


def run() -> None:
    """Do what the command line says, and leave with the exit status."""
    try:
        with told():
            if sys.argv[1:2] == ["--version"]:
                show_version()
            else:
                from charrnn.cli.app import main  # Typer takes longer than an empty Python

                main(sys.argv[1:])
    finally:
        signals.leave_to_the_system()


if __name__ == "__main__":
    run()
