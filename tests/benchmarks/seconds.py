"""Held-out loss of a list after 1, 10 and 60 seconds, beside a plain network in PyTorch.

Both learn the same examples on all cores, and are measured on the same held-out ones. PyTorch gets
the sizes that charrnn chose for a minute, and its time begins after its imports.
"""

import json
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from charrnn.text.corpus import read_files
from tests.benchmarks.training import trained

TIMES = (1, 10, 60)  # seconds
PEER = Path(__file__).parent / "peers" / "torch_seconds.py"


def report(corpus: str, against: list[str]) -> None:
    """Print a row for each program."""
    print("| held-out nats per character after | 1 s | 10 s | 60 s |\n|---|---|---|---|")
    minutes = [str(seconds / 60) for seconds in TIMES]
    runs = [trained([corpus, "--minutes", each], 0)[0] for each in minutes]
    print_row("charrnn", runs)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "examples.json"
        file.write_text(json.dumps(split_of(corpus)))
        sizes = [str(runs[-1]["settings"][name]) for name in ("hidden", "layers")]
        for python in against:
            commands = [[python, str(PEER), str(file), *sizes, str(seconds)] for seconds in TIMES]
            with suppress(subprocess.CalledProcessError):  # who lacks PyTorch has no row
                outputs = [subprocess.check_output(command) for command in commands]
                print_row("PyTorch", [json.loads(output) for output in outputs])


def print_row(name: str, runs: list[Any]) -> None:
    losses = " | ".join(f"{run['best']['nats_per_character']:.3f}" for run in runs)
    size = runs[-1]["settings"]
    print(f"| {name}, {size['layers']} x {size['hidden']} | {losses} |", flush=True)


def split_of(corpus: str) -> dict[str, list[str]]:
    """Return the texts to learn and those held out, as charrnn divides them."""
    read = read_files([corpus])
    decode = read.vocabulary.decode
    parts = {"learn": read.train, "held_out": read.held_out}
    return {name: [decode(part.nth(n)) for n in range(len(part))] for name, part in parts.items()}
