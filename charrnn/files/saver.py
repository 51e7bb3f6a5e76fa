"""Saves of a run while it goes on: now and then, at the end, and again where one has failed."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from os import PathLike
from pathlib import Path

from charrnn.errors import CharrnnError, DivergedError, SaveError
from charrnn.files.metrics import Metrics
from charrnn.files.model_contents import Checkpoint
from charrnn.files.model_file import save as save_run
from charrnn.files.saving import keep_old
from charrnn.training.loop import Event

SAVE_INTERVAL = 2.0  # seconds between two saves, at least
SAVE_COST_FACTOR = 50  # durations of a save until the next: saving takes 2% of the time
RETRY_INTERVAL = 60.0  # seconds after a save that failed


class Saver:
    """Keeps the model file of a run up to date, and its metrics."""

    def __init__(
        self,
        path: str | PathLike[str],
        checkpoint: Checkpoint,
        metrics: Path | None,
        tell: Callable[[str], None],
        alarm: Callable[[str], None],
        *,
        is_saved: bool,
        renames_old: bool,
    ) -> None:
        """
        metrics: The file for a line an event.
        tell: Called with a line about the old model.
        alarm: Called with a line about a save that fails in training.
        is_saved: The files have this run.
        renames_old: The first save moves an old model out of the way.
        """
        self.path, self.checkpoint = os.fspath(path), checkpoint
        self.metrics = None
        if metrics is not None:
            self.metrics = Metrics(metrics, checkpoint, self.path, is_resumed=is_saved)
        self.saved_step = checkpoint.state.step if is_saved else None
        self._renames_old, self._tell, self._alarm = renames_old, tell, alarm
        self._due = time.monotonic() + SAVE_INTERVAL
        self._metrics_due = 0.0  # when lines are written, at the earliest

    def close(self) -> CharrnnError | None:
        """Write the lines of metrics that still wait. Return why, if they are lost."""
        metrics, self.metrics = self.metrics, None
        try:
            if metrics is not None:
                with closing(metrics):
                    metrics.write()
        except CharrnnError as error:
            error.add_note("The last lines are missing.")
            return error
        return None

    def record(self, event: Event) -> None:
        """Add the event to the metrics, and save if it is time. What fails is repeated later."""
        now = time.monotonic()
        if self.metrics is not None:
            self.metrics.add(event)
            if now >= self._metrics_due and not self._succeeds(self.metrics.write):
                self._metrics_due = now + RETRY_INTERVAL
        if now >= self._due and not self._succeeds(self.save):
            self._due = now + RETRY_INTERVAL

    def _succeeds(self, write: Callable[[], None]) -> bool:
        """Write, or warn and return False."""
        try:
            write()
        except CharrnnError as error:
            self._alarm(f"{error.what}; training continues")
            return False
        return True

    def save(self) -> None:
        """Save, or raise SaveError."""
        began = time.monotonic()
        if self.metrics is not None:
            self.metrics.sync()  # first, so that a resumed run misses no line
        old = keep_old(self.path) if self._renames_old else None
        if old:
            self._tell(f"the old model is {old} now")
        self._renames_old = False
        save_run(self.path, self.checkpoint)
        self.saved_step = self.checkpoint.state.step
        seconds = time.monotonic() - began
        self._due = began + seconds + max(SAVE_INTERVAL, SAVE_COST_FACTOR * seconds)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add to an error which step is in the file. Save a new run that has diverged."""
        try:
            yield
        except CharrnnError as error:
            if isinstance(error, DivergedError) and not os.path.exists(self.path):
                with suppress(SaveError):  # if a file cannot hold its numbers
                    self.save()
            step = self.saved_step
            words = "is unchanged" if step is None else f"holds the run at step {step:,}"
            is_there = os.path.exists(self.path)
            error.add_note(f"{self.path} {words}." if is_there else "Nothing was saved.")
            raise
