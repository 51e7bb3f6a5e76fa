"""The file of --metrics: a JSON line for each step and each check-up.

    {"schema": "charrnn.run/1", "run": "5f0c..", "step": 0, "seed": 0, "corpus": "9a3e.."}
    {"schema": "charrnn.step/1", "step": 1, "nats_per_character": 3.99, ...}
    {"schema": "charrnn.checkup/1", "step": 40, "held_out_nats_per_character": 2.87, ...}

Lines are written before the model is saved. After a kill the file may hold lines beyond the saved
step; a resumed run cuts them off and writes them again. A file may hold several runs. Only lines of
the last run are cut, and only if its first line names the run that resumes.

A pipe is opened for writing only, so that the loss of its reader is noticed, and without blocking,
so that a full pipe does not delay a signal. If the path is our own stdout or stderr, lines go
through that stream: a second one would overwrite the output of the first.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from contextlib import suppress
from dataclasses import asdict, fields
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.errors import CharrnnError
from charrnn.json_lines import LineFile, parse
from charrnn.settings.training import Fitted
from charrnn.training.checkup import Checkup
from charrnn.training.loop import Event, Step

if TYPE_CHECKING:
    from charrnn.cli.console import Console
    from charrnn.cli.signals import Stop
    from charrnn.model_file.checkpoint import Checkpoint

RUN, STEP, CHECKUP = "charrnn.run/1", "charrnn.step/1", "charrnn.checkup/1"
BEGINNING = b'{"schema": "charrnn.'
MAY_CHANGE = ("epochs", "minutes", "patience")  # settings that do not make it another run
TICK = 0.05  # seconds between two attempts to write to a full pipe


def run_name(run: Checkpoint) -> str:
    """Return a digest of the corpus and of the settings that differ from their defaults.

    Defaults do not count, so a new setting renames no run.
    """
    defaults = {setting.name: setting.default for setting in fields(Fitted)}
    chosen = {
        name: value
        for name, value in asdict(run.config).items()
        if name not in MAY_CHANGE and value != defaults[name]
    }
    text = json.dumps([run.corpus.fingerprint, chosen], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


class Metrics:
    """The open file of --metrics."""

    def __init__(
        self, path: Path, run: Checkpoint, console: Console, stop: Stop, *, is_resumed: bool
    ) -> None:
        """Open the file, cut off what a resumed run will write again, and begin a new run."""
        self.path, self.console, self.stop = path, console, stop
        self.run = run_name(run)
        state = run.longest
        was_examined = bool(state.history) and state.history[-1]["step"] == state.step
        self.resumes_at = (state.step, was_examined)
        self._file: LineFile | None = None
        try:
            self._file = open_lines(path)
            goes_on = self._file.keeps_lines and self._cut_back(self._file, is_resumed)
        except OSError as error:
            self.close()
            raise self._refusal(error) from error
        except CharrnnError:
            self.close()
            raise
        if not goes_on:
            seed, corpus = run.config.seed, run.corpus.fingerprint
            first = {"run": self.run, "step": state.step, "seed": seed, "corpus": corpus}
            self._append({"schema": RUN, **first})

    def add(self, event: Event) -> None:
        """Write the line of a step or a check-up."""
        if row := row_of(event):
            self._append(row)

    def sync(self) -> None:
        """Make the lines outlast a power cut, if the filesystem can do that."""
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        """Write no more lines."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, row: dict[str, object]) -> None:
        while self._file is not None:
            try:
                self._file.append(row)
                return
            except BlockingIOError:  # the pipe is full: wait, unless the run is to stop
                if self.stop.requested:
                    self.close()
                time.sleep(TICK)
            except BrokenPipeError:
                self.close()
                if not self.stop.requested:
                    self.console.alarm(f"{self.path} has lost its reader; training continues")
            except OSError as error:
                raise self._refusal(error) from error

    def _cut_back(self, file: LineFile, is_resumed: bool) -> bool:
        """Cut off lines that come again. Return True if the file ends with this run."""
        keep = size = 0
        is_this_run = False
        for line in file.lines():
            if not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)]):
                break  # torn by a kill
            row = self._parse(line)
            place = (row["step"], row["schema"] == CHECKUP)
            if row["schema"] == RUN:
                is_same = row.get("run") == self.run and place <= self.resumes_at
                is_this_run = is_resumed and is_same
            size += len(line)
            if not is_this_run or place <= self.resumes_at:
                keep = size
        file.cut(keep)
        return is_this_run

    def _parse(self, line: bytes) -> dict[str, Any]:
        with suppress(ValueError, KeyError):
            row = parse(line)
            if row["schema"] in (RUN, STEP, CHECKUP) and type(row["step"]) is int:
                return row
        raise CharrnnError(
            f"{self.path} holds lines that are not metrics of charrnn",
            "Name another file with --metrics.",
        )

    def _refusal(self, error: OSError) -> CharrnnError:
        if error.errno == errno.ENXIO:
            return CharrnnError(
                f"{self.path} is a pipe without a reader",
                "Start the reader first, or name another file with --metrics.",
            )
        return CharrnnError(
            f"{self.path} cannot be written: {error.strerror or error}",
            "Name another file with --metrics, or make room.",
        )


def open_lines(path: Path) -> LineFile:
    """Open a file, a pipe that has a reader, or one of our own streams."""
    with suppress(FileNotFoundError):
        status = os.stat(path)
        if stat.S_ISFIFO(status.st_mode):
            return LineFile(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        for stream in (1, 2):
            with suppress(OSError):  # the stream is closed
                if os.path.samestat(status, os.fstat(stream)):
                    return LineFile(os.dup(stream), is_shared=True)
    return LineFile.at(path)


def row_of(event: Event) -> dict[str, object] | None:
    """Return the line of an event, or None if it has no line."""
    match event:
        case Step():
            return {
                "schema": STEP,
                "step": event.step,
                "characters": event.characters,
                "nats_per_character": event.nats_per_character,
                "gradient_norm": event.gradient_norm,
                "lr": event.lr,
            }
        case Checkup():
            held_out = event.score and event.score.nats_per_character
            together = event.together_nats_per_character
            more = {} if isnan(together) else {"together_nats_per_character": together}
            return {
                "schema": CHECKUP,
                "step": event.step,
                "train_nats_per_character": event.train_nats_per_character,
                "held_out_nats_per_character": held_out,
                "held_out_bits_per_character": event.score and event.score.bits_per_character,
                "best": event.is_best,
                **more,
            }
    return None
