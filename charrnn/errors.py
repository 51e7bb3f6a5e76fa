"""Errors: everything that can go wrong and is not a bug. A bug keeps its traceback."""

from __future__ import annotations

import re
from collections.abc import Callable

_NAME = re.compile(r"\[([a-z_]+)\]")


class CharrnnError(Exception):
    """An error that is not a bug: a sentence names the fault, and a hint the remedy.

    A hint names a setting as ``[lr]``: Python shows ``lr``, the command line ``--lr``. ``setting``
    is the name of the setting that ``what`` begins with, if any.
    """

    def __init__(self, what: str, hint: str = "", setting: str = "") -> None:
        super().__init__(what)
        self.what, self.setting = what, setting
        self.hint_pattern = hint

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.hint_with(str)

    def hint_with(self, written: Callable[[str], str]) -> str:
        """Return the hint, each ``[name]`` in it written by this function."""
        return _NAME.sub(lambda found: written(found[1]), self.hint_pattern)


class SettingError(CharrnnError):
    """A setting outside its range, or one that contradicts another."""


class CorpusError(CharrnnError):
    """A text that cannot be read, or is too small."""


class ModelFileError(CharrnnError):
    """A model file that cannot be used."""


class NotAModelError(ModelFileError):
    """A file that is not a charrnn model."""


class DamagedModelError(ModelFileError):
    """A model file that is broken."""


class OtherVersionError(ModelFileError):
    """A model file of another version of charrnn."""


class ModelExistsError(ModelFileError):
    """A model file that would be overwritten."""


class ModelBusyError(ModelFileError):
    """A model file that another run is writing."""


class SaveError(ModelFileError):
    """A file that could not be written."""


class ResumeError(CharrnnError):
    """A run that cannot be resumed as requested."""


class DivergedError(CharrnnError):
    """A loss that diverges: it is not finite, or far worse than guessing."""


class ExportError(CharrnnError):
    """A model that this kind of file cannot hold."""


class ClusterError(CharrnnError):
    """A cluster that cannot be used, or is lost."""


class MissingPackageError(CharrnnError):
    """An optional library that is not installed."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(f"{name} is not installed", f"pip install {package}")
        self._given = name, package

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[str, str]]:
        return type(self), self._given
