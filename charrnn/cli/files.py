"""A file that a command writes beside stdout: whole or not at all, and over nothing by chance.

What this program wrote is known by how it begins; all else is replaced with --force alone.

A figure that a command draws into a file: what it is, and where it may be written.

The texts that a command reads: files, standard input, or what a model had held out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_changes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from charrnn.cli.console import Console
from charrnn.cli.options import would_replace
from charrnn.errors import CharrnnError, SaveError, SettingError
from charrnn.model_file.saving import check_writable, replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from charrnn.model import Model
    from charrnn.vocabulary import Codes


HEAD = 1 << 16  # bytes from the beginning: more than a head has, with the names of many files


def may_be_replaced(path: Path, is_ours: Callable[[bytes], bool], *, force: bool) -> bool:
    """Whether nobody loses anything: no file is there, an empty one, or one of ours by its head."""
    try:
        mode = path.stat().st_mode
    except OSError:  # what writes there will say what is wrong
        return True
    if force or not stat.S_ISREG(mode):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return not head or is_ours(head)


def check_may_be_replaced(
    path: Path, is_ours: Callable[[bytes], bool], *, force: bool, option: str
) -> None:
    """Raise CharrnnError where somebody would lose a file."""
    if not may_be_replaced(path, is_ours, force=force):
        raise CharrnnError(
            f"{path} is there already, and is nothing that charrnn has written",
            f"Name another file with {option}, or replace it with --force.",
        )


class OutputFile:
    """A path, and the option that named it, if it was one."""

    def __init__(self, path: Path, option: str, *, force: bool) -> None:
        self.path, self._option, self._force = path, option, force
        self._another = f"Name another file with {option}" if option else "Name another file"

    def check(self, *sources: str) -> None:
        """Find out before the work, not after it, whether the file can be written, and raise
        SettingError where it would take the place of one of these.
        """
        if any(would_replace(self.path, source) for source in sources):
            raise SettingError(
                f"{self._option or 'it'} would write over {self.path}", "Name a file of its own."
            )
        if os.path.lexists(self.path) and not self._force:
            raise SaveError(
                f"{self.path} is there already",
                f"{self._another}, or add --force to replace it.",
            )
        with self._refused():
            check_writable(self.path, 0)

    def write(self, size: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write so many bytes under another name, and rename it when it is complete."""
        with self._refused():
            replace(self.path, size, pieces)

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except SaveError as error:
            cause = error.__cause__
            reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else error.what
            raise SaveError(
                f"{self.path} cannot be written: {reason}",
                f"{self._another}.",
            ) from error


SUFFIXES: Final = (".svg", ".png", ".pdf")


class FigureFile:
    """A path that --plot has named."""

    def __init__(self, path: Path, *, force: bool) -> None:
        if path.suffix.lower() not in SUFFIXES:
            raise SettingError(
                f"--plot cannot be {path}", f"It ends in {', '.join(SUFFIXES[:-1])} or .pdf."
            )
        self._path = path
        self._file = OutputFile(path, "--plot", force=force)

    def check(self, *sources: str) -> None:
        """Find out before the work whether it can be drawn, and written; not over these."""
        self._file.check(*sources)

        from charrnn.display import figures

        with figures.needed():
            import matplotlib.figure  # noqa: F401  # which takes a while, and may not be there

    def write(self, draw: Callable[[Axes], Any], console: Console) -> None:
        """Draw it, and say where it is."""
        from charrnn.display import figures

        content = figures.drawn(self._path.suffix[1:].lower(), draw)
        self._file.write(len(content), [content])
        console.note(f"{self._path} has the figure")


def names_of(models: Sequence[Path]) -> list[str]:
    """What to call models in a legend: by their files, with folders where that is not enough."""
    stems = [path.stem for path in models]
    return [
        stem if stems.count(stem) == 1 else str(path)
        for stem, path in zip(stems, models, strict=True)
    ]


class Reads(NamedTuple):
    """What is to be read, and how."""

    sources: Sequence[str]  # none: what was held out
    examples: str | None  # None, and what reading does not have: as in training
    reading: Mapping[str, Any]


def codes_for(model: Model, reads: Reads) -> Iterator[Codes]:
    """The code points of these texts, END_CODE after each example."""
    from charrnn.scoring import texts

    record = model.corpus
    if not reads.sources:
        return texts.held_out_codes(texts.rebuild_corpus(record, model.vocabulary), record)
    kind: Any = reads.examples or record.config.examples
    return texts.codes_in(reads.sources, kind, with_changes(model.reading, **reads.reading))


def note_if_several(model: Model, console: Console) -> None:
    """Say which network is looked at, where only one of them is."""
    if len(model.trained.networks) > 1:
        console.note("the first of several networks is looked at")
