"""Held-out nats per character of the chapter's systems, all else being equal.

All systems train on the same corpora with the same sizes and number of epochs. Figures are
medians of three seeds with different held-out parts; the best Markov model is shown, too.

python -m tests.benchmarks chapter
python -m tests.benchmarks chapter --corpus names.txt
"""

from __future__ import annotations

import statistics
from pathlib import Path

from tests.benchmarks.learning import SEEDS, figures, trained

# name -> the options of train
SYSTEMS: dict[str, list[str]] = {
    "END is a symbol": [],
    "a unit halts": ["--ends", "halt"],
    "the length comes first": ["--ends", "length"],
    "time is an input": ["--clock"],
    "the length first, and time": ["--ends", "length", "--clock"],
    "outputs are fed back": ["--cell", "output"],
    "teacher forcing": ["--cell", "output", "--teacher-forcing"],
    "its own inputs": ["--own-inputs", "0.25"],
    "free-running": ["--free-running", "4"],
}


def report(corpora: list[str]) -> None:
    """Print a table for each corpus, row by row."""
    for corpus in ["dinosaurs", *corpora]:
        print(f"\n| {Path(corpus).stem} | nats per character | beside the first | seconds |")
        print("|---|---|---|---|", flush=True)
        found: list[float] = []
        for name, options in SYSTEMS.items():
            runs = [trained([corpus, *options], seed) for seed in SEEDS]
            losses = [figures(summary)["network"] for summary, _ in runs]
            loss = statistics.median(losses)
            found.append(loss)
            first = found[0]
            seconds = statistics.median(seconds for _, seconds in runs)
            system = f"{name}, `{' '.join(options) or 'train'}`"
            print(f"| {system} | {loss:.3f} | {loss - first:+.3f} | {seconds:.0f} |", flush=True)
        markov = statistics.median(figures(summary)["Markov"] for summary, _ in runs)
        print(f"| the best Markov model | {markov:.3f} | {markov - first:+.3f} | |")
