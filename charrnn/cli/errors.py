"""One red line and an exit status for everything that can go wrong and is not a bug.

A bug keeps its traceback. CHARRNN_DEBUG=1 shows one for the rest too.

What a user of the command line reads of an error: options and commands, where Python has names.

The library says "workers cannot be 0" and "name another file"; here that becomes "--threads cannot
be 0" and "name another file with -m". An error is known by its class and its key, a value that is
out of its range by the name of its setting."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from charrnn.cli import console as streams
from charrnn.cli import launcher, signals
from charrnn.cli.console import FAILURE, INTERRUPTED, READER_LEFT, USAGE, Console, Fault
from charrnn.errors import (
    CharrnnError,
    CorpusError,
    DamagedModelError,
    DivergedError,
    ModelBusyError,
    ModelFileError,
    NewerModelError,
    NotAModelError,
    SaveError,
    SettingError,
)
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import in_words, settings_of
from charrnn.settings.training import TrainConfig
from charrnn.settings.using import ExportOptions, FillConfig, SampleConfig
from charrnn.text import Visible


def likely_encodings(error: CharrnnError) -> str:
    """The encodings that a text could be in, as they are typed."""
    offers: Any = error.details["offers"]
    reads = (f"--encoding {name}, which reads '{text}'" for name, text in offers)
    return f"Perhaps {'; or '.join(reads)}"


A_FEW = "If only a few bytes are wrong, read on with --errors replace, or skip."

# {hint} is what the library says, without a full stop; {command} is the one that was typed; other
# names are details of the error.
HINTS: dict[tuple[type[CharrnnError], str], str | Callable[[CharrnnError], str]] = {
    (CorpusError, "encoding"): "Try --encoding {encoding}",
    (CorpusError, "other encoding"): f"{{hint}}: --encoding NAME. {A_FEW}",
    (CorpusError, "nul"): f"{{hint}}. {A_FEW}",
    (CorpusError, "likely encodings"): likely_encodings,
    (CorpusError, "memory"): "Try a smaller --hidden, --batch or --bptt.",
    (CorpusError, "model"): "A model is named with -m, or with --from to start a training from it.",
    (CorpusError, "text"): "{hint}: charrnn {command} TEXT",
    (ModelFileError, "no counts"): "Train one with charrnn train --counts, or leave --use out.",
    (SettingError, "nothing held out"): "{hint} with --holdout or --valid.",
    (SettingError, "fill"): "Train one with --ends symbol or --ends halt.",
    (SettingError, "fed back"): "Leave it out, or add --cell output.",
    (SettingError, "window"): "{hint}: --bptt N.",
    (DivergedError, "lr"): "try a smaller learning rate, such as --lr {lr}",
    (DivergedError, "rate"): "Try a smaller rate, such as --dynamic {rate}",
    (ModelFileError, "missing"): (
        "Train one first: charrnn train CORPUS. Or say with -m where it is."
    ),
    (ModelFileError, "unreadable"): "{hint} with -m.",
    (NotAModelError, ""): "Say with -m which file charrnn train wrote.",
    (DamagedModelError, ""): "{hint}: charrnn train CORPUS --force",
    (NewerModelError, ""): "{hint}: pip install --upgrade charrnn",
    (ModelBusyError, ""): "{hint} with -m.",
    (SaveError, "elsewhere"): "{hint} with -m.",
    (SaveError, "folder"): "Name a file with -m in a folder that can be written to.",
    (SaveError, "not finite"): "What was saved before is untouched. Try a smaller --lr.",
}


def in_words_of_the_command_line(error: CharrnnError) -> tuple[str, str]:
    """What is wrong, and what to do about it; what was noted on the way comes after that."""
    what, name = error.what, str(error.details.get("setting", error.key))
    if isinstance(error, SettingError) and name and what.startswith(f"{name} "):
        what = option_for(name) + what.removeprefix(name)
    hint = error.hint
    if (type(error), error.key) in HINTS:
        known = HINTS[type(error), error.key]
        hint = (
            known.format(hint=hint.rstrip("."), **error.details)
            if isinstance(known, str)
            else known(error)
        )
    for note in getattr(error, "__notes__", ()):
        hint = f"{hint[:1].upper()}{hint[1:].rstrip('.')}. {note}"
    return what, hint


def option_for(name: str, *, denied: bool = False) -> str:
    """What is typed for a setting, or to have it not: --threads for workers, --reset for carry."""
    for config in (TrainConfig, SampleConfig, CorpusConfig, Reading, FillConfig, ExportOptions):
        one = settings_of(config).get(name)
        if one is not None and one.names != ():
            yes, _, no = one.options(name)[-1].partition("/")
            return no if denied and no else yes
    return name


def typed(name: str, value: object) -> str:
    """Return a setting and its value as they are typed: "--epochs 5", "--carry", "--reset"."""
    if isinstance(value, bool):
        option = option_for(name, denied=not value)
        return option if value or option != option_for(name) else f"no {option}"
    return in_words(option_for(name), value)


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
        from charrnn.cli import app

        return app.explain(error)
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
