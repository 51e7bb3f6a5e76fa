"""Start-up time of each command, relative to an empty Python."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measuring import Work, in_turn, median_ratio

CHARRNN = [sys.executable, "-m", "charrnn"]


def report() -> None:
    """Print the time of each command relative to ``python -c pass``."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.npz")
        small = ["--hidden", "32", "--layers", "1", "--epochs", "1", "-q", "-m", model]
        subprocess.run([*CHARRNN, "train", "dinosaurs", *small], check=True, stdout=-3)
        seconds = in_turn(
            {
                "python -c pass": process([sys.executable, "-c", "pass"]),
                "charrnn --version": process([*CHARRNN, "--version"]),
                "charrnn --help": process([*CHARRNN, "--help"]),
                "charrnn sample, first character": first_byte([*CHARRNN, "sample", "-m", model]),
            },
            rounds=11,
        )
    print("| command | time | times an empty Python |\n|---|---|---|")
    empty = seconds["python -c pass"]
    for name, times in seconds.items():
        ratio = median_ratio(empty, times)
        print(f"| {name} | {1000 * statistics.median(times):.0f} ms | {ratio:.1f} |")


def process(command: list[str]) -> Work:
    """Return work that runs a command to its end."""
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def first_byte(command: list[str]) -> Work:
    """Return work that runs a command until its first byte of output."""

    def work() -> None:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None
            os.read(child.stdout.fileno(), 1)
            child.kill()

    return work
