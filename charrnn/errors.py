"""Everything that can go wrong and is not a bug.

    CharrnnError               what is wrong, and what to do about it
    +-- SettingError           a setting outside its range
    +-- CorpusError            a text that cannot be read, or is not enough
    +-- ModelFileError         a model file that cannot be used
    |   +-- NotAModelError     it was never one of ours
    |   +-- DamagedModelError  it was, and is broken
    |   +-- NewerModelError    it is, from a later version of this program
    |   +-- ModelExistsError   it is there already, and would be lost
    |   +-- ModelBusyError     another run is writing to it
    |   +-- SaveError          it could not be written
    +-- ResumeError            a run that cannot go on as asked
    +-- DivergedError          the loss left every bound
    +-- ExportError            a model that a kind of file cannot hold
    +-- ClusterError           a cluster that cannot be used, or is lost
    +-- MissingPackageError    a package that comes as an extra is not installed

A bug is not in this tree: it keeps its traceback.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NAME = re.compile(r"(?<!\w)\[([a-z_]+)\]")  # not that of charrnn[plot]


class CharrnnError(Exception):
    """An error that is not a bug: what is wrong, in one sentence, and what to do about it.

    Where a hint means a setting or an option, it says ``[lr]``. Python shows ``lr``, the command
    line ``--lr``. ``setting`` is the name of the setting that ``what`` begins with, if any.
    """

    def __init__(self, what: str, hint: str = "", setting: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.setting = setting
        self.hint_pattern = hint

    @property
    def hint(self) -> str:
        """Return the hint for Python."""
        return self.hint_with(str)

    @hint.setter
    def hint(self, text: str) -> None:
        self.hint_pattern = text

    def hint_with(self, written: Callable[[str], str]) -> str:
        """Return the hint, each ``[name]`` in it written by this function."""
        return _NAME.sub(lambda found: written(found[1]), self.hint_pattern)


class SettingError(CharrnnError):
    """A setting outside its range."""


class CorpusError(CharrnnError):
    """A text that cannot be read, or is not enough."""


class ModelFileError(CharrnnError):
    """A model file that cannot be used."""


class NotAModelError(ModelFileError):
    """It was never one of ours."""


class DamagedModelError(ModelFileError):
    """It was one of ours, and is broken."""


class NewerModelError(ModelFileError):
    """It comes from a later version of this program."""


class ModelExistsError(ModelFileError):
    """It is there already, and would be lost."""


class ModelBusyError(ModelFileError):
    """Another run is writing to it."""


class SaveError(ModelFileError):
    """It could not be written."""


class ResumeError(CharrnnError):
    """A run that cannot go on as asked."""


class DivergedError(CharrnnError):
    """The loss left every bound."""


class ExportError(CharrnnError):
    """A model that a kind of file cannot hold."""


class ClusterError(CharrnnError):
    """A cluster that cannot be used, or is lost."""


class MissingPackageError(CharrnnError):
    """A package that comes as an extra is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", f"pip install 'charrnn[{extra}]'")
