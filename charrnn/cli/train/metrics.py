"""A line of JSON for each step and each check-up, in a file that a resumed run goes on with.

    {"schema": "charrnn.run/1", "run": "5f0c..", "step": 0, "seed": 0, "corpus": "9a3e.."}
    {"schema": "charrnn.step/1", "step": 1, "nats_per_character": 3.99, ...}
    {"schema": "charrnn.checkup/1", "step": 40, "held_out_nats_per_character": 2.87, ...}

Each line is handed to the system before the model is saved, so a run that is killed has written
every line up to the step it resumes from, and perhaps more: those are cut off, for they will come
again. A file may hold several runs, one after the other; what is cut belongs to the last, and only
if that is the run that goes on, which its first line tells. Else it gets a first line of its own.

Where lines go: a file, a pipe whose reader may leave, or a stream that others write to as well.

A pipe is opened to be written to alone, or nobody would hear that its last reader has left; and so
that it never blocks, or a reader who sleeps would keep us from hearing a signal. What is one of our
own streams is written to through that: opened anew, it would have a place of its own to write at,
and one would write over the other."""

from __future__ import annotations

import errno
import json
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from charrnn.errors import CharrnnError
from charrnn.settings.training import Fitted
from charrnn.training.loop import Checkup, Event, Step
from charrnn.training.state import TrainState

if TYPE_CHECKING:
    from charrnn.cli.console import Console
    from charrnn.cli.signals import Stop
    from charrnn.model_file.checkpoint import Checkpoint


FILE = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
STREAMS = (1, 2)  # stdout, stderr
PATIENCE = 5.0  # seconds that a pipe may have no reader before we believe that none will come
GRACE = 1.0  # seconds that a reader is given once everything is to end
TICK = 0.05  # seconds after which we look again


class NoReaderError(Exception):
    """Nobody reads the pipe."""


class LineSink:
    """It takes lines, and keeps them if it is a file."""

    def __init__(self, path: Path) -> None:
        """OSError where that cannot be opened."""
        self._file = _opened(path)
        is_stream = any(_is_same(path, stream) for stream in STREAMS)
        self.is_file = stat.S_ISREG(os.fstat(self._file).st_mode) and not is_stream

    def lines(self) -> Iterator[bytes]:
        """What the file holds."""
        with open(self._file, "rb", closefd=False) as file:
            yield from file

    def truncate(self, size: int) -> None:
        """Cut the file off there."""
        os.truncate(self._file, size)

    def write(self, line: bytes, is_over: Callable[[], bool]) -> None:
        """Write the line; NoReaderError where nobody takes it, or not in time once all is over."""
        waited = 0.0
        while line:
            try:
                line = line[os.write(self._file, line) :]
            except BrokenPipeError:
                raise NoReaderError from None
            except BlockingIOError:
                waited += TICK if is_over() else 0
                if waited > GRACE:
                    raise NoReaderError from None
                select.select([], [self._file], [], TICK)

    def sync(self) -> None:
        """Make sure that what was written outlasts a power cut, where that can be had."""
        with suppress(OSError):
            os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _opened(path: Path) -> int:
    with suppress(FileNotFoundError):
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return _pipe(path)
    for stream in STREAMS:
        if _is_same(path, stream):
            return os.dup(stream)
    return os.open(path, FILE, 0o666)


def _pipe(path: Path) -> int:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
        time.sleep(TICK)


def _is_same(path: Path, stream: int) -> bool:
    with suppress(OSError):  # one of them is not there
        return os.path.samestat(os.stat(path), os.fstat(stream))
    return False


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
