"""Errors as the command line shows them: one red line, what to do, and an exit status.

A bug keeps its traceback; CHARRNN_DEBUG=1 shows the traceback of every error. Where the library
names a setting, such as ``max_characters``, the command line shows the option, ``--max-chars``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from charrnn.cli import console as streams
from charrnn.cli import signals
from charrnn.cli.console import FAILURE, INTERRUPTED, READER_LEFT, USAGE, Console
from charrnn.errors import CharrnnError, SettingError

OPTIONS = {
    "temperature": "--temp",
    "max_characters": "--max-chars",
    "start_from": "--from",
    "model": "-m",
    "path": "-m",
}


def option_for(name: str) -> str:
    """Return the option that is typed for a setting."""
    return OPTIONS.get(name, "--" + name.replace("_", "-"))


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """Return the message and the hint, with options in place of the names of settings."""
    what, name = error.what, error.setting
    if name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint_with(option_for)
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint[:1].upper()}{hint[1:].rstrip('.')}. {note}"
    return what, hint


@contextmanager
def report_errors() -> Iterator[None]:
    """Run the program inside; show an error that is not a bug, and raise SystemExit in any case."""
    try:
        try:
            streams.prepare()
            with signals.handled():
                yield
        finally:
            streams.finish()
    except BaseException as error:
        explained = explain(error)
        if explained is None:
            raise
        if os.environ.get("CHARRNN_DEBUG") and not isinstance(error, SystemExit):
            import traceback

            traceback.print_exception(error)
        status, what, hint = explained
        if what:
            Console().error(what, hint)
        elif status == INTERRUPTED and sys.stderr.isatty():
            sys.stderr.write("\n")  # the shell's prompt goes below the ^C
        raise SystemExit(status) from None
    raise SystemExit(0)


def explain(error: BaseException) -> tuple[int, str, str] | None:
    """Return the exit status, the message and the hint for an error; None for a bug."""
    match error:
        case SettingError():
            return USAGE, *in_words_of_the_command_line(error)
        case CharrnnError():
            return FAILURE, *in_words_of_the_command_line(error)
        case SystemExit():
            return error.code if isinstance(error.code, int) else bool(error.code), "", ""
        case KeyboardInterrupt():
            return getattr(error, "status", INTERRUPTED), "", ""
        case BrokenPipeError():
            return READER_LEFT, "", ""
        case FileNotFoundError(filename=None):  # only the current folder has no name
            return FAILURE, "the current folder is gone", "Change to a folder that exists."
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return FAILURE, f"{place}{error.strerror or error}", ""
        case MemoryError():
            what = f"not enough memory: {error}" if str(error) else "not enough memory"
            return FAILURE, what, "Try a smaller network, a smaller batch or shorter windows."
    return None
