"""What was typed after ``charrnn train``, and which of it does not go together."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli.options import MODEL
from charrnn.errors import SettingError
from charrnn.shipped import path_of


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options, those that were not typed left out of the dictionaries."""

    sources: tuple[str, ...]
    valid: tuple[str, ...]
    cutting: dict[str, Any]  # fields of CorpusConfig
    reading: dict[str, Any]  # fields of Reading
    learning: dict[str, Any]  # fields of TrainConfig
    model: Path
    resume: bool
    force: bool
    metrics: Path | None
    preview: int
    dry_run: bool
    as_json: bool

    def check(self) -> None:
        """Raise SettingError where the options contradict each other."""
        if not self.sources and not self.resume:
            raise SettingError("CORPUS is missing", "Try 'charrnn train --help'.")
        for one, other in (
            (self.resume and "--resume", self.force and "--force"),
            (self.valid and "--valid", "holdout" in self.cutting and "--holdout"),
        ):
            if one and other:
                raise SettingError(
                    f"{one} and {other} exclude each other", "Leave one of them out."
                )
        named = [*self.sources, *self.valid]
        if named.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")
        if any(would_replace(self.model, source) for source in named):
            raise SettingError(
                f"the model would be written over {self.model}", "Name another file with -m."
            )
        if self.metrics is not None:
            taken = [os.path.realpath(self.model), *named]
            if any(would_replace(self.metrics, source) for source in taken):
                raise SettingError(
                    f"--metrics would write into {self.metrics}", "Name a file of its own."
                )

    def line(self, command: str, *options: str) -> str:
        """A line to type next, that speaks of the same model."""
        usual = Path(os.environ.get("CHARRNN_MODEL") or MODEL)
        which = [] if self.model == usual else ["-m", str(self.model)]
        return shlex.join(["charrnn", command, *options, *which])


def would_replace(path: Path, source: str) -> bool:
    """Whether the source leads to this file, or would as soon as something is written there."""
    file = 0 if source == "-" else path_of(source)  # standard input may well be a file
    try:
        return os.path.samefile(file, path) and os.path.isfile(path)  # a terminal loses nothing
    except OSError:  # one of them is not there
        return source != "-" and os.path.realpath(source) == os.path.realpath(path)
    except ValueError:  # the model of a stranger says that it learned from "\0"
        return False
