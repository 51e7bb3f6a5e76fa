"""A line of JSON for each step and each check-up, in a file that a resumed run goes on with.

    {"schema": "charrnn.step/1", "step": 1, "nats_per_character": 3.99, ...}
    {"schema": "charrnn.checkup/1", "step": 40, "held_out_nats_per_character": 2.87, ...}

Each line is handed to the system before the model is saved, so a run that is killed has written
every line up to the step it resumes from, and perhaps more: those are cut off, for they will come
again. A file may hold several runs, one after the other; what is cut belongs to the last.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from charrnn.errors import CharrnnError
from charrnn.training.loop import Checkup, Event, Step, TrainState

STEP, CHECKUP = "charrnn.step/1", "charrnn.checkup/1"
BEGINNING = b'{"schema": "charrnn.'
ENCODER = json.JSONEncoder(allow_nan=False)


FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Mark(NamedTuple):
    """How far a run has come: its last step, and whether the check-up after it has been."""

    step: int
    examined: bool


def mark_of(state: TrainState) -> Mark:
    """The mark that a run resumes from."""
    examined = bool(state.history) and state.history[-1]["step"] == state.step
    return Mark(state.step, examined)


class Metrics:
    """The file, open."""

    def __init__(self, path: Path, state: TrainState) -> None:
        """Open it to go on from this state: with what it has up to there, or with nothing yet."""
        self.path = path
        with ExitStack() as stack:
            try:
                self._file = stack.enter_context(FileIO(os.open(path, FLAGS, 0o666), "rb+"))
                if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    self._file.truncate(self._end(mark_of(state)))
            except OSError as error:
                raise self._refusal(error) from error
            stack.pop_all()  # it stays open

    def note(self, event: Event) -> None:
        """Write the line for an event, if there is one."""
        fields = _fields(event)
        if not fields:
            return
        line = ENCODER.encode(fields).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self._refusal(error) from error

    def sync(self) -> None:
        """Make sure that what was written outlasts a power cut, where that can be had."""
        with suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more lines."""
        self._file.close()

    def _end(self, mark: Mark) -> int:
        """Where what is to be kept ends: whole lines, and of the last run those up to the mark."""
        keep = at = 0
        last = Mark(0, True)
        with open(self._file.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                if not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)]):
                    break  # torn by a kill
                here = self._mark_in(line)
                if here < last and mark.step:  # another run begins
                    keep = at
                at += len(line)
                last = here
                if here <= mark or not mark.step:
                    keep = at
        return keep

    def _mark_in(self, line: bytes) -> Mark:
        with suppress(ValueError, TypeError, KeyError):
            fields = json.loads(line)
            if fields["schema"] in (STEP, CHECKUP):
                return Mark(int(fields["step"]), fields["schema"] == CHECKUP)
        raise CharrnnError(
            f"{self.path} holds something else than the metrics of a run",
            "Name another file with --metrics.",
        )

    def _refusal(self, error: OSError) -> CharrnnError:
        return CharrnnError(
            f"{self.path} cannot be written: {error.strerror or error}",
            "Name another file with --metrics, or make room.",
        )


def _fields(event: Event) -> dict[str, object] | None:
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
            return {
                "schema": CHECKUP,
                "step": event.step,
                "train_nats_per_character": event.train_nats_per_character,
                "held_out_nats_per_character": held_out,
                "held_out_bits_per_character": event.score and event.score.bits_per_character,
                "best": event.is_best,
            }
    return None
