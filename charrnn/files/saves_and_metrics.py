"""Saves of a run while it goes on: now and then, at the end, and again where one has failed.

The file of --metrics has a JSON line for each run, step and check-up. Several runs may share it.
After a kill it is ahead of the model file. A resumed run cuts it back to where the model is.
"""

import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from charrnn.errors import CharrnnError, ClusterError, DivergedError, SaveError, remedy
from charrnn.files.model_contents import Checkpoint
from charrnn.files.model_file import save as save_run
from charrnn.files.safe_writing import LineFile, Note, PathName, is_torn, target_of, written
from charrnn.settings.training import LIMITS
from charrnn.training.loop import Checkup, Event, Step

SAVE_INTERVAL = 2.0  # seconds between two saves, at least
SAVE_COST_FACTOR = 50  # durations of a save until the next: saving takes 2% of the time
RETRY_INTERVAL = 60.0  # seconds after a save that failed
RUN, STEP, CHECKUP = "charrnn.run/3", "charrnn.step/3", "charrnn.checkup/3"


@dataclass
class Saver:
    """Keeps the model file of a run up to date, and its metrics."""

    path: PathName
    checkpoint: Checkpoint
    metrics: Path | None  # the file for a line an event
    tell: Note  # gets a line about the old model
    alarm: Note  # gets a line about a save that fails in training
    is_saved: bool  # the files have this run
    renames_old: bool  # the first save moves an old model out of the way

    def __post_init__(self) -> None:
        self.saved_step = self.checkpoint.state.step if self.is_saved else None
        self._lines = None
        if self.metrics is not None:
            self._lines = Metrics(self.metrics, self.checkpoint, self.path, self.is_saved)
        self._due = time.monotonic() + SAVE_INTERVAL
        self._lines_due = 0.0  # when lines are written, at the earliest

    def close(self) -> CharrnnError | None:
        """Write the lines of metrics that still wait. Return why, if they are lost."""
        lines, self._lines = self._lines, None
        try:
            if lines is not None:
                with closing(lines):
                    lines.write()
        except CharrnnError as error:
            error.add_note("The last lines are missing.")
            return error
        return None

    def record(self, event: Event) -> None:
        """Add the event to the metrics, and save if it is time. What fails is repeated later."""
        now = time.monotonic()
        if self._lines is not None:
            self._lines.add(event)
            if now >= self._lines_due and not self._succeeds(self._lines.write):
                self._lines_due = now + RETRY_INTERVAL
        if now >= self._due and not self._succeeds(self.save):
            self._due = now + RETRY_INTERVAL

    def _succeeds(self, write: Callable[[], None]) -> bool:
        """Write, or warn and return False."""
        try:
            write()
        except CharrnnError as error:
            self.alarm(f"{error.what}; training continues")
            return False
        return True

    def save(self) -> None:
        began = time.monotonic()
        if self._lines is not None:
            self._lines.sync()  # first, so that a resumed run misses no line
        if self.renames_old and (old := keep_old(self.path)):
            self.tell(f"the old model is {old} now")
        self.renames_old = False
        save_run(self.path, self.checkpoint)
        self.saved_step = self.checkpoint.state.step
        seconds = time.monotonic() - began
        self._due = began + seconds + max(SAVE_INTERVAL, SAVE_COST_FACTOR * seconds)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add to an error which step is in the file. Save a run that can go on, or a new one."""
        try:
            yield
        except CharrnnError as error:
            is_new = isinstance(error, DivergedError) and not os.path.exists(self.path)
            if is_new or isinstance(error, ClusterError):  # no step is half done
                with suppress(SaveError):  # if a file cannot hold its numbers
                    self.save()
            step = self.saved_step
            words = "is unchanged" if step is None else f"holds the run at step {step:,}"
            is_there = os.path.exists(self.path)
            error.add_note(f"{self.path} {words}." if is_there else "Nothing was saved.")
            raise


class Metrics(LineFile):
    """The open file of --metrics."""

    def __init__(self, path: Path, checkpoint: Checkpoint, model: PathName, is_saved: bool) -> None:
        """Go on with the lines of a resumed run, or add a line for a new one."""
        state, self._waiting = checkpoint.state, deque[dict[str, Any]]()
        self._run, old_name = names_of(checkpoint, os.path.basename(model))
        names = {self._run, old_name} if is_saved else set()
        has_check_up = bool(state.history) and state.history[-1]["step"] == state.step
        with self._explained(), ExitStack() as at_error:
            super().__init__(path)
            at_error.callback(self.close)
            if not self._cut_back(names, (state.step, has_check_up)):
                row = {"schema": RUN, "run": self._run, "step": state.step}
                row["seed"] = checkpoint.config.seed
                self.append(row | {"fingerprint": checkpoint.corpus.fingerprint})
            at_error.pop_all()

    def add(self, event: Event) -> None:
        """Add a line for a step or a check-up, which waits until it is written."""
        if isinstance(event, Step):
            row = {"schema": STEP, "run": self._run, **asdict(event)}
            row["train_with_noise"] = row.pop("nats_per_character")
            self._waiting.append(row)
        elif isinstance(event, Checkup):
            row = {"schema": CHECKUP, "run": self._run, "step": event.step}
            row["train"] = event.train_nats_per_character
            row["train_with_noise"] = event.train_with_noise_nats_per_character
            row["held_out"] = None if event.score is None else event.score.nats_per_character
            row["is_best"] = event.is_best
            self._waiting.append(row)

    def write(self) -> None:
        """Write the lines that wait, or raise CharrnnError; then those that are left wait on."""
        with self._explained():
            while self._waiting:
                self.append(self._waiting[0])
                self._waiting.popleft()

    def _cut_back(self, names: Set[str], saved: tuple[int, bool]) -> bool:
        """Cut off lines of this run that come again. Return True if its first line stays.

        run a, step 1, step 2     an earlier run of the same name: its lines stay
        run a, step 1             stay, if the model of run a is at step 1
        run b, step 2             another run: its lines stay
        step 2, check-up 2 of a   come again
        """
        lines, remaining = self.lines(), list[bytes]()
        has_begun, run = False, None
        for number, line in enumerate(lines):
            if is_torn(line):
                break
            kind, step, name = self._read(line)
            run = name or run  # in version 0.3 only the first line of a run named it
            is_ahead = (step, kind == CHECKUP) > saved  # a check-up follows its step
            if kind == RUN and run in names and not is_ahead:
                remaining, has_begun = lines[:number], run == self._run
            if run not in names or not is_ahead:
                remaining.append(line)
        self.keep(remaining, lines)
        return has_begun

    def _read(self, line: bytes) -> tuple[str, int, str | None]:
        """Return the kind of a line, its step, and the name of the run that it begins, if any."""
        try:
            row = json.loads(line)
            kind = row["schema"].replace("/2", "/3")  # of version 0.3
            return kind, int(row["step"]), row.get("run")
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
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
    """Return a hash that tells a run from others, and that of version 0.3."""
    corpus, settings = checkpoint.corpus, asdict(checkpoint.config)
    fixed = {name: settings[name] for name in settings if name not in (*LIMITS, "cores")}
    if not fixed["book"]:
        del fixed["book"]  # younger than these hashes
    old = {**fixed, "parts": fixed["shards"]}
    del old["shards"], fixed["counts"]
    facts = [corpus.digest, fixed, model], [corpus.fingerprint, old]
    new_name, old_name = (json.dumps(known, sort_keys=True).encode() for known in facts)
    return sha256(new_name).hexdigest()[:16], sha256(old_name).hexdigest()[:16]


def keep_old(path: PathName) -> str | None:
    """Give a model, if there is one, a second name such as model.1.npz, and return that."""
    with target_of(path) as target:
        if not (target.is_file() and target.stat().st_size):
            return None
        for number in count(1):
            old = target.with_name(f"{target.stem}.{number}{target.suffix}")
            if not os.path.lexists(old):  # the first name stays until a save replaces it
                try:
                    os.link(target, old)
                except OSError:  # the filesystem has no links
                    with written(old, old=target) as copy, open(target, "rb") as model:
                        shutil.copyfileobj(model, copy)
                break
            if os.path.exists(old) and old.samefile(target):  # a run was killed before it saved
                break
        folder = os.path.dirname(path)
        is_there = os.path.realpath(folder) == str(old.parent)  # not, if a link leads elsewhere
        return os.path.join(folder, old.name) if is_there else str(old)
