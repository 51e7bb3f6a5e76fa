"""What was typed after ``charrnn eval``, and which of it does not go together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli.overwriting import would_replace
from charrnn.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options, those that were not typed left out of the dictionary."""

    sources: tuple[str, ...]
    examples: str | None
    reading: dict[str, Any]  # fields of Reading
    baselines: bool
    dynamic: float | None
    per_example: bool
    sort: str | None
    per_char: bool
    html: Path | None
    model: Path
    as_json: bool

    @property
    def shows_rows(self) -> bool:
        """Whether stdout is taken by more than the sums."""
        return self.per_example or self.per_char

    def check(self) -> None:
        """Raise SettingError where the options contradict each other, or lead nowhere."""
        views = {
            "--per-example": self.per_example,
            "--per-char": self.per_char,
            "--baselines": self.baselines,
        }
        chosen = [name for name, is_chosen in views.items() if is_chosen]
        if len(chosen) > 1:
            raise SettingError(
                f"{chosen[0]} and {chosen[1]} exclude each other", "Leave one of them out."
            )
        if self.sort is not None and not self.per_example:
            raise SettingError("--sort is for the rows of --per-example", "Add --per-example.")
        given = [*(["examples"] if self.examples else []), *self.reading]
        if given and not self.sources:
            raise SettingError(
                f"--{given[0]} is for a TEXT, and there is none",
                "What was held out is read as it was in training.",
            )
        if self.sources.count("-") > 1:
            raise SettingError("standard input can be read only once", "Name one - at most.")
        self.check_page(os.path.join(os.curdir, self.model), *self.sources)  # no shipped corpus

    def check_page(self, *sources: str) -> None:
        """Raise SettingError where the page would take the place of one of these."""
        if self.html is not None and any(would_replace(self.html, source) for source in sources):
            raise SettingError(f"--html would write over {self.html}", "Name a file of its own.")
