"""Speed of whole training runs as a share of the bare step's speed."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measuring import in_turn
from tests.benchmarks.step import Shape, step

SHAPES: tuple[Shape, ...] = ((65, 128, 64, 64), (65, 256, 64, 64), (28, 64, 32, 16))
LETTERS = [chr(33 + number) for number in range(63)]
ROUNDS = 3


def report() -> None:
    """Print the rate of ``charrnn train`` without check-ups, and its share of the bare step's."""
    print("| symbols, hidden, lanes, steps | whole training, characters/s | of the bare step |")
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            corpus = write_corpus(Path(folder) / "corpus.txt", shape[0] - 2, 1 << 20)
            shares, rates = [], []
            for _ in range(ROUNDS):
                before = bare_rate(shape)
                rates.append(trained_rate(shape, corpus, folder))
                shares.append(rates[-1] / statistics.mean([before, bare_rate(shape)]))
            share, rate = statistics.median(shares), statistics.median(rates)
            print(f"| {shape} | {rate:,.0f} | {share:.2f} |", flush=True)


def bare_rate(shape: Shape) -> float:
    """Return characters a second of a bare training step."""
    work = step(shape, len(os.sched_getaffinity(0)))
    return shape[2] * shape[3] / statistics.median(in_turn({"bare": work})["bare"])


def write_corpus(path: Path, letters: int, characters: int) -> Path:
    """Return random lines of 20 to 60 letters."""
    rng = random.Random(0)
    with path.open("w") as file:
        while file.tell() < characters:
            file.write("".join(rng.choices(LETTERS[:letters], k=rng.randint(20, 60))) + "\n")
    return path


def trained_rate(shape: Shape, corpus: Path, folder: str) -> float:
    """Return characters a second of a run of the program, from its first step to its last."""
    _, hidden, lanes, steps = shape
    options = {
        "--hidden": hidden,
        "--layers": 1,
        "--dropout": 0,
        "--dropconnect": 0,
        "--blank": 0,
        "--batch": lanes,
        "--bptt": steps,
        "--epochs": 8,
        "--holdout": 0,
        "--check-every": 10**6,
        "--model": str(Path(folder) / "model.npz"),
    }
    words = [str(word) for pair in options.items() for word in pair]
    command = [sys.executable, "-m", "charrnn", "train", str(corpus), *words]
    done = subprocess.run(
        [*command, "--force", "--json"], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout)["characters_per_second"])
