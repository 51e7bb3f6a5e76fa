"""What was typed after ``charrnn train``, and which of it does not go together."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli.options import MODEL
from charrnn.cli.overwriting import would_replace
from charrnn.errors import SettingError


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
        self.check_metrics(os.path.join(os.curdir, self.model), *named)  # no shipped corpus

    def check_metrics(self, *taken: str) -> None:
        """Raise SettingError where the metrics would be written into one of these."""
        if self.metrics is not None and any(would_replace(self.metrics, one) for one in taken):
            raise SettingError(
                f"--metrics would write into {self.metrics}", "Name a file of its own."
            )

    def line(self, command: str, *options: str) -> str:
        """A line to type next, that speaks of the same model."""
        usual = Path(os.environ.get("CHARRNN_MODEL") or MODEL)
        which = [] if self.model == usual else ["-m", str(self.model)]
        return shlex.join(["charrnn", command, *options, *which])
