"""Fed-back outputs and own draws as inputs: speed, loss, and likeness of samples."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.measuring import in_turn, median_ratio
from tests.benchmarks.step import SHAPES, step

CORPORA = ("dinosaurs", "given-names")
READINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("--own-inputs", "0.1"),
    ("--own-inputs", "0.25"),
    ("--own-inputs", "0.5"),
    ("--free-running", "2"),
    ("--free-running", "4"),
    ("--cell", "output"),
    ("--cell", "output", "--teacher-forcing"),
)
DRAWN = "1000"


def report() -> None:
    """Print the speed-up of a step with teacher forcing, and the figures of each way to read."""
    print("| symbols, hidden, lanes, steps | teacher forcing, of the rate of BPTT through o |")
    for shape in SHAPES:
        works = {
            "through o": step(shape, 1, "output"),
            "forced": step(shape, 1, "output", forced=True),
        }
        seconds = in_turn(works)
        ratio = median_ratio(seconds["forced"], seconds["through o"])
        print(f"| {shape} | {ratio:.1f} |", flush=True)
    print("\n| corpus | read | held-out | markov-5: held-out | drawn | seconds |")
    for corpus in CORPORA:
        for reading in READINGS:
            print(row(corpus, reading), flush=True)


def row(corpus: str, reading: tuple[str, ...]) -> str:
    """Return the held-out nats of a run, and the nats of its samples by a Markov model."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")
        began = time.monotonic()
        ran("train", corpus, *reading, "-m", model, "--quiet")
        seconds = time.monotonic() - began
        found = ran("eval", "--held-out", "--drawn", DRAWN, "-m", model, "--quiet")
    markov = {name: mean["nats_per_character"] for name, mean in found["drawn"]["markov-5"].items()}
    return (
        f"| {corpus} | {' '.join(reading) or 'the truth'} | {found['nats_per_character']:.3f}"
        f" | {markov['held_out']:.3f} | {markov['drawn']:.3f} | {seconds:.0f} |"
    )


def ran(*line: str) -> Any:
    """Return the JSON object that a command prints."""
    command = [sys.executable, "-m", "charrnn", *line, "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    report()
