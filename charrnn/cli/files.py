"""The files that a command writes, apart from stdout, and the texts that it reads.

An output file is written whole or not at all. It never takes the place of an input, and it replaces
a file that charrnn has not written only with --force.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn import saving
from charrnn.errors import ModelBusyError, SaveError, SettingError
from charrnn.system import model_at, path_of

if TYPE_CHECKING:
    from charrnn.model import Model
    from charrnn.vocabulary import Codes


def check_not_an_input(
    output: Path, option: str, *inputs: Path | str, corpus: Iterable[str] = ()
) -> None:
    """Raise SettingError if the output would take the place of an input.

    A str is a text as it is typed, and a Path is a model or another file.
    """
    for source in (*inputs, *(name for name in corpus if name != "-")):
        file = os.path.join(os.curdir, model_at(source)) if isinstance(source, Path) else source
        if would_replace(output, file):
            raise SettingError(f"{option} would overwrite {output}", "Name another file.")


def would_replace(path: Path, source: str) -> bool:
    """Return True if the source is the file at this path, or will be once the path exists."""
    file = 0 if source == "-" else path_of(source)  # standard input may be redirected from a file
    try:
        return os.path.samefile(file, path) and os.path.isfile(path)  # not a terminal or pipe
    except OSError:  # one of them does not exist
        with suppress(OSError):  # the current folder may be gone, too
            return source != "-" and os.path.realpath(source) == os.path.realpath(path)
        return False
    except ValueError:  # a name with "\0", from the model file of a stranger
        return False


class OutputFile:
    """A file that a command writes; ``option`` is how the user names it.

    Without --force a file that is there is kept, unless ``is_ours`` recognises it.
    """

    def __init__(
        self,
        path: Path,
        option: str,
        *,
        force: bool,
        is_ours: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.path, self._option, self._force, self._is_ours = path, option, force, is_ours
        self._another = "name another file"
        if option.startswith("-"):
            self._another += f" with {option}"

    def check(self, *inputs: Path | str, corpus: Iterable[str] = ()) -> None:
        """Raise an error, before the work, if the file may not or cannot be written."""
        check_not_an_input(self.path, self._option, *inputs, corpus=corpus)
        self._check_free(self.path)
        with self.saved():
            saving.check_writable(self.path, 0)

    def write(self, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write about ``size`` bytes under another name, then rename the complete file."""
        target = Path(os.path.realpath(self.path))
        with self.saved(), saving.locked(target):
            for path in (self.path, target):  # which may have appeared during the work
                self._check_free(path)
            with saving.replaced(target) as file:
                for piece in pieces:
                    file.write(piece)

    def _check_free(self, path: Path) -> None:
        if not self._force and self._is_ours is not None:
            hint = f"Name another file with {self._option}, or replace it with --force."
            saving.check_may_be_replaced(path, self._is_ours, hint)
        elif not self._force and os.path.lexists(path):
            hint = f"{self._another.capitalize()}, or add --force to replace it."
            raise SaveError(f"{path} already exists", hint)

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Write the file in this block. The hint of an error names its option."""
        try:
            yield
        except ModelBusyError as error:
            hint = f"Wait until that run has ended, or {self._another}."
            raise ModelBusyError(error.what, hint) from error
        except SaveError as error:
            reason = getattr(error.__cause__, "strerror", None)
            what = f"{self.path} cannot be written: {reason}" if reason else error.what
            raise SaveError(what, saving.remedy(error.__cause__, self._another)) from error


def codes_for(
    model: Model,
    sources: Sequence[str],
    examples: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Iterator[Codes]:
    """Return the code points of texts, END_CODE after each example; default: the held-out text."""
    from charrnn import texts

    record = model.corpus
    if not sources:
        return iter([texts.held_out_codes(texts.rebuild_corpus(record, model.vocabulary), record)])
    cut: Any = examples
    return texts.codes_like(record, sources, dict(reading or {}), cut)
