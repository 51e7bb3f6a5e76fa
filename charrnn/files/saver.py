"""Saves of a run while it goes on: now and then, at the end, and again where one has failed.

The file of --metrics has a JSON line for each run, step and check-up. Several runs may share it.
After a kill it is ahead of the model file. A resumed run cuts it back to where the model is.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from charrnn.errors import CharrnnError, DivergedError, SaveError, remedy
from charrnn.files.model_contents import Checkpoint
from charrnn.files.model_file import save as save_run
from charrnn.files.saving import LineFile, is_torn, keep_old, parse_line
from charrnn.settings.training import LIMITS
from charrnn.training.loop import Checkup, Event, Step

SAVE_INTERVAL = 2.0  # seconds between two saves, at least
SAVE_COST_FACTOR = 50  # durations of a save until the next: saving takes 2% of the time
RETRY_INTERVAL = 60.0  # seconds after a save that failed
RUN, STEP, CHECKUP = "charrnn.run/3", "charrnn.step/3", "charrnn.checkup/3"


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


class Metrics:
    """The open file of --metrics."""

    def __init__(self, path: Path, checkpoint: Checkpoint, model: str, *, is_resumed: bool) -> None:
        """Go on with the lines of a resumed run, or add a line for a new one.

        model: The name of the model file.
        """
        self._path, self._waiting = path, deque[dict[str, Any]]()
        state = checkpoint.state
        self._run, old_name = names_of(checkpoint, model)
        names = {self._run, old_name} if is_resumed else set()
        has_check_up = bool(state.history) and state.history[-1]["step"] == state.step
        with self._explained(), ExitStack() as at_error:
            self._file = LineFile(path)
            at_error.callback(self._file.close)
            if not self._cut_back(names, (state.step, has_check_up)):
                row = {"schema": RUN, "run": self._run, "step": state.step}
                row["seed"] = checkpoint.config.seed
                self._file.append(row | {"fingerprint": checkpoint.corpus.fingerprint})
            at_error.pop_all()
        self.sync, self.close = self._file.sync, self._file.close

    def add(self, event: Event) -> None:
        """Add a line for a step or a check-up, which waits until it is written."""
        if isinstance(event, Step):
            row = {"schema": STEP, "run": self._run, **asdict(event)}
            row["train_with_noise"] = row.pop("nats_per_character")
        elif isinstance(event, Checkup):
            row = {"schema": CHECKUP, "run": self._run, "step": event.step}
            row["train"] = event.train_nats_per_character
            row["train_with_noise"] = event.train_with_noise_nats_per_character
            row["held_out"] = None if event.score is None else event.score.nats_per_character
            row["is_best"] = event.is_best
        else:
            return
        self._waiting.append(row)

    def write(self) -> None:
        """Write the lines that wait, or raise CharrnnError; then those that are left wait on."""
        with self._explained():
            while self._waiting:
                self._file.append(self._waiting[0])
                self._waiting.popleft()

    def _cut_back(self, names: Set[str], saved: tuple[int, bool]) -> bool:
        """Cut off lines of this run that come again. Return True if its first line stays.

        run a, step 1, step 2     an earlier run of the same name: its lines stay
        run a, step 1             stay, if the model of run a is at step 1
        run b, step 2             another run: its lines stay
        step 2, check-up 2 of a   come again
        """
        lines, again = self._file.lines(), list[bool]()  # whether each comes again
        begin, has_begun, run = 0, False, None
        for line in lines:
            if is_torn(line):
                break
            kind, step, name = self._read(line)
            run = name or run  # in version 0.3 only the first line of a run named it
            is_ahead = (step, kind == CHECKUP) > saved  # a check-up follows its step
            if kind == RUN and run in names and not is_ahead:
                begin, has_begun = len(again), run == self._run
            again.append(run in names and is_ahead)
        kept = [lines[i] for i, comes_again in enumerate(again) if i < begin or not comes_again]
        self._file.keep(kept, lines)
        return has_begun

    def _read(self, line: bytes) -> tuple[str, int, str | None]:
        """Return the kind of a line, its step, and the name of the run that it begins, if any."""
        try:
            row = parse_line(line)
            kind = row["schema"].replace("/2", "/3")  # of version 0.3
            return kind, int(row["step"]), row.get("run")
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            what = f"{self._path} holds lines that are not metrics of charrnn"
            raise CharrnnError(what, "Name another file with [metrics].") from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{self._path} cannot be written: {error.strerror or error}"
            raise CharrnnError(what, remedy(error, "name another file with [metrics]")) from error


def names_of(checkpoint: Checkpoint, model: str) -> tuple[str, str]:
    """Return what tells a run from others, and what version 0.3 would have called it.

    It is a hash of the corpus, of the settings that a resumed run cannot change, and of the name of
    the model file, without its folder.
    """
    corpus, settings = checkpoint.corpus, asdict(checkpoint.config)
    fixed = {name: settings[name] for name in settings if name not in (*LIMITS, "cores")}
    if not fixed["book"]:
        del fixed["book"]  # younger than these hashes
    old = {**fixed, "parts": fixed["shards"]}
    del old["shards"], fixed["counts"]
    facts = [corpus.digest, fixed, os.path.basename(model)], [corpus.fingerprint, old]
    new_name, old_name = (json.dumps(known, sort_keys=True).encode() for known in facts)
    return sha256(new_name).hexdigest()[:16], sha256(old_name).hexdigest()[:16]
