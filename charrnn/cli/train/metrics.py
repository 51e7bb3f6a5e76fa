"""The file of --metrics: a JSON line for each run that begins, each step and each check-up.

Lines are written before the model is saved, so after a kill the file may be ahead of the model. A
resumed run cuts off those lines and writes them again, if they follow the first line of that run.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.errors import CharrnnError
from charrnn.saving import remedy
from charrnn.settings.training import Fitted
from charrnn.system import LineFile, parse_line
from charrnn.training.loop import Checkup, Event, Step

if TYPE_CHECKING:
    from charrnn.cli.console import Console
    from charrnn.cli.signals import Stop
    from charrnn.model_file import Checkpoint

RUN, STEP, CHECKUP = "charrnn.run/1", "charrnn.step/1", "charrnn.checkup/1"
BEGINNING = b'{"schema": "charrnn.'
MAY_CHANGE = ("epochs", "minutes", "patience", "cores")  # settings that do not make it another run
TICK = 0.05  # seconds between two attempts to write to a full pipe


def run_name(run: Checkpoint) -> str:
    """Return a digest of the corpus and of the settings that are not defaults; a new setting then
    renames no run.
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
    def __init__(
        self, path: Path, run: Checkpoint, console: Console, stop: Stop, *, is_resumed: bool
    ) -> None:
        """Open the file, cut off what a resumed run will write again, or begin a new run."""
        self.path, self.console, self.stop = path, console, stop
        self.run = run_name(run)
        state = run.state
        was_examined = bool(state.history) and state.history[-1]["step"] == state.step
        self.resumes_at = (state.step, was_examined)
        self._file: LineFile | None = None
        try:
            self._file = open_lines(path)
            if not self._file.lock():
                hint = "Wait until that run has ended, or name another file with --metrics."
                raise CharrnnError(f"{path} is being written by another run", hint)
            goes_on = self._file.keeps_lines and self._cut_back(self._file, is_resumed)
        except (OSError, CharrnnError) as error:
            self.close()
            raise explain(self.path, error) from error
        if not goes_on:
            first = {"schema": RUN, "run": self.run, "step": state.step, "seed": run.config.seed}
            self._append({**first, "corpus": run.corpus.fingerprint})

    def add(self, event: Event) -> None:
        match event:
            case Step():
                self._append({"schema": STEP, **asdict(event)})
            case Checkup():
                score = event.score
                hidden = event.train_while_hidden_nats_per_character
                row: dict[str, object] = {
                    "schema": CHECKUP,
                    "step": event.step,
                    "train_nats_per_character": event.train_nats_per_character,
                    "train_while_hidden_nats_per_character": hidden,
                    "held_out_nats_per_character": score and score.nats_per_character,
                    "held_out_bits_per_character": score and score.bits_per_character,
                    "best": event.is_best,
                }
                self._append(row)

    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
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
                raise explain(self.path, error) from error

    def _cut_back(self, file: LineFile, is_resumed: bool) -> bool:
        """Cut off lines that come again. Return True if the file ends with this run."""
        keep = size = 0
        is_this_run = False
        for line in file.lines():
            if not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)]):
                break  # torn by a kill
            row = parse_row(self.path, line)
            place = (row["step"], row["schema"] == CHECKUP)
            if row["schema"] == RUN:
                is_same = row.get("run") == self.run and place <= self.resumes_at
                is_this_run = is_resumed and is_same
            size += len(line)
            if not is_this_run or place <= self.resumes_at:
                keep = size
        file.cut(keep)
        return is_this_run


def parse_row(path: Path, line: bytes) -> dict[str, Any]:
    with suppress(ValueError, KeyError):
        row = parse_line(line)
        if row["schema"] in (RUN, STEP, CHECKUP) and type(row["step"]) is int:
            return row
    hint = "Name another file with --metrics."
    raise CharrnnError(f"{path} holds lines that are not metrics of charrnn", hint)


def explain(path: Path, error: OSError | CharrnnError) -> CharrnnError:
    if isinstance(error, CharrnnError):
        return error
    if error.errno == errno.ENXIO:
        hint = "Start the reader first, or name another file with --metrics."
        return CharrnnError(f"{path} is a pipe without a reader", hint)
    hint = remedy(error, "name another file with --metrics")
    return CharrnnError(f"{path} cannot be written: {error.strerror or error}", hint)


def check_place(path: Path) -> None:
    """Raise CharrnnError if no file can be written there, or if its first line is foreign."""
    with suppress(OSError):
        place = path if path.exists() else Path(os.path.realpath(path)).parent
        number = 0 if os.access(place, os.W_OK) else errno.EACCES
        if not place.exists():
            number = errno.ENOENT
        elif place.is_dir() == path.exists():
            number = errno.EISDIR if path.exists() else errno.ENOTDIR
        if number:
            raise explain(path, OSError(number, os.strerror(number)))
        if path.is_file() and not path.is_symlink():  # not a stream such as /dev/stdout
            with path.open("rb") as file:
                if (line := file.readline(1 << 16)).endswith(b"\n"):
                    parse_row(path, line)


def open_lines(path: Path) -> LineFile:
    """Open a file, a pipe that has a reader, or one of our own streams."""
    with suppress(FileNotFoundError):
        status = os.stat(path)
        if stat.S_ISFIFO(status.st_mode):  # without blocking: a full pipe must not delay a signal
            return LineFile(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        for stream in (1, 2):  # a second file would overwrite the output of the stream
            with suppress(OSError):  # the stream is closed
                if os.path.samestat(status, os.fstat(stream)):
                    return LineFile(os.dup(stream), is_shared=True)
    return LineFile.at(path)
