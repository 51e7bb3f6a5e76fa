"""A figure that a command draws into a file: what it is, and where it may be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from charrnn.cli.console import Console
from charrnn.cli.output_file import OutputFile
from charrnn.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
