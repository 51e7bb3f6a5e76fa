"""Save a run from time to time while it trains."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from os import PathLike, fspath

from charrnn.errors import SaveError
from charrnn.model_file import checkpoint
from charrnn.model_file.checkpoint import Checkpoint
from charrnn.training.checkup import Checkup
from charrnn.training.loop import Event
from charrnn.training.ranks import ALONE, Ranks

OFTEN = 2.0  # seconds between two saves, at check-ups
SELDOM = 60.0  # the same between check-ups, and after a save that failed
COSTLY = 50  # times the duration of a save until the next: saving takes at most 2% of the time


class Saver:
    """Keeps the model file of a run up to date."""

    def __init__(
        self,
        path: str | PathLike[str],
        run: Checkpoint,
        *,
        home: str = "",
        is_saved: bool = False,
        ranks: Ranks = ALONE,
        alarm: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Call ``alarm`` if a save fails during training. ``home`` is the later path of the file.
        The file is up to date if it ``is_saved``.
        """
        self.path, self.run, self.ranks = fspath(path), run, ranks
        self.before: Callable[[], None] = lambda: None  # called ahead of each save
        self._home, self._alarm = home, alarm
        self.step: int | None = run.longest.step if is_saved else None  # in the file
        self._saved = self._progress() if is_saved else None
        self._at = time.monotonic()
        self._often, self._seldom = 0.0, SELDOM  # the first check-up is saved at once

    def note(self, event: Event) -> None:
        """Save if it is time. A save that fails here is repeated later."""
        passed = time.monotonic() - self._at
        if passed < self._seldom and not (isinstance(event, Checkup) and passed >= self._often):
            return
        if not self.ranks.first_has_all():
            return  # save after the next step
        try:
            self.save()
        except SaveError as error:
            self._alarm(f"{error.what}; training continues")
            self._at = time.monotonic()
            self._often = SELDOM

    def save(self) -> None:
        """Save if the file is not up to date. Raise SaveError if that fails."""
        if self._saved == self._progress() and os.path.exists(self.path):
            return
        began = time.monotonic()
        self.before()
        checkpoint.save(self.path, self.run, self._home)
        self._saved, self.step = self._progress(), self.run.longest.step
        self._at = time.monotonic()
        self._often = max(OFTEN, COSTLY * (self._at - began))
        self._seldom = max(SELDOM, self._often)

    def file_in_words(self) -> str:
        """Return what the model file holds now."""
        if self.step is not None and not os.path.exists(self.path):
            return f"{self.path} was saved at step {self.step:,} but no longer exists."
        if self.step is not None:
            return f"{self.path} holds the run at step {self.step:,}."
        if os.path.exists(self.path):
            return f"{self.path} is unchanged."
        return "Nothing was saved."

    def _progress(self) -> tuple[object, ...]:
        return self.run.config, *((state.step, len(state.history)) for state in self.run.states)
