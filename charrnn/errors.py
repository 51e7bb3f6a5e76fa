"""Errors and exit statuses: all that can go wrong and is not a bug. A bug keeps its traceback."""

import errno
import re
from collections.abc import Callable

# Exit statuses; 0 is success, and 128 + N a signal: 129 SIGHUP, 143 SIGTERM
FAILURE = 1  # known, such as a missing file
USAGE = 2  # wrong options, or a value out of range
ABOVE = 3  # something is above --above
INTERRUPTED = 130  # Ctrl-C
READER_LEFT = 141  # the reader of stdout has left: 128 + SIGPIPE, as with cat and grep
IN_PYTHON = {"model": "path", "label_by": "labels"}  # settings that have another name there


class CharrnnError(Exception):
    """An error that is not a bug: a sentence names the fault, and a hint the remedy.

    A hint names a setting as ``[lr]``: Python shows ``lr``, the command line ``--lr``. ``what``
    may begin with the name in ``setting``.
    """

    status = FAILURE

    def __init__(self, what: str, hint: str = "", setting: str = "") -> None:
        super().__init__(what)
        self.what, self.hint_pattern, self.setting = what, hint, setting

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.hint_with(lambda name: IN_PYTHON.get(name, name))

    def hint_with(self, written: Callable[[str], str]) -> str:
        """Return the hint, each ``[name]`` in it written by this function."""
        parts = re.compile(r"\[(?:\[|([a-z_]+)\])")
        return parts.sub(lambda name: written(name[1]) if name[1] else "[", self.hint_pattern)


def unbracketed(text: str) -> str:
    """Return what stands for a text in a hint: brackets in it name no setting."""
    return text.replace("[", "[[")


class SettingError(CharrnnError):
    """A setting outside its range, or one that contradicts another."""

    status = USAGE


class CorpusError(CharrnnError):
    """A text that cannot be read, or is too small."""


class EncodingError(CorpusError):
    """A text in another encoding than it is read by."""


class NoColumnError(CorpusError):
    """A text without the column that is to be read."""


class ModelFileError(CharrnnError):
    """A model file that cannot be used: damaged, of another version, or not of charrnn."""


class SaveError(CharrnnError):
    """A file that cannot be written, or may not be replaced."""


class ResumeError(CharrnnError):
    """A run that cannot be resumed as requested."""


class DivergedError(CharrnnError):
    """A loss that diverges: it is not finite, or far worse than guessing."""


class ClusterError(CharrnnError):
    """A cluster that cannot be used, or a worker that is lost."""


def in_words(name: str, value: object) -> str:
    """Return a setting as messages show it: hidden 64, clock, no clock."""
    if value is None or value is False:
        return f"no {name}"
    shown = f"{value:.12g}" if isinstance(value, float) else str(value)
    return name if value is True else f"{name} {shown}"


def remedy(error: object, another: str = "name another file") -> str:
    """Return what to do after a failed save. ``another`` asks for another file or folder."""
    first = {errno.ENOSPC: "Free some room, or ", errno.ENOENT: "Make the folder first, or "}
    advice = first.get(getattr(error, "errno", 0) or 0, "") + another
    return f"{advice[0].upper()}{advice[1:]}."
