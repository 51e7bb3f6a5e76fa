"""A line of JSON for each step and each check-up, in a file that a resumed run goes on with.

    {"schema": "charrnn.run/1", "run": "5f0c..", "step": 0, "seed": 0, "corpus": "9a3e.."}
    {"schema": "charrnn.step/1", "step": 1, "nats_per_character": 3.99, ...}
    {"schema": "charrnn.checkup/1", "step": 40, "held_out_nats_per_character": 2.87, ...}

Each line is handed to the system before the model is saved, so a run that is killed has written
every line up to the step it resumes from, and perhaps more: those are cut off, for they will come
again. A file may hold several runs, one after the other; what is cut belongs to the last, and only
if that is the run that goes on, which its first line tells. Else it gets a first line of its own.
"""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from dataclasses import asdict, fields
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from charrnn.cli.line_sink import LineSink, NoReaderError
from charrnn.errors import CharrnnError
from charrnn.settings.training import Fitted
from charrnn.training.loop import Checkup, Event, Step
from charrnn.training.state import TrainState

if TYPE_CHECKING:
    from charrnn.cli.console import Console
    from charrnn.cli.signals import Stop
    from charrnn.model_file.checkpoint import Checkpoint

RUN, STEP, CHECKUP = "charrnn.run/1", "charrnn.step/1", "charrnn.checkup/1"
BEGINNING = b'{"schema": "charrnn.'
ENCODER = json.JSONEncoder(allow_nan=False)
MAY_CHANGE = ("epochs", "minutes", "patience")  # and it is still the same run


class Mark(NamedTuple):
    """How far a run has come: its last step, and whether the check-up after it has been."""

    step: int
    examined: bool


def mark_of(state: TrainState) -> Mark:
    """The mark that a run resumes from."""
    examined = bool(state.history) and state.history[-1]["step"] == state.step
    return Mark(state.step, examined)


def name_of(run: Checkpoint) -> str:
    """What tells a run from others: the same text with the same settings is the same run.

    A setting that has its default does not count, so that a new one renames no run.
    """
    settings = asdict(run.config)
    usual = {one.name: one.default for one in fields(Fitted)}
    chosen = {
        name: value
        for name, value in settings.items()
        if name not in MAY_CHANGE and value != usual[name]
    }
    text = json.dumps([run.corpus.fingerprint, chosen], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


class Metrics:
    """The file, open."""

    def __init__(
        self, path: Path, run: Checkpoint, console: Console, stop: Stop, *, is_resumed: bool
    ) -> None:
        """Open it to go on from where the run stands, or below what it has."""
        self.path, self.console, self.stop = path, console, stop
        self.name, self.mark = name_of(run), mark_of(run.longest)
        first = {
            "schema": RUN,
            "run": self.name,
            "step": run.longest.step,
            "seed": run.config.seed,
            "corpus": run.corpus.fingerprint,
        }
        try:
            self._sink: LineSink | None = LineSink(path)
        except OSError as error:
            raise self._refusal(error) from error
        try:
            goes_on = self._cut_back(is_resumed)
        except (OSError, CharrnnError) as error:
            self.close()
            raise self._refusal(error) if isinstance(error, OSError) else error from None
        if not goes_on:
            self._write(first)

    def note(self, event: Event) -> None:
        """Write the line for an event, if there is one."""
        if told := _fields(event):
            self._write(told)

    def sync(self) -> None:
        """Make sure that what was written outlasts a power cut, where that can be had."""
        if self._sink is not None:
            self._sink.sync()

    def close(self) -> None:
        """No more lines."""
        if self._sink is not None:
            self._sink.close()
            self._sink = None

    def _write(self, told: dict[str, object]) -> None:
        if self._sink is None:
            return
        try:
            self._sink.write(ENCODER.encode(told).encode() + b"\n", lambda: self.stop.requested)
        except NoReaderError:
            self.close()
            if not self.stop.requested:
                self.console.alarm(f"nobody reads {self.path} any more; training goes on")
        except OSError as error:
            raise self._refusal(error) from error

    def _cut_back(self, is_resumed: bool) -> bool:
        """Cut off what will come again; whether the file ends with this very run by now."""
        if self._sink is None or not self._sink.is_file:
            return False
        end, goes_on = self._end(is_resumed)
        self._sink.truncate(end)
        return goes_on

    def _end(self, is_resumed: bool) -> tuple[int, bool]:
        """Where what is to be kept ends, and whether that is in the run that goes on.

        Kept are whole lines, and of this run those up to its mark.
        """
        assert self._sink is not None
        keep = at = 0
        last, is_ours = Mark(0, True), False
        for line in self._sink.lines():
            if not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)]):
                break  # torn by a kill
            told = self._read(line)
            here = Mark(told["step"], told["schema"] == CHECKUP)
            if told["schema"] == RUN:  # another run begins, or this one
                is_ours = is_resumed and told.get("run") == self.name and here <= self.mark
            elif here < last:  # one that an earlier version wrote
                is_ours = False
            at += len(line)
            last = here
            if told["schema"] == RUN or not is_ours or here <= self.mark:
                keep = at
        return keep, is_ours

    def _read(self, line: bytes) -> dict[str, Any]:
        with suppress(ValueError, TypeError, KeyError):
            told = json.loads(line)
            if told["schema"] in (RUN, STEP, CHECKUP) and type(told["step"]) is int:
                return dict(told)
        raise CharrnnError(
            f"{self.path} holds something else than the metrics of a run",
            "Name another file with --metrics.",
        )

    def _refusal(self, error: OSError) -> CharrnnError:
        if error.errno == errno.ENXIO:
            return CharrnnError(
                f"{self.path} is a pipe, and nobody reads it",
                "Start what reads it first, or name another file with --metrics.",
            )
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
