"""The file of --metrics: a JSON line for each run, step and check-up.

After a kill it is ahead of the model file. A resumed run cuts it back to where the model is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from charrnn.errors import CharrnnError, remedy
from charrnn.files.json_lines import LineFile, parse_line
from charrnn.files.model_contents import Checkpoint
from charrnn.settings.training import LIMITS
from charrnn.training.loop import Checkup, Event, Step

RUN, STEP, CHECKUP = "charrnn.run/3", "charrnn.step/3", "charrnn.checkup/3"
BEGINNING = b'{"schema": "charrnn.'  # of every line


class Metrics:
    """The open file."""

    def __init__(self, path: Path, checkpoint: Checkpoint, *, is_resumed: bool) -> None:
        """Go on below the lines of a resumed run, or add a line for a new one."""
        self._path, state, config = path, checkpoint.state, asdict(checkpoint.config)
        settings = {name: config[name] for name in config if name not in (*LIMITS, "cores")}
        fingerprint = checkpoint.corpus.fingerprint
        name = run_id(fingerprint, settings)
        settings["parts"] = settings.pop("shards")  # of a run that version 0.3 began
        known = {name, run_id(fingerprint, settings)} if is_resumed else set()
        has_check_up = bool(state.history) and state.history[-1]["step"] == state.step
        with self._explained(), ExitStack() as at_error:
            self._file = LineFile(path)
            at_error.callback(self._file.close)
            if not self._cut_back(known, (state.step, has_check_up)):
                row = {"schema": RUN, "run": name, "step": state.step, "seed": config["seed"]}
                self._file.append({**row, "fingerprint": fingerprint})
            at_error.pop_all()
        self.sync, self.close = self._file.sync, self._file.close

    def add(self, event: Event) -> None:
        """Add a line for a step or a check-up."""
        if isinstance(event, Step):
            row = {"schema": STEP, **asdict(event)}
            row["train_with_noise"] = row.pop("nats_per_character")
        elif isinstance(event, Checkup):
            row = {"schema": CHECKUP, "step": event.step}
            row["train"] = event.train_nats_per_character
            row["train_with_noise"] = event.train_with_noise_nats_per_character
            row["held_out"] = None if event.score is None else event.score.nats_per_character
            row["is_best"] = event.is_best
        else:
            return
        with self._explained():
            self._file.append(row)

    def _cut_back(self, names: Set[str], saved: tuple[int, bool]) -> bool:
        """Cut off lines that come again. Return True if the file ends with a run of these names.

        run b, step 1, step 2     another run: its lines stay
        run a, step 1, step 2     stay, if the model of run a is at step 2
        step 3, check-up 3        come again
        """
        kept_bytes = read_bytes = 0
        is_this_run = False
        for line in self._file.lines():
            if is_torn(line):
                break
            kind, step, run = self._read(line)
            read_bytes += len(line)
            comes_again = (step, kind == CHECKUP) > saved  # a check-up follows its step
            if kind == RUN:
                is_this_run = run in names and not comes_again
            if not (is_this_run and comes_again):
                kept_bytes = read_bytes
        self._file.truncate(kept_bytes)
        return is_this_run

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


def run_id(fingerprint: str, settings: Mapping[str, Any]) -> str:
    """Return what tells a run from others: a hash of its corpus and its settings."""
    text = json.dumps([fingerprint, settings], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def is_torn(line: bytes) -> bool:
    """Return True for the beginning of a line, whose end was lost in a kill."""
    return not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)])
