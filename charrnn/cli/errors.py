"""Errors as the command line shows them: one red line, what to do, and an exit status.

A bug keeps its traceback; CHARRNN_DEBUG=1 shows the traceback of every error. Where the library
names a setting, such as ``max_characters``, the command line shows the option, ``--max-chars``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from charrnn.cli import console as streams
from charrnn.cli import signals
from charrnn.cli.console import FAILURE, INTERRUPTED, READER_LEFT, USAGE, Console, Fault
from charrnn.errors import CharrnnError, SettingError
from charrnn.text import Visible

# Names in hints that no configuration has
OTHER = "valid", "use", "shortest", "longest"
OTHER_OPTIONS = {name: f"--{name}" for name in OTHER}
OTHER_OPTIONS |= {"model": "-m", "path": "-m", "start_from": "--from"}


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """Return the message and the hint, with options in place of the names of settings."""
    what, name = error.what, error.setting
    if name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint_with(option_for)
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint[:1].upper()}{hint[1:].rstrip('.')}. {note}"
    return what, hint


def option_for(name: str, *, denied: bool = False) -> str:
    """Return the option for a setting, such as --from for start_from; denied: to switch it off."""
    from charrnn.export import ExportOptions  # slow to import: only for the text of an error
    from charrnn.settings.corpus import CorpusConfig, Reading
    from charrnn.settings.fields import settings_of
    from charrnn.settings.sampling import FillConfig, SampleConfig
    from charrnn.settings.training import TrainConfig

    configs = (SampleConfig, CorpusConfig, Reading, FillConfig)
    for config in (TrainConfig, *configs, ExportOptions):
        setting = settings_of(config).get(name)
        if setting is not None and setting.names != ():
            yes, _, no = setting.options(name)[-1].partition("/")
            return no if denied and no else yes
    return OTHER_OPTIONS.get(name, name)


def typed(name: str, value: object) -> str:
    """Return a setting and its value as they are typed: "--epochs 5", "--clock"."""
    from charrnn.settings.fields import in_words

    if isinstance(value, bool):
        option = option_for(name, denied=not value)
        return option if value or option != option_for(name) else f"no {option}"
    return in_words(option_for(name), value)


@contextmanager
def report_errors() -> Iterator[None]:
    """Run the program inside; show an error that is not a bug, and raise SystemExit in any case."""
    try:
        streams.prepare()
        with signals.ending():
            yield
            streams.finish()
        fault = Fault(0)
    except BaseException as error:
        explained = explain(_lost_output(error) or error)
        if explained is None:
            raise
        fault = explained
        if os.environ.get("CHARRNN_DEBUG") and not isinstance(error, SystemExit):
            import traceback

            traceback.print_exception(error)
    console = Console()
    if fault.what:
        console.error(fault.what, fault.hint)
    elif fault.status == INTERRUPTED and console.err.is_terminal:
        console.say(Visible(""))  # the shell's prompt goes below the ^C
    raise SystemExit(fault.status)


def explain(error: BaseException) -> Fault | None:
    """Return the status and the message for an error; None for a bug."""
    match error:
        case CharrnnError():
            status = USAGE if isinstance(error, SettingError) else FAILURE
            return Fault(status, *in_words_of_the_command_line(error))
        case SystemExit():
            return Fault(error.code if isinstance(error.code, int) else bool(error.code))
        case signals.Stopped():
            return Fault(error.status)
        case KeyboardInterrupt():
            return Fault(INTERRUPTED)
        case BrokenPipeError():
            return Fault(READER_LEFT)
        case FileNotFoundError(filename=None):  # only the current folder has no name
            return Fault(FAILURE, "the current folder is gone", "Change to a folder that exists.")
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            return Fault(FAILURE, f"{where}{error.strerror or error}")
        case MemoryError():
            what = f"not enough memory: {error}" if str(error) else "not enough memory"
            hint = "Try a smaller network, a smaller batch or shorter windows."
            return Fault(FAILURE, what, hint)
    return None


def _lost_output(error: BaseException) -> BaseException | None:
    """Return the error of writing what stdout still holds, unless another error explains it."""
    try:
        streams.finish()
    except (BrokenPipeError, CharrnnError) as lost:
        explained = explain(error)
        if explained is not None and explained.status == 0:
            return lost
    return None
