"""Training on the screen: a row with a sample at every tenth of a run, and a bar by tqdm.

A file or a pipe gets the rows and no bar. Losses are in nats per character; the training loss is
measured like the held-out loss, without dropout.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from rich.cells import cell_len, set_cell_size

from charrnn.checkpoint import Checkpoint
from charrnn.cli.console import BOLD, CYAN, DIM, GREEN, Console
from charrnn.errors import CharrnnError
from charrnn.network.parameters import LanguageModel
from charrnn.sampler import SampleConfig, Sampler
from charrnn.saving import remedy
from charrnn.system import LineFile, parse_line
from charrnn.text import Visible, joined, visible_line
from charrnn.training.loop import Checkup, Done, Event, Step
from charrnn.training.state import progress

ROWS = 10  # in a run, and one more for its end
LONGEST = 60  # columns of a sample: a Chinese character takes two
NARROWEST, WIDE = 20, 72  # columns of a bar, and of a bar with the speed
RUN, STEP, CHECKUP = "charrnn.run/2", "charrnn.step/2", "charrnn.checkup/2"
BEGINNING = b'{"schema": "charrnn.'
HINT = "Name another file with --metrics."
MAY_CHANGE = ("epochs", "minutes", "patience", "cores")  # settings that do not make another run


class Progress:
    """The view of a training run, and its speed."""

    def __init__(self, run: Checkpoint, symbols: int, console: Console, samples: int) -> None:
        """``symbols`` are those of an epoch; ``samples`` are shown at each row."""
        self.run, self.symbols, self.console, self.samples = run, symbols, console, samples
        self.seconds, self.characters = 0.0, 0  # of this part of the run
        self._began = time.monotonic()
        self._next_row = self.share  # of the run that is done when the next row is shown
        self._hidden: Checkup | None = None  # the last check-up, if it has no row
        self._has_head = False
        self._bar = None
        if console.is_animated and console.err.window >= NARROWEST:
            rate = "{rate_fmt}, " if console.err.window >= WIDE else ""
            layout = f"{{percentage:3.0f}}%|{{bar}}| {{desc}}{rate}{{remaining}} left"
            seen, how = run.state.characters, {"unit": " characters", "unit_scale": True}
            self._bar = console.bar(initial=seen, bar_format=layout, miniters=0, **how)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def share(self) -> float:
        """Return the share of the run that is done."""
        return progress(self.run.state, self.run.config, self.symbols)

    @property
    def characters_per_second(self) -> float:
        return self.characters / self.seconds if self.seconds else 0.0

    def show(self, event: Event) -> None:
        self.seconds = time.monotonic() - self._began
        match event:
            case Step():
                self.characters += event.characters
                if self._bar is not None:
                    self._bar.ncols = self.console.err.window - 1
                    self._bar.total = self.run.state.characters / self.share
                    self._bar.set_description_str(self._loss(event), refresh=False)
                    self._bar.update(event.characters)
            case Checkup():
                self._hidden = event
                if self.share >= self._next_row:
                    self._show_row(event)
            case Done():
                self.finish()

    def finish(self) -> None:
        """Show the last check-up, if it has no row yet."""
        if self._hidden is not None:
            self._show_row(self._hidden)

    def _loss(self, event: Step) -> str:
        best = self.run.state.best
        if best is None or not self.run.corpus.held_out_characters:
            return f"training {event.nats_per_character:.3f}, "
        return f"held-out {best.nats_per_character:.3f} (best), "

    def _show_row(self, event: Checkup) -> None:
        """Write the losses of a check-up, and samples on the same line and below it."""
        self._hidden = None
        self._next_row = (math.floor(ROWS * self.share) + 1) / ROWS
        if self.console.quiet:
            return
        err, score = self.console.err, event.score
        losses = [Visible(f"{100 * self.share:5.0f} %{event.train_nats_per_character:8.3f}")]
        head = "   done   train"
        if score is not None:
            head += "  held-out  "
            is_best = event.step == (self.run.state.best and self.run.state.best.step)
            cell = Visible(f"{score.nats_per_character:10.3f}{' *' if is_best else '  '}")
            losses.append(err.paint(cell, f"{BOLD};{GREEN}") if is_best else cell)
        indent = len(head) + 3
        if not self._has_head:
            kind = self.run.corpus.examples_are.removesuffix("s")
            head += f"   a new {kind}" if self.samples else ""
            self.console.say(Visible(""), err.paint(visible_line(head), CYAN))
            self._has_head = True
        seed = (self.run.config.seed + event.step) % (1 << 64)
        samples = preview(self.run.latest, self.samples, seed, err.width - indent)
        texts = [err.paint(err.fitting(text), DIM) for text in samples] or [Visible("")]
        self.console.say(Visible(joined([*losses, Visible("   "), texts[0]]).rstrip()))
        self.console.say(*(joined([Visible(" " * indent), text]) for text in texts[1:]))


def preview(model: LanguageModel, count: int, seed: int, columns: int) -> Iterator[Visible]:
    """Yield samples, each on one line; a long sample ends in dots."""
    longest = max(4, min(LONGEST, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(count)):
        text = visible_line(sample.text)
        fits = cell_len(text) <= longest
        yield text if fits else Visible(set_cell_size(text, longest - 3).rstrip() + "...")


class Metrics:
    """The file of --metrics. After a kill it is ahead of the model; a resumed run cuts it back."""

    def __init__(self, path: Path, run: Checkpoint, is_resumed: bool) -> None:
        self.path, state = path, run.state
        self.run = name_of(run)
        try:
            self._file = LineFile.at(path)
            if not self._file.lock():
                raise CharrnnError(f"{path} is being written by another run", HINT)
            has_check_up = bool(state.history) and state.history[-1]["step"] == state.step
            place = (state.step, has_check_up)
            if self._file.keeps_lines and self._cut_back(place, is_resumed):
                return
        except OSError as error:
            raise self._explained(error) from error
        row = {"schema": RUN, "run": self.run, "step": state.step, "seed": run.config.seed}
        self._append({**row, "corpus": run.corpus.fingerprint})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, event: Event) -> None:
        match event:
            case Step():
                row = asdict(event)
                loss = row.pop("nats_per_character")
                self._append({"schema": STEP, **row, "train_while_hidden": loss})
            case Checkup():
                score = event.score
                row = {"schema": CHECKUP, "step": event.step}
                row["train"] = event.train_nats_per_character
                row["train_while_hidden"] = event.train_while_hidden_nats_per_character
                row["held_out"] = None if score is None else score.nats_per_character
                self._append({**row, "best": event.is_best})

    def sync(self) -> None:
        """Make the lines outlast a power cut."""
        self._file.sync()

    def _append(self, row: dict[str, Any]) -> None:
        try:
            self._file.append(row)
        except OSError as error:
            raise self._explained(error) from error

    def _cut_back(self, place: tuple[int, bool], is_resumed: bool) -> bool:
        """Cut off lines that come again. Return True if the file ends with this run."""
        keep = size = 0
        is_this_run = False
        for line in self._file.lines():
            if not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)]):  # torn
                break
            row: dict[str, Any] = {}
            with suppress(ValueError):
                row = parse_line(line)
            if row.get("schema") not in (RUN, STEP, CHECKUP) or type(row.get("step")) is not int:
                raise CharrnnError(f"{self.path} holds lines that are not metrics of charrnn", HINT)
            at = (row["step"], row["schema"] == CHECKUP)
            if row["schema"] == RUN:
                is_this_run = is_resumed and row.get("run") == self.run and at <= place
            size += len(line)
            if not is_this_run or at <= place:
                keep = size
        self._file.cut(keep)
        return is_this_run

    def _explained(self, error: OSError) -> CharrnnError:
        hint = remedy(error, "name another file with --metrics")
        return CharrnnError(f"{self.path} cannot be written: {error.strerror or error}", hint)


def name_of(run: Checkpoint) -> str:
    """Return a digest of the corpus and of the settings."""
    settings = {name: value for name, value in asdict(run.config).items() if name not in MAY_CHANGE}
    text = json.dumps([run.corpus.fingerprint, settings], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]
