"""When a run is saved: at check-ups, once in a while between them, and when it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

from charrnn.cli.console import Console
from charrnn.cli.metrics import Metrics
from charrnn.errors import SaveError
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.training.loop import Checkup, Event
from charrnn.training.single_process import ALONE, Ranks

OFTEN = 2.0  # seconds from save to save, at check-ups
SELDOM = 60.0  # the same between them, or after a save that failed
COSTLY = 50  # times as long as a save took pass until the next: it costs a fiftieth at most


class Saver:
    """Keeps the model file up to date."""

    def __init__(
        self,
        path: Path,
        run: Checkpoint,
        console: Console,
        metrics: Metrics | None,
        ranks: Ranks = ALONE,
        *,
        is_there: bool,
    ) -> None:
        """is_there says that the file holds the run as it is now."""
        self.path, self.run, self.console, self.metrics = path, run, console, metrics
        self.ranks = ranks
        self.step: int | None = run.longest.step if is_there else None  # of what is in the file
        self._mark = self._now() if is_there else None
        self._at = time.monotonic()
        self._often, self._seldom = 0.0, SELDOM  # the first check-up is saved at once

    def note(self, event: Event) -> None:
        """Save if it is time. A save that fails then is a warning, and tried again later."""
        passed = time.monotonic() - self._at
        if passed < self._seldom and not (isinstance(event, Checkup) and passed >= self._often):
            return
        if not self.ranks.first_has_all():
            return  # but after the next step
        try:
            self.save()
        except SaveError as error:
            self.console.alarm(f"{error.what}; training goes on")
            self._at = time.monotonic()
            self._often = SELDOM

    def save(self) -> None:
        """Save what is not in the file yet; SaveError where that fails."""
        if self._mark == self._now() and os.path.exists(self.path):
            return
        began = time.monotonic()
        if self.metrics is not None:
            self.metrics.sync()
        checkpoint.save(self.path, self.run)
        self._mark, self.step = self._now(), self.run.longest.step
        self._at = time.monotonic()
        self._often = max(OFTEN, COSTLY * (self._at - began))
        self._seldom = max(SELDOM, self._often)

    def what_is_there(self) -> str:
        """What the model file holds, for somebody whose run has failed."""
        if self.step is not None and not os.path.exists(self.path):
            return f"{self.path} was saved at step {self.step:,}, and is there no more."
        if self.step is not None:
            return f"{self.path} holds the run as it was at step {self.step:,}."
        if os.path.exists(self.path):
            return f"{self.path} is what it was before."
        return "Nothing was saved."

    def _now(self) -> tuple[object, ...]:
        """What tells two states of a run apart, whichever of its networks has moved."""
        return self.run.config, *((one.step, len(one.history)) for one in self.run.states)
