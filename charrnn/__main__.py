"""The program: ``charrnn``, or ``python -m charrnn``. It ends with one red line, and a status.

A bug keeps its traceback; CHARRNN_DEBUG=1 shows the traceback of every error. Where the library
names a setting, such as ``max_characters``, the command line shows the option, ``--max-chars``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports leaves no traceback

from charrnn.cli import console
from charrnn.errors import CharrnnError, SettingError
from charrnn.signals import handled


def run() -> None:
    """Run the command line and exit with its status."""
    with report_errors():
        if sys.argv[1:2] == ["--version"]:
            console.show_version()
        else:
            from charrnn.cli.app import main  # Typer is slow to import

            main(sys.argv[1:])


@contextmanager
def report_errors() -> Iterator[None]:
    """Run the program inside; show an error that is not a bug, and raise SystemExit in any case."""
    try:
        try:
            console.prepare()
            with handled():
                yield
        finally:
            console.finish()
    except BaseException as error:
        explained = explain(error)
        if explained is None:
            raise
        if os.environ.get("CHARRNN_DEBUG") and not isinstance(error, SystemExit):
            import traceback

            traceback.print_exception(error)
        status, what, hint = explained
        if what:
            console.Console().error(what, hint)
        elif status == console.INTERRUPTED and sys.stderr.isatty():
            sys.stderr.write("\n")  # the shell's prompt goes below the ^C
        raise SystemExit(status) from None
    raise SystemExit(0)


def explain(error: BaseException) -> tuple[int, str, str] | None:
    """Return the exit status, the message and the hint for an error; None for a bug."""
    match error:
        case SettingError():
            return console.USAGE, *in_words_of_the_command_line(error)
        case CharrnnError():
            return console.FAILURE, *in_words_of_the_command_line(error)
        case SystemExit():
            return error.code if isinstance(error.code, int) else bool(error.code), "", ""
        case KeyboardInterrupt():
            return getattr(error, "status", console.INTERRUPTED), "", ""
        case BrokenPipeError():
            return console.READER_LEFT, "", ""
        case FileNotFoundError(filename=None):  # only the current folder has no name
            return console.FAILURE, "the current folder is gone", "Change to a folder that exists."
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return console.FAILURE, f"{place}{error.strerror or error}", ""
        case MemoryError():
            what = f"not enough memory: {error}" if str(error) else "not enough memory"
            return (
                console.FAILURE,
                what,
                "Try a smaller network or batch, or shorter windows.",
            )
    return None


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """Return the message and the hint, with options in place of the names of settings."""
    from charrnn.cli.options import option_for  # Typer is slow to import

    what, name = error.what, error.setting
    if name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint_with(option_for)
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint[:1].upper()}{hint[1:].rstrip('.')}. {note}"
    return what, hint


if __name__ == "__main__":
    run()
