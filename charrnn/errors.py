"""Errors: everything that can go wrong and is not a bug. A bug keeps its traceback."""

from __future__ import annotations


class CharrnnError(Exception):
    """An error with two sentences: the fault, and the way out of it.

    The key tells errors of one class apart, or names a setting; the details are values for the
    hint. With them, the command line words the hint in terms of its options.
    """

    def __init__(self, what: str, hint: str = "", key: str = "", **details: object) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.key = key
        self.details = details


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


class NewerModelError(ModelFileError):
    """A model file of a later version of charrnn."""


class ModelExistsError(ModelFileError):
    """A model file that would be overwritten."""


class ModelBusyError(ModelFileError):
    """A model file that another run is writing."""


class SaveError(ModelFileError):
    """A file that could not be written."""


class ResumeError(CharrnnError):
    """A run that cannot be resumed as requested."""


class DivergedError(CharrnnError):
    """A loss that is not finite, or grows out of bounds."""


class ExportError(CharrnnError):
    """A model that this kind of file cannot hold."""


class ClusterError(CharrnnError):
    """A cluster that cannot be used, or is lost."""


class MissingPackageError(CharrnnError):
    """An optional package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", f"pip install 'charrnn[{extra}]'")
